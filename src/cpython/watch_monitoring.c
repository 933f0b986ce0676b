/* SPDX-License-Identifier: MIT
 * 3.12 and later: PY_YIELD and PY_RESUME are local events, set only on the code that holds regions.
 * PY_THROW can only be global; it is as rare as exceptions thrown into generators. */
#include "cpython/watch.h"

#include "cpython/frame.h"
#include "cpython/monitoring.h"

static dw_py_sleep_callback *suspended, *resumed;
static int tool = -1;
static bool tried;                    /* to get a tool id */
static Py_ssize_t watched_index = -1; /* code extra: non-NULL when the code is watched */

void dw_py_watch_init(dw_py_sleep_callback *on_suspend, dw_py_sleep_callback *on_resume)
{
    suspended = on_suspend;
    resumed = on_resume;
    watched_index = PyUnstable_Eval_RequestCodeExtraIndex(NULL);
}

static PyObject *tell(dw_py_sleep_callback *callback)
{
    dw_py_frame *frame = dw_py_frame_now();
    PyObject *generator = frame ? dw_py_frame_generator(frame) : NULL;
    if (generator)
        callback(generator);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module, (void)arguments, (void)count;
    return tell(suspended);
}

static PyObject *on_resume(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module, (void)arguments, (void)count;
    return tell(resumed);
}

enum { YIELD, RESUME_, THROW, EVENTS };

static struct dw_py_event events[EVENTS] = {
    [YIELD] = DW_PY_EVENT("PY_YIELD", on_yield),
    [RESUME_] = DW_PY_EVENT("PY_RESUME", on_resume),
    [THROW] = DW_PY_EVENT("PY_THROW", on_resume),
};

static bool connect(void)
{
    if (tried)
        return tool >= 0;
    tried = true;
    tool = dw_py_monitoring_take_any();
    if (tool >= 0 && !dw_py_monitoring_register(tool, events, EVENTS) &&
        !dw_py_monitoring_set(tool, events[THROW].number))
        return true;
    PyErr_Clear();
    tool = -1;
    return false;
}

bool dw_py_watch(PyCodeObject *code)
{
    void *watched = NULL;
    PyUnstable_Code_GetExtra((PyObject *)code, watched_index, &watched);
    if (watched)
        return true;
    PyObject *pending = PyErr_GetRaisedException();
    bool done = connect() && !dw_py_monitoring_set_local(
                                 tool, code, events[YIELD].number | events[RESUME_].number);
    PyErr_Clear();
    if (done)
        PyUnstable_Code_SetExtra((PyObject *)code, watched_index, (void *)1);
    PyErr_SetRaisedException(pending);
    return done;
}

void dw_py_watch_idle(void)
{
}
