/* SPDX-License-Identifier: MIT
 * 3.11: a C profile function sees each call and return, and a generator's frame
 * is called when it wakes and returns when it sleeps. It is installed only while
 * a generator holds a region open, and never over somebody else's. */
#include "cpython/watch.h"

#include "cpython/frame.h"

static dw_py_sleep_callback *suspended, *resumed;
static bool idle; /* threads that still have the hook take it off at their next event */

void dw_py_watch_init(dw_py_sleep_callback *on_suspend, dw_py_sleep_callback *on_resume)
{
    suspended = on_suspend;
    resumed = on_resume;
}

static int hook(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
    (void)unused, (void)value;
    if (idle)
        PyEval_SetProfile(NULL, NULL);
    if (idle || (what != PyTrace_CALL && what != PyTrace_RETURN))
        return 0;
    PyObject *generator = dw_py_frame_generator(frame->f_frame);
    if (generator)
        (what == PyTrace_CALL ? resumed : suspended)(generator);
    return 0;
}

bool dw_py_watch(PyCodeObject *code)
{
    (void)code;
    idle = false;
    PyThreadState *thread = PyThreadState_Get();
    if (!thread->c_profilefunc)
        PyEval_SetProfile(hook, NULL);
    return thread->c_profilefunc == hook;
}

void dw_py_watch_idle(void)
{
    idle = true;
    if (PyThreadState_Get()->c_profilefunc == hook)
        PyEval_SetProfile(NULL, NULL);
}
