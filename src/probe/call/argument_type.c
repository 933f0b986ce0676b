/* SPDX-License-Identifier: MIT
 * Python code runs here only under a muted probe: NumPy's text of a dtype, and the
 * functions that describe the types of libraries and those registered by the user. */
#include "probe/call/argument_type.h"

#include "base/map.h"
#include "probe/call/calls.h"

#include <string.h>

#define DTYPES 256
#define DTYPE_PROBES 8
#define TEXTS_MAX 65536
#define TEXT_LENGTH_MAX 200

PyTypeObject *dw_array_type;
uint32_t dw_described_count;

static PyObject *texts; /* dict: each text is its own value */
static PyObject *finder;

/* Both references are strong, so that a pointer found here still means the same object. */
static struct {
    PyObject *dtype;
    PyObject *text;
} dtypes[DTYPES];

static struct described {
    PyTypeObject *type;
    PyObject *function; /* NULL: no longer described */
} * described;
static uint32_t described_capacity; /* a power of two */

int dw_argument_types_init(void)
{
    if (finder)
        return 0;
    if (!texts && !(texts = PyDict_New()))
        return -1;
    PyObject *module = PyImport_ImportModule("dwell.describers");
    finder = module ? PyObject_GetAttrString(module, "find") : NULL;
    Py_XDECREF(module);
    return finder ? 0 : -1;
}

PyObject *dw_type_name(PyTypeObject *type)
{
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        return Py_NewRef(((PyHeapTypeObject *)type)->ht_name);
    const char *dot = strrchr(type->tp_name, '.');
    return PyUnicode_FromString(dot ? dot + 1 : type->tp_name);
}

/* The one object for equal texts; takes the text. NULL when that is NULL, or there are too many. */
static PyObject *intern(PyObject *text)
{
    PyObject *one = NULL;
    if (text && PyUnicode_CheckExact(text)) {
        Py_ssize_t line = PyUnicode_FindChar(text, '\n', 0, PyUnicode_GET_LENGTH(text), 1);
        Py_ssize_t end = line >= 0 ? line : PyUnicode_GET_LENGTH(text);
        PyObject *cut = PyUnicode_Substring(text, 0, end < TEXT_LENGTH_MAX ? end : TEXT_LENGTH_MAX);
        if (cut && PyDict_GET_SIZE(texts) < TEXTS_MAX)
            one = PyDict_SetDefault(texts, cut, cut);
        else if (cut)
            one = PyDict_GetItemWithError(texts, cut);
        Py_XDECREF(cut);
    }
    Py_XDECREF(text);
    return one;
}

struct aside {
    PyObject *type, *value, *traceback;
    bool was_muted;
};

/* Between these two Python code may run: no call is recorded, a pending exception is kept. */
static struct aside step_aside(void)
{
    struct aside aside;
    PyErr_Fetch(&aside.type, &aside.value, &aside.traceback);
    aside.was_muted = dw_calls_mute(true);
    return aside;
}

static void step_back(struct aside *aside)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt(); /* it was meant for the program */
    PyErr_Clear();
    dw_calls_mute(aside->was_muted);
    PyErr_Restore(aside->type, aside->value, aside->traceback);
}

/* The module that a class says it is from, or NULL; borrowed from the type. */
static const char *module_of(PyTypeObject *type)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return type->tp_name;
    PyObject *module = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "__module__") : NULL;
    return module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8(module) : NULL;
}

static bool is_of_package(const char *module, const char *package)
{
    size_t length = strlen(package);
    return !strncmp(module, package, length) && (!module[length] || module[length] == '.');
}

/* The scalar type of a dtype: the first member of PyArray_Descr. */
static PyTypeObject *scalar_type(PyObject *dtype)
{
    return *(PyTypeObject **)((PyObject *)dtype + 1);
}

/* NumPy makes the text of its own dtypes; other dtypes give only the name of their type. */
static PyObject *make_dtype_text(PyObject *dtype)
{
    PyTypeObject *scalar = scalar_type(dtype);
    const char *module = module_of(scalar);
    if (module && is_of_package(module, "numpy"))
        return PyObject_Str(dtype);
    return dw_type_name(scalar);
}

static PyObject *new_dtype_text(PyObject *dtype, uint32_t slot)
{
    struct aside aside = step_aside();
    Py_INCREF(dtype);
    PyObject *text = intern(make_dtype_text(dtype));
    PyObject *old = dtypes[slot].dtype;
    if (text) {
        dtypes[slot].dtype = Py_NewRef(dtype);
        dtypes[slot].text = text;
        Py_XDECREF(old);
    }
    Py_DECREF(dtype);
    step_back(&aside);
    return text;
}

