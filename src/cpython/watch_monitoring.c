/* SPDX-License-Identifier: MIT
 * 3.12 and later: PY_YIELD and PY_RESUME are local events, set on the code that
 * holds regions and on no other. PY_THROW can only be global; it is as rare as
 * exceptions thrown into generators. */
#include "cpython/watch.h"

#include "cpython/frame.h"

enum { EVENT_RESUME = 1 << 1, EVENT_YIELD = 1 << 3, EVENT_THROW = 1 << 8 };

static dw_py_sleep_callback *suspended, *resumed;
static PyObject *monitoring; /* sys.monitoring, once we have a tool id there */
static int tool = -1;
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

static PyMethodDef yield_method = {"on_yield", (PyCFunction)(void (*)(void))on_yield, METH_FASTCALL,
                                   NULL};
static PyMethodDef resume_method = {"on_resume", (PyCFunction)(void (*)(void))on_resume,
                                    METH_FASTCALL, NULL};

/* Calls sys.monitoring.NAME(tool, ...); false (and no exception) when it refuses. */
static bool call(PyObject *owner, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *tuple = Py_VaBuildValue(format, arguments);
    va_end(arguments);
    PyObject *function = PyObject_GetAttrString(owner, name);
    PyObject *result = tuple && function ? PyObject_CallObject(function, tuple) : NULL;
    bool done = result != NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(function);
    Py_XDECREF(result);
    if (!done)
        PyErr_Clear();
    return done;
}

static bool register_callback(PyObject *owner, int event, PyMethodDef *method)
{
    PyObject *function = PyCFunction_New(method, NULL);
    bool done = function && call(owner, "register_callback", "(iiO)", tool, event, function);
    Py_XDECREF(function);
    return done;
}

/* Ids 0 to 2 and 5 are spoken for by convention; we take 4 or 3. */
static bool take_tool_id(PyObject *owner)
{
    for (tool = 4; tool >= 3; tool--)
        if (call(owner, "use_tool_id", "(is)", tool, "dwell"))
            return true;
    return false;
}

static bool connect(void)
{
    if (monitoring || tool == 2) /* 2: there was no free id */
        return monitoring != NULL;
    PyObject *owner = PySys_GetObject("monitoring");
    if (!owner || !take_tool_id(owner))
        return false;
    if (register_callback(owner, EVENT_YIELD, &yield_method) &&
        register_callback(owner, EVENT_RESUME, &resume_method) &&
        register_callback(owner, EVENT_THROW, &resume_method) &&
        call(owner, "set_events", "(ii)", tool, EVENT_THROW))
        monitoring = Py_NewRef(owner);
    return monitoring != NULL;
}

bool dw_py_watch(PyCodeObject *code)
{
    void *watched = NULL;
    PyUnstable_Code_GetExtra((PyObject *)code, watched_index, &watched);
    if (watched)
        return true;
    PyObject *pending = PyErr_GetRaisedException();
    bool done = connect() && call(monitoring, "set_local_events", "(iOi)", tool, code,
                                  EVENT_YIELD | EVENT_RESUME);
    if (done)
        PyUnstable_Code_SetExtra((PyObject *)code, watched_index, (void *)1);
    PyErr_SetRaisedException(pending);
    return done;
}

void dw_py_watch_idle(void)
{
}
