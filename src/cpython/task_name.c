/* SPDX-License-Identifier: MIT
 * The layout is learnt by searching known objects for known pointers, with the GIL. Readers in
 * handlers follow those offsets by copying memory, and check types before they believe a
 * pointer. */
#include "cpython/task_name.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h> /* PyMemberDef on 3.11 */

#define DEFAULT_NAME "Task-"

/* Written once, `run` last, since readers look at that first. The types are never released. */
static struct {
    _Atomic(PyObject *) run; /* the code of Handle._run */
    PyTypeObject *handle, *task, *step;
    Py_ssize_t callback, step_task, name, coroutine; /* offsets of pointers */
} known;

/* The offset of that pointer in the object; 0: not found. */
static Py_ssize_t find_pointer(PyObject *object, const void *pointer)
{
    const Py_ssize_t size = (Py_ssize_t)sizeof(void *);
    for (Py_ssize_t at = sizeof(PyObject); at + size <= Py_TYPE(object)->tp_basicsize; at += size)
        if (!memcmp((char *)object + at, &pointer, sizeof pointer))
            return at;
    return 0;
}

static Py_ssize_t slot_offset(PyObject *type, const char *name)
{
    PyObject *slot = PyObject_GetAttrString(type, name);
    bool is_slot = slot && Py_IS_TYPE(slot, &PyMemberDescr_Type);
    Py_ssize_t offset = is_slot ? ((PyMemberDescrObject *)slot)->d_member->offset : 0;
    Py_XDECREF(slot);
    return offset;
}

/* The code of its method `_run`, a new reference. */
static PyObject *code_of_run(PyObject *type)
{
    PyObject *run = PyObject_GetAttrString(type, "_run");
    PyObject *code = run && PyFunction_Check(run) ? PyFunction_GET_CODE(run) : NULL;
    Py_XINCREF(code);
    Py_XDECREF(run);
    return code;
}

bool dw_py_tasks_are_known(void)
{
    return atomic_load(&known.run);
}

int dw_py_tasks_learn(PyObject *handle_type, PyObject *task, PyObject *name, PyObject *coroutine,
                      PyObject *step)
{
    if (dw_py_tasks_are_known())
        return 0;
    known.callback = slot_offset(handle_type, "_callback");
    known.name = find_pointer(task, name);
    known.coroutine = find_pointer(task, coroutine);
    known.step_task = find_pointer(step, task);
    PyObject *code = code_of_run(handle_type);
    if (!known.callback || !known.name || !known.coroutine || !known.step_task || !code) {
        Py_XDECREF(code);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "tasks of asyncio are not what dwell knows");
        return -1;
    }
    known.handle = (PyTypeObject *)Py_NewRef(handle_type);
    known.task = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(task));
    known.step = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(step));
    atomic_store_explicit(&known.run, code, memory_order_release);
    return 0;
}

PyObject *dw_py_frame_handle(dw_py_frame *frame, const PyCodeObject *code)
{
    PyObject *run = atomic_load_explicit(&known.run, memory_order_acquire);
    return run && run == (const PyObject *)code ? DW_PY_FRAME_LOCAL(frame, 0) : NULL;
}

static bool copy_type(PyObject *object, dw_py_copier *copy, PyTypeObject **type)
{
    PyObject head;
    if (!object || !copy(&head, object, sizeof head))
        return false;
    *type = Py_TYPE(&head);
    return true;
}

static bool is_a(PyObject *object, dw_py_copier *copy, const PyTypeObject *wanted)
{
    PyTypeObject *type;
    if (!copy_type(object, copy, &type))
        return false;
    while (type && type != wanted)
        if (!copy(&type, &type->tp_base, sizeof type))
            return false;
    return type;
}

static PyObject *pointer_at(PyObject *object, Py_ssize_t offset, dw_py_copier *copy)
{
    PyObject *pointer;
    return copy(&pointer, (char *)object + offset, sizeof pointer) ? pointer : NULL;
}

/* What a loop calls for a task: an object of its own at first, then, when what the task waited for
 * is there, a builtin method of the task. */
static PyObject *task_of_callback(PyObject *callback, dw_py_copier *copy)
{
    PyTypeObject *type;
    PyObject *task = NULL;
    if (!copy_type(callback, copy, &type))
        return NULL;
    if (type == known.step)
        task = pointer_at(callback, known.step_task, copy);
    else if (type == &PyCFunction_Type)
        task = pointer_at(callback, offsetof(PyCFunctionObject, m_self), copy);
    return is_a(task, copy, known.task) ? task : NULL;
}

static bool copy_text(PyObject *text, dw_py_copier *copy, struct dw_py_task_name *to)
{
    PyASCIIObject head;
    if (!is_a(text, copy, &PyUnicode_Type) || !copy(&head, text, sizeof head) ||
        !head.state.compact || head.length <= 0)
        return false;
    size_t start = head.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    to->width = head.state.kind;
    to->length = head.length < DW_TASK_CHARS ? (uint32_t)head.length : DW_TASK_CHARS;
    return to->width <= 4 && copy(to->bytes, (char *)text + start, (size_t)to->length * to->width);
}

static bool is_default(const struct dw_py_task_name *name)
{
    uint32_t at = sizeof DEFAULT_NAME - 1;
    if (name->width != 1 || name->length <= at || memcmp(name->bytes, DEFAULT_NAME, at))
        return false;
    while (at < name->length && name->bytes[at] >= '0' && name->bytes[at] <= '9')
        at++;
    return at == name->length;
}

static bool copy_function_name(PyObject *coroutine, dw_py_copier *copy, struct dw_py_task_name *to)
{
    PyTypeObject *type;
    return copy_type(coroutine, copy, &type) && (type == &PyCoro_Type || type == &PyGen_Type) &&
           copy_text(pointer_at(coroutine, offsetof(PyGenObject, gi_qualname), copy), copy, to);
}

/* Some versions keep a name that asyncio made up as a number until somebody asks for it. */
bool dw_py_task_name(PyObject *handle, dw_py_copier *copy, struct dw_py_task_name *name)
{
    if (!is_a(handle, copy, known.handle))
        return false;
    PyObject *task = task_of_callback(pointer_at(handle, known.callback, copy), copy);
    if (!task)
        return false;
    name->is_given = copy_text(pointer_at(task, known.name, copy), copy, name) && !is_default(name);
    if (!name->is_given && !copy_function_name(pointer_at(task, known.coroutine, copy), copy, name))
        name->length = 0;
    return true;
}
