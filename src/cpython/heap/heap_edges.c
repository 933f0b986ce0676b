/* SPDX-License-Identifier: MIT
 * tp_traverse tells what could be part of a cycle. It leaves out the keys of dictionaries that are
 * all strings, everything in code objects, and what NumPy's arrays and PyTorch's
 * tensors hold. */
#include "cpython/heap/heap_edges.h"

#include "cpython/heap/heap_buffers.h"

#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>

#include <string.h>

#define NUMPY_OBJECT 17 /* NPY_OBJECT: the number of the type of object arrays */

static PyGetSetDef *member_of(PyTypeObject *type, const char *owner, const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *found = text ? _PyType_Lookup(type, text) : NULL;
    Py_XDECREF(text);
    PyErr_Clear();
    if (!found || !Py_IS_TYPE(found, &PyGetSetDescr_Type) ||
        strcmp(PyDescr_TYPE(found)->tp_name, owner) != 0)
        return NULL;
    return ((PyGetSetDescrObject *)found)->d_getset;
}

/* What holds the memory that objects of the type show. */
static PyGetSetDef *base_of(PyTypeObject *type)
{
    if (dw_py_is_plain_tensor(type))
        return member_of(type, "torch._C.TensorBase", "_base");
    return member_of(type, "numpy.ndarray", "base");
}

void dw_py_edge_kind_of(PyTypeObject *type, struct dw_py_edge_kind *kind)
{
    *kind = (struct dw_py_edge_kind){
        .is_traversed = PyType_IS_GC(type) && type->tp_traverse,
        .is_dict = PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS),
        .is_code = type == &PyCode_Type,
        .is_tensor = dw_py_is_plain_tensor(type),
        .has_values = type->tp_flags & Py_TPFLAGS_MANAGED_DICT,
        .base = base_of(type),
        .dtype = member_of(type, "numpy.ndarray", "dtype"),
    };
}

static int visit_keys(PyObject *dict, visitproc visit, void *argument)
{
    Py_ssize_t at = 0;
    PyObject *key;
    int stop = 0;
    if (((PyDictObject *)dict)->ma_values || !DK_IS_UNICODE(((PyDictObject *)dict)->ma_keys))
        return 0;
    while (!stop && PyDict_Next(dict, &at, &key, NULL))
        stop = visit(key, argument);
    return stop;
}

static int visit_code(const PyCodeObject *code, visitproc visit, void *argument)
{
    PyObject *const parts[] = {
        code->co_consts,
        code->co_names,
        code->co_exceptiontable,
        code->co_filename,
        code->co_name,
        code->co_qualname,
        code->co_linetable,
        code->co_localsplusnames,
        code->co_localspluskinds,
    };
    int stop = 0;
    for (size_t i = 0; !stop && i < sizeof parts / sizeof *parts; i++)
        stop = parts[i] ? visit(parts[i], argument) : 0;
    return stop;
}

static bool holds_objects(PyObject *array, const PyGetSetDef *dtype)
{
    PyObject *type = dtype->get(array, dtype->closure);
    PyObject *number = type ? PyObject_GetAttrString(type, "num") : NULL;
    bool holds = number && PyLong_Check(number) && PyLong_AsLong(number) == NUMPY_OBJECT;
    Py_XDECREF(number);
    Py_XDECREF(type);
    PyErr_Clear();
    return holds;
}

static int visit_elements(PyObject *array, visitproc visit, void *argument)
{
    Py_buffer view;
    int stop = 0;
    if (PyObject_GetBuffer(array, &view, PyBUF_ANY_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear();
        return 0;
    }
    PyObject *const *elements = view.buf;
    for (Py_ssize_t i = 0; !stop && i < view.len / (Py_ssize_t)sizeof *elements; i++)
        stop = elements[i] ? visit(elements[i], argument) : 0;
    PyBuffer_Release(&view);
    return stop;
}

/* Elements belong to the array that owns the data. */
static int visit_array(PyObject *array, const struct dw_py_edge_kind *kind, visitproc visit,
                       void *argument)
{
    PyObject *base = kind->base->get(array, kind->base->closure);
    int stop = 0;
    if (base && base != Py_None)
        stop = visit(base, argument);
    else if (base && kind->dtype && holds_objects(array, kind->dtype))
        stop = visit_elements(array, visit, argument);
    PyErr_Clear();
    Py_XDECREF(base);
    return stop;
}

static int is_dict(PyObject *object, void *dict)
{
    return object == dict;
}

/* An instance with a dictionary that shows the values in the instance tells the collector of the
 * values only, in releases before 3.13.13 and 3.14.4; those of some types written in C tell both.
 */
static int visit_dict_beside(PyObject *instance, visitproc visit, void *argument)
{
    PyObject *dict = DW_PY_DICT_BESIDE_VALUES(instance);
    if (!dict || Py_TYPE(instance)->tp_traverse(instance, is_dict, dict))
        return 0;
    return visit(dict, argument);
}

int dw_py_edges(PyObject *object, const struct dw_py_edge_kind *kind, visitproc visit,
                void *argument)
{
    PyTypeObject *type = Py_TYPE(object);
    int stop = 0;
    if (kind->is_traversed && (!type->tp_is_gc || type->tp_is_gc(object)))
        stop = type->tp_traverse(object, visit, argument);
    if (!stop && kind->is_traversed && kind->has_values)
        stop = visit_dict_beside(object, visit, argument);
    if (!stop && kind->is_dict)
        stop = visit_keys(object, visit, argument);
    if (!stop && kind->is_code)
        stop = visit_code((const PyCodeObject *)object, visit, argument);
    PyObject *storage = !stop && kind->is_tensor ? dw_py_tensor_storage(object) : NULL;
    if (storage)
        stop = visit(storage, argument);
    if (!stop && kind->base)
        stop = visit_array(object, kind, visit, argument);
    return stop;
}

static int visit_variables(dw_py_frame *frame, const PyCodeObject *code,
                           dw_py_variable_visit *visit, void *argument)
{
    int stop = 0;
    for (int i = 0; !stop && i < code->co_nlocalsplus; i++) {
        PyObject *value = DW_PY_FRAME_LOCAL(frame, i);
        if (value)
            stop = visit(value, PyTuple_GET_ITEM(code->co_localsplusnames, i), argument);
    }
    return stop;
}

int dw_py_frame_edges(dw_py_frame *frame, dw_py_variable_visit *visit, void *argument)
{
    PyObject *const parts[] = {(PyObject *)dw_py_frame_code(frame), DW_PY_FRAME_FUNCTION(frame),
                               frame->f_locals, (PyObject *)frame->frame_obj};
    int stop = visit_variables(frame, dw_py_frame_code(frame), visit, argument);
    for (size_t i = 0; !stop && i < sizeof parts / sizeof *parts; i++)
        stop = parts[i] ? visit(parts[i], NULL, argument) : 0;
    return stop;
}

dw_py_frame *dw_py_thread_frame(PyThreadState *thread)
{
    return dw_py_frame_complete(DW_PY_CURRENT_FRAME(thread));
}

int dw_py_frame_line(dw_py_frame *frame)
{
    return PyCode_Addr2Line(dw_py_frame_code(frame), dw_py_frame_offset(frame));
}

bool dw_py_frame_is_of(dw_py_frame *frame, const char *module)
{
    PyObject *name = frame->f_globals && PyDict_Check(frame->f_globals)
                         ? PyDict_GetItemString(frame->f_globals, "__name__")
                         : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    return text && strncmp(text, module, strlen(module)) == 0;
}
