/* SPDX-License-Identifier: MIT
 * 3.11: the C profile function of every thread. Threads that start later get it
 * from threading's own hook: their first event swaps it for the C function. */
#include "cpython/call_events.h"

#include <opcode.h>

static bool enabled, with_builtins;
static PyObject *swap_function; /* what threading calls in a new thread */
static PyObject *program_hook;  /* what it called before us */

/* The event comes at a RESUME instruction, whose argument is 0 where the code begins, or where a
 * generator stands into which an exception is thrown. */
static bool is_start(dw_py_frame *frame)
{
    int opcode = _Py_OPCODE(*frame->prev_instr);
    return (opcode == RESUME || opcode == RESUME_QUICK) && _Py_OPARG(*frame->prev_instr) == 0;
}

static bool sleeps(dw_py_frame *frame)
{
    PyObject *generator = dw_py_frame_generator(frame);
    return generator && ((PyGenObject *)generator)->gi_frame_state == FRAME_SUSPENDED;
}

static void on_frame(int what, dw_py_frame *frame)
{
    PyCodeObject *code = dw_py_frame_code(frame);
    if (what == PyTrace_CALL && is_start(frame))
        dw_calls_on_start(code);
    else if (what == PyTrace_CALL)
        dw_calls_on_resume(frame, code);
    else if (sleeps(frame))
        dw_calls_on_yield(frame, code);
    else
        dw_calls_on_return(code);
}

static int hook(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
    (void)unused;
    if (!enabled)
        return 0;
    if (what == PyTrace_CALL || what == PyTrace_RETURN) {
        on_frame(what, frame->f_frame);
    } else if (with_builtins && what != PyTrace_LINE && value) {
        PyMethodDef *method = dw_call_method(value);
        if (method && what == PyTrace_C_CALL)
            dw_calls_on_c_call(method, value, NULL);
        else if (method)
            dw_calls_on_c_return(method);
    }
    return 0;
}

static PyObject *swap(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)arguments, (void)count;
    PyEval_SetProfile(enabled ? hook : NULL, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef swap_method = {"swap", (PyCFunction)(void (*)(void))swap, METH_FASTCALL, NULL};

/* threading.setprofile(function), for threads that start from now on. */
static int set_threading_hook(PyObject *function)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *done = threading ? PyObject_CallMethod(threading, "setprofile", "O", function) : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int save_program_hook(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    Py_XSETREF(program_hook, threading ? PyObject_CallMethod(threading, "getprofile", NULL) : NULL);
    Py_XDECREF(threading);
    return program_hook ? 0 : -1;
}

static void set_all_threads(Py_tracefunc function)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread;
         thread = PyThreadState_Next(thread))
        if (function ? !thread->c_profilefunc : thread->c_profilefunc == hook)
            _PyEval_SetProfile(thread, function, NULL);
}

int dw_call_events_enable(bool builtins, bool beside_others)
{
    (void)beside_others; /* a thread has one profile function */
    if (PyThreadState_Get()->c_profilefunc) {
        PyErr_SetString(PyExc_ValueError, "Another profiling tool is already active");
        return -1;
    }
    if (!swap_function)
        swap_function = PyCFunction_New(&swap_method, NULL);
    if (!swap_function || save_program_hook() || set_threading_hook(swap_function))
        return -1;
    enabled = true;
    with_builtins = builtins;
    set_all_threads(hook);
    return 0;
}

void dw_call_events_disable(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    enabled = false;
    set_all_threads(NULL);
    set_threading_hook(program_hook ? program_hook : Py_None);
    Py_CLEAR(program_hook);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
