/* SPDX-License-Identifier: MIT
 * 3.12 and later. All events but two are set only on the code that is profiled; sys.monitoring has
 * frames that end by an exception, and exceptions thrown into generators, for all code only.
 * Disabling leaves the events on, as profiled functions tend to be called again: the probe turns
 * off those that come unwanted. */
#include "cpython/line_events.h"

#include "cpython/monitoring.h"

#define PROFILER_ID 2 /* sys.monitoring's */

static int tool = -1;
static bool enabled, globals_on;

#define CALLBACK(name)                                                                             \
    static PyObject *name(PyObject *self, PyObject *const *arguments, Py_ssize_t n)
#define CODE ((PyCodeObject *)arguments[0])

CALLBACK(on_line)
{
    (void)self, (void)n;
    dw_lines_on_line(CODE, (int)PyLong_AsLong(arguments[1]));
    Py_RETURN_NONE;
}

CALLBACK(on_start)
{
    (void)self, (void)n;
    dw_lines_on_start(CODE);
    Py_RETURN_NONE;
}

CALLBACK(on_return)
{
    (void)self, (void)n;
    dw_lines_on_return(CODE);
    Py_RETURN_NONE;
}

CALLBACK(on_yield)
{
    (void)self, (void)n;
    dw_lines_on_yield(dw_py_frame_now(), CODE);
    Py_RETURN_NONE;
}

CALLBACK(on_resume)
{
    (void)self, (void)n;
    dw_lines_on_resume(dw_py_frame_now(), CODE);
    Py_RETURN_NONE;
}

CALLBACK(on_call)
{
    (void)self, (void)n;
    dw_lines_on_call(CODE, arguments[2]);
    Py_RETURN_NONE;
}

CALLBACK(on_c_return)
{
    (void)self, (void)n;
    dw_lines_on_c_return(CODE, arguments[2]);
    Py_RETURN_NONE;
}

/* While nobody listens, the first event turns the events of all code off. */
static bool is_wanted(void)
{
    if (!enabled && globals_on) {
        globals_on = false;
        if (dw_py_monitoring_set(tool, 0))
            PyErr_Clear();
    }
    return enabled;
}

CALLBACK(on_unwind)
{
    (void)self, (void)n;
    if (is_wanted())
        dw_lines_on_return(CODE);
    Py_RETURN_NONE;
}

CALLBACK(on_throw)
{
    (void)self, (void)n;
    if (is_wanted())
        dw_lines_on_resume(dw_py_frame_now(), CODE);
    Py_RETURN_NONE;
}

enum { LINE, START, RETURN, YIELD, RESUME_, THROW, UNWIND, CALL_, C_RETURN, C_RAISE, EVENTS };

static struct dw_py_event events[EVENTS] = {
    [LINE] = DW_PY_EVENT("LINE", on_line),
    [START] = DW_PY_EVENT("PY_START", on_start),
    [RETURN] = DW_PY_EVENT("PY_RETURN", on_return),
    [YIELD] = DW_PY_EVENT("PY_YIELD", on_yield),
    [RESUME_] = DW_PY_EVENT("PY_RESUME", on_resume),
    [THROW] = DW_PY_EVENT("PY_THROW", on_throw),
    [UNWIND] = DW_PY_EVENT("PY_UNWIND", on_unwind),
    [CALL_] = DW_PY_EVENT("CALL", on_call),
    [C_RETURN] = DW_PY_EVENT("C_RETURN", on_c_return),
    [C_RAISE] = DW_PY_EVENT("C_RAISE", on_c_return),
};

/* That of profilers comes last. */
static int take_tool(void)
{
    tool = dw_py_monitoring_take_any();
    if (tool < 0 && dw_py_monitoring_take(PROFILER_ID))
        tool = PROFILER_ID;
    if (tool >= 0)
        return dw_py_monitoring_register(tool, events, EVENTS);
    PyErr_SetString(PyExc_RuntimeError, "dwell cannot see lines: all of sys.monitoring's tool ids "
                                        "are taken by other tools");
    return -1;
}

int dw_line_events_enable(bool calls)
{
    (void)calls; /* the code says so when it is watched */
    if (!globals_on && ((tool < 0 && take_tool()) ||
                        dw_py_monitoring_set(tool, events[THROW].number | events[UNWIND].number)))
        return -1;
    enabled = globals_on = true;
    return 0;
}

void dw_line_events_disable(void)
{
    enabled = false;
}

int dw_line_events_watch(PyCodeObject *code, unsigned watch)
{
    int wanted = 0;
    if (tool < 0)
        return 0;
    if (watch)
        wanted = events[START].number | events[RETURN].number | events[YIELD].number |
                 events[RESUME_].number;
    if (watch & DW_WATCH_LINES)
        wanted |= events[LINE].number;
    if (watch & DW_WATCH_CALLS)
        wanted |= events[CALL_].number;
    return dw_py_monitoring_set_local(tool, code, wanted);
}
