/* SPDX-License-Identifier: MIT
 * dwell.LineTracer: what dwell.LineProfiler is made of. */
#include "probe/line/line_tracer.h"

#include "base/error.h"
#include "probe/line/line_log.h"
#include "probe/line/line_probe.h"
#include "probe/render.h"

struct line_tracer {
    PyObject_HEAD struct dw_line_profile profile;
};

static struct dw_line_profile *profile_of(PyObject *self)
{
    return &((struct line_tracer *)self)->profile;
}

static int tracer_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"callees", NULL};
    int callees = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|p", names, &callees))
        return -1;
    profile_of(self)->with_callees = callees;
    return 0;
}

static PyObject *tracer_add(PyObject *self, PyObject *code)
{
    if (!PyCode_Check(code))
        return PyErr_Format(PyExc_TypeError, "_add() needs a code object, not %.100s",
                            Py_TYPE(code)->tp_name);
    int added = dw_line_code_add(profile_of(self), (PyCodeObject *)code);
    return added < 0 ? NULL : PyLong_FromLong(added);
}

static PyObject *tracer_enable(PyObject *self, PyObject *unused)
{
    (void)unused;
    return dw_lines_enable(profile_of(self)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *tracer_disable(PyObject *self, PyObject *unused)
{
    (void)unused;
    dw_lines_disable(profile_of(self));
    Py_RETURN_NONE;
}

static int append(PyObject *list, PyObject *item)
{
    int error = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return error;
}

static unsigned long long ns(uint64_t ticks, double tick_ns)
{
    return (unsigned long long)((double)ticks * tick_ns + 0.5);
}

/* (name, file, line, calls, time): the file of what is not Python is empty. */
static PyObject *callee_row(const struct dw_line_edge *edge, double tick_ns)
{
    const struct dw_line_callee *callee = edge->callee;
    const PyCodeObject *code = (const PyCodeObject *)callee->owner;
    if (callee->name)
        return Py_BuildValue("(OsiKK)", callee->name, "", 0, (unsigned long long)edge->calls,
                             ns(edge->time, tick_ns));
    return Py_BuildValue("(OOiKK)", code->co_qualname, code->co_filename, code->co_firstlineno,
                         (unsigned long long)edge->calls, ns(edge->time, tick_ns));
}

static PyObject *callee_rows(const struct dw_line_count *line, double tick_ns)
{
    PyObject *list = PyList_New(0);
    for (const struct dw_line_edge *edge = line->edges; list && edge; edge = edge->next)
        if (append(list, callee_row(edge, tick_ns)))
            Py_CLEAR(list);
    return list;
}

/* (line, hits, time, self, inclusive, suspended, callees) */
static PyObject *line_row(uint32_t number, const struct dw_line_count *line, double tick_ns)
{
    PyObject *callees = callee_rows(line, tick_ns);
    if (!callees)
        return NULL;
    return Py_BuildValue("(IKKKKKN)", number, (unsigned long long)line->hits,
                         ns(line->time, tick_ns), ns(line->self, tick_ns),
                         ns(line->inclusive, tick_ns), ns(line->suspended, tick_ns), callees);
}

static PyObject *line_rows(const struct dw_line_code *function, double tick_ns)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < function->line_count; i++) {
        const struct dw_line_count *line = &function->lines[i];
        if ((line->has_code || line->has_inner_code) &&
            append(list, line_row(function->first_line + i, line, tick_ns)))
            Py_CLEAR(list);
    }
    return list;
}

/* rows(): (file, first line, name, calls, lines) of every function; times in nanoseconds. */
static PyObject *tracer_rows(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct dw_line_profile *profile = profile_of(self);
    double tick_ns = dw_lines_tick_ns(profile);
    PyObject *list = PyList_New(0);
    dw_lines_settle(profile);
    for (uint32_t i = 0; list && i < profile->function_count; i++) {
        const struct dw_line_code *function = profile->functions[i];
        PyObject *lines = function->lines ? line_rows(function, tick_ns) : NULL;
        if (!function->lines)
            continue;
        if (!lines ||
            append(list, Py_BuildValue("(OiOKN)", function->code->co_filename,
                                       function->code->co_firstlineno, function->code->co_qualname,
                                       (unsigned long long)function->calls, lines)))
            Py_CLEAR(list);
    }
    return list;
}

/* record(file): from now on the profile goes to a log too, while the program runs. */
static PyObject *tracer_record(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    int error = dw_line_log_start(profile_of(self), PyBytes_AS_STRING(path));
    if (error)
        dw_raise_error(error, PyBytes_AS_STRING(path));
    Py_DECREF(path);
    return error ? NULL : Py_NewRef(Py_None);
}

static PyObject *tracer_enable_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(profile_of(self)->enable_count);
}

static void tracer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    dw_line_log_stop(profile_of(self));
    dw_lines_release(profile_of(self));
    PyErr_Restore(error, value, traceback);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_add", tracer_add, METH_O, NULL},
    {"enable_by_count", tracer_enable, METH_NOARGS,
     PyDoc_STR("Collects lines until disable_by_count() was called as often.")},
    {"disable_by_count", tracer_disable, METH_NOARGS,
     PyDoc_STR("Stops collecting lines, unless somebody else enabled it too.")},
    {"_rows", tracer_rows, METH_NOARGS, NULL},
    {"_record", tracer_record, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef getters[] = {
    {"enable_count", tracer_enable_count, NULL, PyDoc_STR("How often it is enabled now."), NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_init, tracer_init},
    {Py_tp_dealloc, tracer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "dwell.LineTracer",
    .basicsize = sizeof(struct line_tracer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int dw_line_tracer_init(PyObject *module)
{
    if (dw_line_codes_init())
        return -1;
    PyObject *type = PyType_FromSpec(&spec);
    int error = type ? PyModule_AddObjectRef(module, "LineTracer", type) : -1;
    Py_XDECREF(type);
    return error;
}
