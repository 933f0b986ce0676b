/* SPDX-License-Identifier: MIT
 * CPython 3.12 and later visit them without making anything. */
#include "cpython/heap/heap_objects.h"

struct visitor {
    dw_py_object_visit *visit;
    void *argument;
};

static int visit_one(PyObject *object, void *visitor)
{
    const struct visitor *to = visitor;
    return to->visit(object, to->argument);
}

int dw_py_heap_objects(dw_py_object_visit *visit, void *argument)
{
    struct visitor visitor = {visit, argument};
    PyUnstable_GC_VisitObjects(visit_one, &visitor);
    return 0;
}
