/* SPDX-License-Identifier: MIT
 * 3.11: the C trace function of every thread, while somebody listens. It gets events of all code;
 * the probe knows which is wanted. Only a profile function gets calls of what is not Python, so
 * that is set too when somebody wants calls. */
#include "cpython/line_events.h"

#include "cpython/profile_slot.h"
#include "cpython/thread_hooks.h"

static bool enabled;

static struct dw_py_thread_hook trace_hook = {.is_trace = true};

static void on_start(dw_py_frame *frame, PyCodeObject *code)
{
    bool with_calls = dw_py_profile_is_shared(DW_PROFILE_CALLEES);
    dw_py_frame *caller = with_calls ? dw_py_frame_previous(frame) : NULL;
    if (caller)
        dw_lines_on_python_call(dw_py_frame_code(caller), code);
    dw_lines_on_start(code);
}

static int on_trace(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
    (void)unused, (void)value;
    PyCodeObject *code = dw_py_frame_code(frame->f_frame);
    if (!enabled)
        return 0;
    if (what == PyTrace_LINE)
        dw_lines_on_line(code, frame->f_lineno);
    else if (what == PyTrace_CALL && dw_py_frame_starts(frame->f_frame))
        on_start(frame->f_frame, code);
    else if (what == PyTrace_CALL)
        dw_lines_on_resume(frame->f_frame, code);
    else if (what == PyTrace_RETURN && dw_py_frame_sleeps(frame->f_frame))
        dw_lines_on_yield(frame->f_frame, code);
    else if (what == PyTrace_RETURN)
        dw_lines_on_return(code);
    return 0;
}

static int on_profile(PyObject *unused, PyFrameObject *frame, int what, PyObject *callable)
{
    (void)unused;
    PyCodeObject *code = dw_py_frame_code(frame->f_frame);
    if (what == PyTrace_CALL || what == PyTrace_RETURN)
        dw_py_watch_hear(frame->f_frame, what);
    if (enabled && what == PyTrace_C_CALL)
        dw_lines_on_call(code, callable);
    else if (enabled && (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION))
        dw_lines_on_c_return(code, callable);
    return 0;
}

int dw_line_events_enable(bool calls)
{
    if (dw_py_thread_hook_install(&trace_hook, on_trace))
        return -1;
    if (calls && dw_py_profile_share(DW_PROFILE_CALLEES, on_profile)) {
        if (!enabled)
            dw_py_thread_hook_remove(&trace_hook);
        return -1;
    }
    enabled = true;
    return 0;
}

void dw_line_events_disable(void)
{
    enabled = false;
    dw_py_thread_hook_remove(&trace_hook);
    dw_py_profile_leave(DW_PROFILE_CALLEES);
}

int dw_line_events_watch(PyCodeObject *code, unsigned watch)
{
    (void)code, (void)watch; /* events of all code come */
    return 0;
}
