/* SPDX-License-Identifier: MIT
 * 3.11: the C profile function of every thread. */
#include "cpython/call_events.h"

#include "cpython/profile_slot.h"
#include "cpython/thread_hooks.h"

static bool with_builtins;

static void on_frame(int what, dw_py_frame *frame)
{
    PyCodeObject *code = dw_py_frame_code(frame);
    if (what == PyTrace_CALL && dw_py_frame_starts(frame))
        dw_calls_on_start(code);
    else if (what == PyTrace_CALL)
        dw_calls_on_resume(frame, code);
    else if (dw_py_frame_sleeps(frame))
        dw_calls_on_yield(frame, code);
    else
        dw_calls_on_return(code);
}

static int on_event(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
    (void)unused;
    if (!dw_py_profile_is_shared(DW_PROFILE_CALLS))
        return 0;
    if (what == PyTrace_CALL || what == PyTrace_RETURN) {
        dw_py_watch_hear(frame->f_frame, what);
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

int dw_call_events_enable(bool builtins, bool beside_others)
{
    (void)beside_others; /* a thread has one profile function */
    with_builtins = builtins;
    return dw_py_profile_share(DW_PROFILE_CALLS, on_event);
}

void dw_call_events_disable(void)
{
    dw_py_profile_leave(DW_PROFILE_CALLS);
}