PyObject *dw_dtype_text(PyObject *dtype)
{
    uint32_t first = (uint32_t)(dw_hash_mix((uint64_t)(uintptr_t)dtype) % DTYPES);
    for (uint32_t i = 0; i < DTYPE_PROBES; i++) {
        uint32_t slot = (first + i) % DTYPES;
        if (dtypes[slot].dtype == dtype)
            return dtypes[slot].text;
        if (!dtypes[slot].dtype)
            return new_dtype_text(dtype, slot);
    }
    return new_dtype_text(dtype, first);
}

static struct described *described_slot(PyTypeObject *type)
{
    uint32_t mask = described_capacity - 1;
    uint32_t at = (uint32_t)dw_hash_mix((uint64_t)(uintptr_t)type) & mask;
    while (described[at].type && described[at].type != type)
        at = (at + 1) & mask;
    return &described[at];
}

bool dw_type_is_described(PyTypeObject *type)
{
    return dw_described_count && described_slot(type)->function;
}

static int grow_described(void)
{
    struct described *old = described;
    uint32_t old_capacity = described_capacity, capacity = old_capacity ? old_capacity * 2 : 64;
    struct described *grown = calloc(capacity, sizeof *grown);
    if (!grown)
        return -1;
    described = grown;
    described_capacity = capacity;
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old[i].type)
            *described_slot(old[i].type) = old[i];
    free(old);
    return 0;
}

int dw_type_describe(PyTypeObject *type, PyObject *function)
{
    if (dw_described_count * 4 >= described_capacity && grow_described()) {
        PyErr_NoMemory();
        return -1;
    }
    struct described *slot = described_slot(type);
    if (!slot->type) {
        slot->type = (PyTypeObject *)Py_NewRef(type);
        dw_described_count++;
    }
    PyObject *old = slot->function;
    slot->function = Py_XNewRef(function);
    Py_XDECREF(old);
    return 0;
}

PyObject *dw_described_text(PyObject *object)
{
    PyObject *function = Py_XNewRef(described_slot(Py_TYPE(object))->function);
    struct aside aside = step_aside();
    Py_INCREF(object);
    PyObject *text = function ? intern(PyObject_CallOneArg(function, object)) : NULL;
    Py_XDECREF(function);
    Py_DECREF(object);
    step_back(&aside);
    return text;
}

/* The struct must say what Python sees of this array, or we do not understand its layout. */
static bool layout_is_right(PyObject *object)
{
    const struct dw_array *array = (const struct dw_array *)object;
    PyObject *shape = PyObject_GetAttrString(object, "shape");
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    bool right = shape && dtype && dtype == array->dtype && PyTuple_CheckExact(shape) &&
                 PyTuple_GET_SIZE(shape) == array->rank && array->rank <= DW_ARRAY_RANK_MAX;
    for (int i = 0; right && i < array->rank; i++)
        right = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) == array->shape[i];
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return right;
}

static bool is_numpy_array(PyTypeObject *type)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed, as what follows */
    PyObject *numpy = PyDict_GetItemString(modules, "numpy");
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || strcmp(type->tp_name, "numpy.ndarray") || !numpy ||
        !PyModule_Check(numpy))
        return false;
    return PyDict_GetItemString(PyModule_GetDict(numpy), "ndarray") == (PyObject *)type;
}

static bool may_be_of_library(PyTypeObject *type)
{
    static const char *packages[] = {"pandas", "torch", "jax", "jaxlib", "pyarrow", "scipy"};
    const char *module = module_of(type);
    for (size_t i = 0; module && i < sizeof packages / sizeof *packages; i++)
        if (is_of_package(module, packages[i]))
            return true;
    return false;
}

static void find_describer(PyTypeObject *type)
{
    PyObject *name = dw_type_name(type);
    PyObject *function =
        name ? PyObject_CallFunctionObjArgs(finder, (PyObject *)type, name, NULL) : NULL;
    if (function && function != Py_None)
        dw_type_describe(type, function);
    Py_XDECREF(function);
    Py_XDECREF(name);
}

void dw_argument_type_learn(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == dw_array_type || dw_type_is_described(type))
        return;
    struct aside aside = step_aside();
    Py_INCREF(object);
    if (!dw_array_type && is_numpy_array(type)) {
        if (layout_is_right(object))
            dw_array_type = (PyTypeObject *)Py_NewRef(type);
    } else if (finder && may_be_of_library(type)) {
        find_describer(type);
    }
    Py_DECREF(object);
    step_back(&aside);
}
