/* SPDX-License-Identifier: MIT
 * Threads that exist get the C function at once. What threading's hook held for the program is kept
 * and put back when the function is removed. */
#include "cpython/thread_hooks.h"

#include "cpython/profile_slot.h"

#include <opcode.h>

/* The event comes at a RESUME instruction, whose argument is 0 where the code begins, or at the
 * place of a generator into which an exception is thrown. */
bool dw_py_frame_starts(dw_py_frame *frame)
{
    int opcode = _Py_OPCODE(*frame->prev_instr);
    return (opcode == RESUME || opcode == RESUME_QUICK) && _Py_OPARG(*frame->prev_instr) == 0;
}

bool dw_py_frame_sleeps(dw_py_frame *frame)
{
    PyObject *generator = dw_py_frame_generator(frame);
    return generator && ((PyGenObject *)generator)->gi_frame_state == FRAME_SUSPENDED;
}

/* NULL also for a function of ours that makes room. */
static Py_tracefunc function_of(const PyThreadState *thread, const struct dw_py_thread_hook *hook)
{
    Py_tracefunc function = hook->is_trace ? thread->c_tracefunc : thread->c_profilefunc;
    return dw_py_watch_owns(function) ? NULL : function;
}

static int set(PyThreadState *thread, const struct dw_py_thread_hook *hook, Py_tracefunc function)
{
    return hook->is_trace ? _PyEval_SetTrace(thread, function, NULL)
                          : _PyEval_SetProfile(thread, function, NULL);
}

static PyObject *swap(PyObject *capsule, PyObject *const *arguments, Py_ssize_t count)
{
    (void)arguments, (void)count;
    struct dw_py_thread_hook *hook = PyCapsule_GetPointer(capsule, NULL);
    if (set(PyThreadState_Get(), hook, hook->is_installed ? hook->function : NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef swap_method = {"swap", (PyCFunction)(void (*)(void))swap, METH_FASTCALL, NULL};

static PyObject *new_swap(struct dw_py_thread_hook *hook)
{
    PyObject *capsule = PyCapsule_New(hook, NULL, NULL);
    PyObject *function = capsule ? PyCFunction_New(&swap_method, capsule) : NULL;
    Py_XDECREF(capsule);
    return function;
}

/* Fetches what it needs from threading, once. */
static int prepare(struct dw_py_thread_hook *hook)
{
    if (hook->swap)
        return 0;
    PyObject *threading = PyImport_ImportModule("threading");
    if (!threading)
        return -1;
    hook->getter = PyObject_GetAttrString(threading, hook->is_trace ? "gettrace" : "getprofile");
    hook->setter = PyObject_GetAttrString(threading, hook->is_trace ? "settrace" : "setprofile");
    Py_DECREF(threading);
    if (hook->getter && hook->setter)
        hook->swap = new_swap(hook);
    return hook->swap ? 0 : -1;
}

/* For threads that start from now on. */
static int set_in_threading(const struct dw_py_thread_hook *hook, PyObject *function)
{
    PyObject *done = PyObject_CallOneArg(hook->setter, function);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int save_program(struct dw_py_thread_hook *hook)
{
    Py_XSETREF(hook->program, PyObject_CallNoArgs(hook->getter));
    return hook->program ? 0 : -1;
}

/* In threads that have the function `before`. */
static int set_all_threads(const struct dw_py_thread_hook *hook, Py_tracefunc before,
                           Py_tracefunc function)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread;
         thread = PyThreadState_Next(thread))
        if (function_of(thread, hook) == before && set(thread, hook, function))
            return -1;
    return 0;
}

static int change(struct dw_py_thread_hook *hook, Py_tracefunc function)
{
    Py_tracefunc before = hook->function;
    hook->function = function;
    return before == function ? 0 : set_all_threads(hook, before, function);
}

int dw_py_thread_hook_install(struct dw_py_thread_hook *hook, Py_tracefunc function)
{
    if (hook->is_installed)
        return change(hook, function);
    if (function_of(PyThreadState_Get(), hook)) {
        PyErr_SetString(PyExc_ValueError, hook->is_trace
                                              ? "Another tool already traces this thread"
                                              : "Another profiling tool is already active");
        return -1;
    }
    if (prepare(hook) || save_program(hook) || set_in_threading(hook, hook->swap))
        return -1;
    hook->function = function;
    hook->is_installed = true;
    return set_all_threads(hook, NULL, function);
}

void dw_py_thread_hook_remove(struct dw_py_thread_hook *hook)
{
    PyObject *type, *value, *traceback;
    if (!hook->is_installed)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    hook->is_installed = false;
    set_all_threads(hook, hook->function, hook->is_trace ? NULL : dw_py_watch_function());
    set_in_threading(hook, hook->program ? hook->program : Py_None);
    Py_CLEAR(hook->program);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
