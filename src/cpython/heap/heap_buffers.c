/* SPDX-License-Identifier: MIT
 * Methods are taken from the library's own type: a subclass that is written in Python is not asked.
 */
#include "cpython/heap/heap_buffers.h"

#include <string.h>

#define MOST_PARENTS 100
#define ARROW "pyarrow.lib."

static const struct {
    const char *type;
    enum dw_py_showing showing;
} known[] = {
    {"pyarrow.lib.Buffer", DW_PY_ARROW_BUFFER},       {"pyarrow.lib.Array", DW_PY_ARROW_ARRAY},
    {"pyarrow.lib.ChunkedArray", DW_PY_ARROW_CHUNKS}, {"pyarrow.lib.Table", DW_PY_ARROW_COLUMNS},
    {"pyarrow.lib.RecordBatch", DW_PY_ARROW_COLUMNS}, {"torch._C.TensorBase", DW_PY_TORCH_TENSOR},
    {"torch._C.StorageBase", DW_PY_TORCH_STORAGE},
};

static enum dw_py_showing named(const char *type)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(type, known[i].type))
            return known[i].showing;
    return DW_PY_SHOWS_NOTHING;
}

enum dw_py_showing dw_py_showing_of(PyTypeObject *type)
{
    enum dw_py_showing showing = DW_PY_SHOWS_NOTHING;
    for (; type && !showing; type = type->tp_base)
        showing = named(type->tp_name);
    return showing;
}

/* What an attribute of the library's type is for an object, or what a method of it gives. */
static PyObject *ask(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    while (type && !named(type->tp_name))
        type = type->tp_base;
    PyObject *text = type ? PyUnicode_FromString(name) : NULL;
    PyObject *found = text ? _PyType_Lookup(type, text) : NULL;
    Py_XDECREF(text);
    if (!found)
        return NULL;
    if (Py_IS_TYPE(found, &PyGetSetDescr_Type))
        return Py_TYPE(found)->tp_descr_get(found, object, (PyObject *)Py_TYPE(object));
    return PyFunction_Check(found) ? NULL : PyObject_CallOneArg(found, object);
}

