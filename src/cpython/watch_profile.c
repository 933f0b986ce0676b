/* SPDX-License-Identifier: MIT
 * 3.11: a C profile function sees each call and return, and a generator's frame
 * is called when it wakes and returns when it sleeps. It is installed only while
 * a generator holds a region open, and never over another one: the other probes tell
 * what they see there, and of the program's own we hear nothing. */
#include "cpython/watch.h"

#include "cpython/profile_slot.h"

static dw_py_sleep_callback *suspended, *resumed;
/* While it is set, threads that still have the hook take it off at their next event. */
bool dw_py_watch_is_idle = true;

void dw_py_watch_init(dw_py_sleep_callback *on_suspend, dw_py_sleep_callback *on_resume)
{
    suspended = on_suspend;
    resumed = on_resume;
}

void dw_py_watch_tell(dw_py_frame *frame, int what)
{
    PyObject *generator = dw_py_frame_generator(frame);
    if (generator)
        (what == PyTrace_CALL ? resumed : suspended)(generator);
}

static int hook(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
    (void)unused, (void)value;
    if (dw_py_watch_is_idle)
        PyEval_SetProfile(NULL, NULL);
    else if (what == PyTrace_CALL || what == PyTrace_RETURN)
        dw_py_watch_tell(frame->f_frame, what);
    return 0;
}

Py_tracefunc dw_py_watch_function(void)
{
    return dw_py_watch_is_idle ? NULL : hook;
}

bool dw_py_watch_owns(Py_tracefunc function)
{
    return function == hook;
}

bool dw_py_watch(PyCodeObject *code)
{
    (void)code;
    dw_py_watch_is_idle = false;
    PyThreadState *thread = PyThreadState_Get();
    if (!thread->c_profilefunc)
        PyEval_SetProfile(hook, NULL);
    return thread->c_profilefunc == hook || dw_py_profile_has(thread->c_profilefunc);
}

void dw_py_watch_idle(void)
{
    dw_py_watch_is_idle = true;
    if (PyThreadState_Get()->c_profilefunc == hook)
        PyEval_SetProfile(NULL, NULL);
}
