/* SPDX-License-Identifier: MIT
 * 3.13 and later state where their fields are. Beside that, objects are made whose answers are
 * known: an instance, a dictionary, a function that runs. */
#include "cpython/heap/heap_check.h"

#include "cpython/heap/heap_edges.h"
#include "cpython/heap/heap_references.h"
#include "cpython/heap/heap_size.h"

#include <string.h>

#define UNKNOWN                                                                                    \
    "this release of Python keeps its objects in a way that this dwell does not know: "            \
    "build dwell for it, or take a newer one"

#if DW_PY_STATES_OFFSETS
static bool offsets_are_those_stated(void)
{
#define IS_AT(group, field, where) (DW_PY_STATED(group, field) == (where))
    return IS_AT(interpreter_frame, previous, offsetof(dw_py_frame, previous)) &&
           IS_AT(interpreter_frame, executable, offsetof(dw_py_frame, f_executable)) &&
           IS_AT(interpreter_frame, instr_ptr, offsetof(dw_py_frame, instr_ptr)) &&
           IS_AT(interpreter_frame, localsplus, offsetof(dw_py_frame, localsplus)) &&
           IS_AT(interpreter_frame, owner, offsetof(dw_py_frame, owner)) &&
           IS_AT(thread_state, current_frame, offsetof(PyThreadState, current_frame)) &&
           IS_AT(code_object, qualname, offsetof(PyCodeObject, co_qualname)) &&
           IS_AT(code_object, localsplusnames, offsetof(PyCodeObject, co_localsplusnames)) &&
           IS_AT(code_object, co_code_adaptive, offsetof(PyCodeObject, co_code_adaptive)) &&
           IS_AT(dict_object, ma_keys, offsetof(PyDictObject, ma_keys)) &&
           IS_AT(dict_object, ma_values, offsetof(PyDictObject, ma_values)) &&
           IS_AT(type_object, size, sizeof(PyTypeObject)) &&
           IS_AT(type_object, tp_flags, offsetof(PyTypeObject, tp_flags));
#undef IS_AT
}
#else
static bool offsets_are_those_stated(void)
{
    return true;
}
#endif

struct seen {
    PyObject *wanted;
    int count, found;
    bool is_named; /* the one that is wanted has the name "known" */
};

static int see(PyObject *object, void *argument)
{
    struct seen *seen = argument;
    seen->count++;
    seen->found += object == seen->wanted;
    return 0;
}

static int see_variable(PyObject *object, PyObject *name, void *argument)
{
    struct seen *seen = argument;
    if (name && object == seen->wanted)
        seen->is_named = PyUnicode_CompareWithASCIIString(name, "known") == 0;
    return see(object, argument);
}

static size_t told_size(PyObject *object)
{
    PyObject *tell = PySys_GetObject("getsizeof"); /* borrowed */
    PyObject *told = tell ? PyObject_CallOneArg(tell, object) : NULL;
    size_t size = told ? PyLong_AsSize_t(told) : 0;
    Py_XDECREF(told);
    return size;
}

/* Whether an object has that many references, one of them to `held`, and its size. */
static bool is_read(PyObject *object, PyObject *held, int references)
{
    struct dw_py_edge_kind kind;
    struct dw_py_sizing sizing;
    struct seen seen = {.wanted = held};
    dw_py_edge_kind_of(Py_TYPE(object), &kind);
    dw_py_sizing_of(Py_TYPE(object), &sizing);
    dw_py_edges(object, &kind, see, &seen);
    return seen.count == references && seen.found == 1 &&
           dw_py_size(object, &sizing) == told_size(object);
}

static bool instance_is_read(PyObject *held)
{
    PyObject *type = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "Known");
    PyObject *instance = type ? PyObject_CallNoArgs(type) : NULL;
    bool is = instance && !PyObject_SetAttrString(instance, "known", held);
    struct dw_py_reference how = {0};
    is = is && dw_py_reference_between(instance, held, &how) && how.name &&
         PyUnicode_Check(how.name) && !PyUnicode_CompareWithASCIIString(how.name, "known") &&
         is_read(instance, held, 2); /* its type is the other one */
    Py_XDECREF(instance);
    Py_XDECREF(type);
    return is;
}

static bool dictionary_is_read(PyObject *held)
{
    PyObject *dictionary = Py_BuildValue("{sO}", "known", held);
    bool is = dictionary && is_read(dictionary, held, 2);
    Py_XDECREF(dictionary);
    return is;
}

static PyObject *look_at_caller(PyObject *self, PyObject *held)
{
    (void)self;
    struct seen seen = {.wanted = held};
    dw_py_frame *frame = dw_py_frame_now();
    PyFrameObject *told = PyEval_GetFrame();
    PyCodeObject *code = told ? PyFrame_GetCode(told) : NULL;
    bool is = code && frame && dw_py_frame_code(frame) == code;
    if (is)
        dw_py_frame_edges(frame, see_variable, &seen);
    Py_XDECREF(code);
    return PyBool_FromLong(is && seen.is_named && seen.found == 1);
}

static bool frame_is_read(PyObject *held)
{
    static PyMethodDef method = {"look", look_at_caller, METH_O, NULL};
    PyObject *look = PyCFunction_New(&method, NULL);
    PyObject *names = look ? Py_BuildValue("{sOsO}", "look", look, "held", held) : NULL;
    PyObject *told =
        names ? PyRun_String("(lambda known: look(known))(held)", Py_eval_input, names, names)
              : NULL;
    bool is = told == Py_True;
    Py_XDECREF(told);
    Py_XDECREF(names);
    Py_XDECREF(look);
    return is;
}

static const char *check(void)
{
    PyObject *held = PyList_New(0);
    bool is_known = held && offsets_are_those_stated() && dictionary_is_read(held) &&
                    instance_is_read(held) && frame_is_read(held);
    Py_XDECREF(held);
    PyErr_Clear();
    return is_known ? NULL : UNKNOWN;
}

const char *dw_py_heap_refusal(void)
{
    static bool is_checked;
    static const char *refusal;
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return "the heap can be looked at from the main interpreter only";
    if (!is_checked)
        refusal = DW_PY_IS_FREE_THREADED
                      ? "the heap of a Python without a GIL cannot be looked at yet"
                      : check();
    is_checked = true;
    return refusal;
}