static size_t ask_number(PyObject *object, const char *name)
{
    PyObject *answer = ask(object, name);
    size_t number = answer && PyLong_Check(answer) ? PyLong_AsSize_t(answer) : 0;
    Py_XDECREF(answer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return number;
}

static int visit_piece(PyObject *owner, const char *start, const char *bytes,
                       dw_py_buffer_visit *visit, void *argument)
{
    uintptr_t at = ask_number(owner, start);
    size_t size = at ? ask_number(owner, bytes) : 0;
    return size ? visit(at, size, argument) : 0;
}

/* A part of a buffer keeps all of it. */
static int visit_buffer(PyObject *buffer, dw_py_buffer_visit *visit, void *argument)
{
    PyObject *whole = Py_NewRef(buffer), *parent;
    for (int i = 0; i < MOST_PARENTS && (parent = ask(whole, "parent")); i++) {
        if (dw_py_showing_of(Py_TYPE(parent)) != DW_PY_ARROW_BUFFER) {
            Py_DECREF(parent);
            break;
        }
        Py_SETREF(whole, parent);
    }
    int stop = visit_piece(whole, "address", "size", visit, argument);
    Py_DECREF(whole);
    return stop;
}

/* Parts are new objects, of the library's own types. */
static int visit_parts(PyObject *whole, const char *name, dw_py_buffer_visit *visit, void *argument)
{
    PyObject *parts = ask(whole, name);
    int stop = 0;
    for (Py_ssize_t i = 0; !stop && parts && PyList_Check(parts) && i < PyList_GET_SIZE(parts); i++)
        stop = dw_py_buffers(PyList_GET_ITEM(parts, i),
                             dw_py_showing_of(Py_TYPE(PyList_GET_ITEM(parts, i))), visit, argument);
    Py_XDECREF(parts);
    return stop;
}

static bool is_from(PyTypeObject *type, const char *module, const char *name)
{
    bool is_made = type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_dict;
    PyObject *home = is_made ? PyDict_GetItemString(type->tp_dict, "__module__") : NULL;
    return home && PyUnicode_Check(home) && !PyUnicode_CompareWithASCIIString(home, module) &&
           !strcmp(type->tp_name, name);
}

bool dw_py_is_plain_tensor(PyTypeObject *type)
{
    return dw_py_showing_of(type) == DW_PY_TORCH_TENSOR &&
           (is_from(type, "torch", "Tensor") || is_from(type, "torch.nn.parameter", "Parameter"));
}

/* PyTorch keeps the object of a storage, once it is made, as long as the storage; before 2.1 it
 * made another each time. */
PyObject *dw_py_tensor_storage(PyObject *tensor)
{
    PyObject *storage = ask(tensor, "untyped_storage");
    PyObject *again = storage ? ask(tensor, "untyped_storage") : NULL;
    PyErr_Clear();
    Py_XDECREF(again);
    Py_XDECREF(storage);
    return storage == again ? storage : NULL;
}

/* Whether its memory is that of the process. */
static bool is_here(PyObject *storage)
{
    PyObject *device = ask(storage, "device");
    PyObject *type = device ? PyObject_GetAttrString(device, "type") : NULL;
    bool is_cpu = type && PyUnicode_Check(type) && !PyUnicode_CompareWithASCIIString(type, "cpu");
    Py_XDECREF(type);
    Py_XDECREF(device);
    return is_cpu;
}

/* Whether it is as its type makes it, before there is anything in it: Arrow's code would crash. */
static bool is_blank(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    while (type && strncmp(type->tp_name, ARROW, strlen(ARROW)) != 0)
        type = type->tp_base;
    PyObject *none = type && type->tp_new ? PyTuple_New(0) : NULL;
    PyObject *blank = none ? type->tp_new(type, none, NULL) : NULL;
    bool is_same =
        !blank || !memcmp(object + 1, blank + 1, (size_t)type->tp_basicsize - sizeof(PyObject));
    Py_XDECREF(blank);
    Py_XDECREF(none);
    return is_same;
}

static int visit_shown(PyObject *object, enum dw_py_showing showing, dw_py_buffer_visit *visit,
                       void *argument)
{
    switch (showing) {
    case DW_PY_ARROW_BUFFER: return visit_buffer(object, visit, argument);
    case DW_PY_ARROW_ARRAY: return visit_parts(object, "buffers", visit, argument);
    case DW_PY_ARROW_CHUNKS: return visit_parts(object, "chunks", visit, argument);
    case DW_PY_ARROW_COLUMNS: return visit_parts(object, "columns", visit, argument);
    case DW_PY_TORCH_STORAGE:
        return is_here(object) ? visit_piece(object, "data_ptr", "nbytes", visit, argument) : 0;
    case DW_PY_TORCH_TENSOR: /* its storage does */
    case DW_PY_SHOWS_NOTHING: break;
    }
    return 0;
}

int dw_py_buffers(PyObject *object, enum dw_py_showing showing, dw_py_buffer_visit *visit,
                  void *argument)
{
    bool is_arrow = showing >= DW_PY_ARROW_BUFFER && showing <= DW_PY_ARROW_COLUMNS;
    int stop = is_arrow && is_blank(object) ? 0 : visit_shown(object, showing, visit, argument);
    PyErr_Clear();
    return stop;
}

uintptr_t dw_py_array_data(PyObject *array, const PyGetSetDef *base)
{
    const struct {
        PyObject head;
        char *data;
    } *fields = (const void *)array; /* as NumPy's headers have had it from the first release on */
    PyObject *owner = base->get(array, base->closure);
    PyErr_Clear();
    Py_XDECREF(owner);
    return owner == Py_None ? (uintptr_t)fields->data : 0;
}
