/* SPDX-License-Identifier: MIT
 * The sampler as functions of dwell._core. */
#include "probe/sample/probe_sampler.h"

#include "base/buffer.h"
#include "base/error.h"
#include "cpython/task_name.h"
#include "cpython/thread_births.h"
#include "probe/render.h"
#include "probe/sample/sample_recording.h"
#include "probe/sample/sample_slot.h"

/* own_work(begins): dwell works for itself in this thread */
PyObject *dw_probe_sampler_py_own_work(PyObject *module, PyObject *begins)
{
    (void)module;
    if (begins == Py_True)
        dw_own_work_begin();
    else
        dw_own_work_end();
    Py_RETURN_NONE;
}

#define LONGEST_PERIOD_NS UINT64_C(1000000000000000000)

/* The texts live as long as the code, which is kept: a forked child goes on with them. */
static int set_base(struct dw_sampler_options *options, PyObject *code)
{
    static PyObject *kept;
    if (code == Py_None)
        return 0;
    Py_XSETREF(kept, Py_NewRef(code));
    const PyCodeObject *base = (const PyCodeObject *)code;
    options->base.name = PyUnicode_AsUTF8(base->co_qualname);
    options->base.file = PyUnicode_AsUTF8(base->co_filename);
    options->base.line = (uint32_t)base->co_firstlineno;
    return options->base.name && options->base.file ? 0 : -1;
}

/* start(log_file, period_ns, native, wall, timeline, base=None): stacks begin behind the function
 * that has the code `base`. */
PyObject *dw_probe_sampler_py_start(PyObject *module, PyObject *arguments)
{
    PyObject *file, *path = NULL, *base = Py_None;
    unsigned long long period_ns;
    int native, wall, timeline, error;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OKppp|O", &file, &period_ns, &native, &wall, &timeline,
                          &base))
        return NULL;
    if (base != Py_None && !PyCode_Check(base)) {
        PyErr_SetString(PyExc_TypeError, "the base is a code object");
        return NULL;
    }
    if (!period_ns || period_ns > LONGEST_PERIOD_NS) {
        PyErr_SetString(PyExc_ValueError, "a period is from a nanosecond to some years");
        return NULL;
    }
    if (file != Py_None && !PyUnicode_FSConverter(file, &path))
        return NULL;
    struct dw_sampler_options options = {
        .log_file = path ? PyBytes_AS_STRING(path) : NULL,
        .period_ns = period_ns,
        .native = native,
        .timeline = timeline,
        .mode = wall ? DW_SAMPLE_WALL : DW_SAMPLE_CPU,
    };
    if (set_base(&options, base)) {
        Py_XDECREF(path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS error = dw_probe_sampler_start(&options);
    Py_END_ALLOW_THREADS if (!error) dw_probe_sampler_watch_births();
    PyObject *result = error ? dw_raise_error(error, options.log_file) : Py_NewRef(Py_None);
    Py_XDECREF(path);
    return result;
}

/* stop(): what was recorded in memory, b"" when there is a file. */
PyObject *dw_probe_sampler_py_stop(PyObject *module, PyObject *unused)
{
    struct dw_buffer memory = {0};
    int error;
    (void)module, (void)unused;
    dw_own_work_begin();
    dw_py_births_unwatch();
    Py_BEGIN_ALLOW_THREADS error = dw_probe_sampler_stop(&memory);
    Py_END_ALLOW_THREADS dw_own_work_end();
    PyObject *result =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)memory.data, (Py_ssize_t)memory.size);
    dw_buffer_release(&memory);
    return result;
}

PyObject *dw_probe_sampler_py_is_on(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(dw_probe_sampler_is_on());
}

PyObject *dw_probe_sampler_py_knows_tasks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(dw_py_tasks_are_known());
}

/* learn_tasks(handle_type, task, name, coroutine, step) */
PyObject *dw_probe_sampler_py_learn_tasks(PyObject *module, PyObject *arguments)
{
    PyObject *handle_type, *task, *name, *coroutine, *step;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyType_Type, &handle_type, &task, &name, &coroutine,
                          &step))
        return NULL;
    return dw_py_tasks_learn(handle_type, task, name, coroutine, step) ? NULL : Py_NewRef(Py_None);
}
