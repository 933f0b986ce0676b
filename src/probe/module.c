/* SPDX-License-Identifier: MIT
 * dwell._core: the extension module. The Python package above it adds
 * conveniences; everything that measures is here or below. */
#include "probe/region/region.h"

#include "base/error.h"
#include "cpython/exec_hook.h"
#include "cpython/thread_births.h"
#include "log/log_name.h"
#include "probe/call/call_profiler.h"
#include "probe/call/calls.h"
#include "probe/gauges_module.h"
#include "probe/gc/gc_probe.h"
#include "probe/heap/heap_alive.h"
#include "probe/heap/heap_file.h"
#include "probe/heap/heap_last.h"
#include "probe/heap/heap_reference_text.h"
#include "probe/heap/heap_snapshot.h"
#include "probe/label/label.h"
#include "probe/label/label_carrier.h"
#include "probe/last_words.h"
#include "probe/line/line_probe.h"
#include "probe/line/line_rows.h"
#include "probe/line/line_tracer.h"
#include "probe/memory/memory_paths.h"
#include "probe/memory/memory_probe.h"
#include "probe/region/iter_proxy.h"
#include "probe/region/region_hook.h"
#include "probe/render.h"
#include "probe/sample/probe_sampler.h"
#include "probe/sample/sample_rows.h"
#include "probe/timing_module.h"
#include "probe/unseen.h"
#include "record/gauges.h"
#include "record/process.h"
#include "record/rank.h"

#include <limits.h>

static PyObject *core_start(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"log_file", "timeline", "cpu", "beside", NULL};
    PyObject *file = Py_None, *path = NULL;
    int timeline = 0, cpu = 0, beside = 0;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|Oppp", names, &file, &timeline, &cpu,
                                     &beside))
        return NULL;
    if (file != Py_None && !PyUnicode_FSConverter(file, &path))
        return NULL;
    struct dw_record_options options = {
        .log_file = path ? PyBytes_AS_STRING(path) : NULL,
        .timeline = timeline,
        .cpu = cpu,
        .beside = beside,
    };
    int error = dw_recorder_start(&options);
    PyObject *result = error ? dw_raise_error(error, options.log_file) : Py_NewRef(Py_None);
    Py_XDECREF(path);
    return result;
}

static PyObject *core_widen(PyObject *module, PyObject *arguments)
{
    int timeline = 0, cpu = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pp", &timeline, &cpu))
        return NULL;
    dw_recorder_widen(&(struct dw_record_options){.timeline = timeline, .cpu = cpu});
    Py_RETURN_NONE;
}

static PyObject *core_stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    int error;
    sigset_t before;
    dw_last_words_hold(&before);
    Py_BEGIN_ALLOW_THREADS error = dw_recorder_stop();
    Py_END_ALLOW_THREADS dw_last_words_let_go(&before);
    return error ? dw_raise_error(error, dw_recorder_log_file()) : Py_NewRef(Py_None);
}

static PyObject *core_say_reported(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    dw_recorder_say_reported();
    Py_RETURN_NONE;
}

/* For all probes: first those that do not need the GIL. */
static PyObject *for_all_probes(void (*act)(bool with_gil))
{
    sigset_t before;
    dw_last_words_hold(&before);
    Py_BEGIN_ALLOW_THREADS act(false);
    Py_END_ALLOW_THREADS act(true);
    dw_last_words_let_go(&before);
    Py_RETURN_NONE;
}

/* flush_last(is_end=False): all logs are complete as of now, and go on if the process does. */
static PyObject *core_flush_last(PyObject *module, PyObject *arguments)
{
    int is_end = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "|p", &is_end))
        return NULL;
    PyObject *result = for_all_probes(dw_probes_flush);
    if (is_end)
        dw_probes_last();
    return result;
}

/* finish(): at the end of a program. Trouble with a file was told when it was met. */
static PyObject *core_finish(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    dw_py_births_unwatch();
    return for_all_probes(dw_probes_stop);
}

/* go_on(): in a forked child, once Python code may run. */
static PyObject *core_go_on(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    dw_probes_go_on();
    Py_RETURN_NONE;
}

/* stay(): the program did not leave after flush_last(). */
static PyObject *core_stay(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS dw_ledgers_stay();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* child_log(file): the file of this process beside that of the one which started it. A process that
 * becomes another program, which is Python too, keeps its id. */
static PyObject *core_child_log(PyObject *module, PyObject *arguments)
{
    PyObject *file;
    char path[PATH_MAX];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &file))
        return NULL;
    snprintf(path, sizeof path, "%s", PyBytes_AS_STRING(file));
    Py_DECREF(file);
    int error = dw_log_name_unused(path, sizeof path, dw_log_stem_size(path), getpid());
    return error ? dw_raise_error(error, path) : PyUnicode_DecodeFSDefault(path);
}

/* Probes that start without options; each is a word of `dwell run`. */
static struct dw_probe *const plain_probes[] = {&dw_gc_probe, NULL};

/* plain_probes(): their names. */
static PyObject *core_plain_probes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && plain_probes[i]; i++) {
        PyObject *name = PyUnicode_FromString(plain_probes[i]->name);
        if (!name || PyList_Append(names, name))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

/* start_probe(name, file) */
static PyObject *core_start_probe(PyObject *module, PyObject *arguments)
{
    const char *name;
    PyObject *file;
    int error = DW_ERR_ARGUMENT;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sO&", &name, PyUnicode_FSConverter, &file))
        return NULL;
    for (size_t i = 0; plain_probes[i]; i++)
        if (!strcmp(plain_probes[i]->name, name))
            error = plain_probes[i]->start(PyBytes_AS_STRING(file));
    PyObject *result = error ? dw_raise_error(error, PyBytes_AS_STRING(file)) : Py_NewRef(Py_None);
    Py_DECREF(file);
    return result;
}

static PyObject *core_is_active(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(atomic_load(&dw_recorder_active));
}

static PyObject *core_log_file(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_DecodeFSDefault(dw_recorder_log_file());
}

static PyObject *core_describe(PyObject *module, PyObject *arguments)
{
    const char *key;
    PyObject *value, *bytes;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sU", &key, &value))
        return NULL;
    bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
    if (!bytes)
        return NULL;
    dw_process_describe(key, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    Py_RETURN_NONE;
}

static PyObject *core_redact(PyObject *module, PyObject *arguments)
{
    const char *words;
    unsigned redactions = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s", &words))
        return NULL;
    if (*words && !dw_redactions_parse(words, &redactions)) {
        PyErr_Format(PyExc_ValueError, "redact is 'argv', 'sources' or both, not '%s'", words);
        return NULL;
    }
    dw_redact(redactions);
    Py_RETURN_NONE;
}

static PyObject *core_snapshot(PyObject *module, PyObject *unused)
{
    struct dw_log_writer writer;
    int error;
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS error = dw_recorder_snapshot(&writer);
    Py_END_ALLOW_THREADS PyObject *result =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)writer.memory.data,
                                          (Py_ssize_t)writer.memory.size);
    dw_log_writer_release(&writer);
    return result;
}

static int named_frame(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t most,
                       enum dw_frame_kind kind, dw_frame_id *frame)
{
    if (count >= 1 && count <= most)
        return dw_region_frame(kind, arguments[0], frame);
    PyErr_Format(PyExc_TypeError, "takes 1 to %zd arguments, not %zd", most, count);
    return -1;
}

static PyObject *core_count(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    dw_frame_id frame;
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        Py_RETURN_NONE;
    if (named_frame(arguments, count, 2, DW_FRAME_COUNTER, &frame))
        return NULL;
    long long amount = count > 1 ? PyLong_AsLongLong(arguments[1]) : 1;
    if (amount == -1 && PyErr_Occurred())
        return NULL;
    dw_recorder_count(frame, amount);
    Py_RETURN_NONE;
}

static PyObject *core_instant(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    dw_frame_id frame;
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        Py_RETURN_NONE;
    if (named_frame(arguments, count, 1, DW_FRAME_INSTANT, &frame))
        return NULL;
    dw_recorder_instant(frame);
    Py_RETURN_NONE;
}

/* Async iteration runs in the event loop, so its proxy is written in Python. */
static PyObject *async_proxy(PyObject *iterable, PyObject *region)
{
    PyObject *module = PyImport_ImportModule("dwell.regions");
    PyObject *proxy =
        module ? PyObject_CallMethod(module, "AsyncIterProxy", "OO", iterable, region) : NULL;
    Py_XDECREF(module);
    return proxy;
}

static bool is_async_iterable(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return !type->tp_iter && type->tp_as_async && type->tp_as_async->am_aiter;
}

/* iter_proxy(iterable, name=None, as_global=False): the iterable itself when nothing records. */
static PyObject *core_iter_proxy(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                                 PyObject *keywords)
{
    (void)module;
    PyObject *name = Py_None;
    bool is_global = false;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "iter_proxy() needs something to iterate over");
        return NULL;
    }
    if (dw_region_arguments(arguments, count, keywords, 1, &name, &is_global))
        return NULL;
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        return Py_NewRef(arguments[0]);
    PyObject *region = name == Py_None ? dw_region_of_caller(is_global, true)
                                       : dw_region_named(name, is_global, true);
    if (!region)
        return NULL;
    if (region == dw_region_off) { /* no Python code calls, so there is no line to name it by */
        Py_DECREF(region);
        return Py_NewRef(arguments[0]);
    }
    PyObject *proxy = is_async_iterable(arguments[0]) ? async_proxy(arguments[0], region)
                                                      : dw_iter_proxy_new(arguments[0], region);
    Py_DECREF(region);
    return proxy;
}

/* on_exec(function): calls it with the code of each module, from now on. */
static PyObject *core_on_exec(PyObject *module, PyObject *function)
{
    (void)module;
    return dw_py_exec_hook(function) ? NULL : Py_NewRef(Py_None);
}

/* shift_clock(ns): for recordings that begin from now on, how far the clock is behind others. */
static PyObject *core_shift_clock(PyObject *module, PyObject *behind)
{
    (void)module;
    long long behind_ns = PyLong_AsLongLong(behind);
    if (behind_ns == -1 && PyErr_Occurred())
        return NULL;
    dw_clock_shift_wall(behind_ns);
    Py_RETURN_NONE;
}

/* rank(): which of how many processes of an MPI job this one is; (0, 1) outside of one. */
static PyObject *core_rank(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct dw_rank rank;
    if (!dw_rank_now(&rank))
        rank = (struct dw_rank){.rank = 0, .size = 1};
    return Py_BuildValue("II", rank.rank, rank.size);
}

/* probes(): the names of those that are on. */
static PyObject *core_probes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const struct {
        const char *name;
        bool is_on;
    } probes[] = {
        {"sample", dw_probe_sampler_is_on()}, {"regions", atomic_load(&dw_recorder_active)},
        {"calls", dw_calls_are_on()},         {"lines", dw_lines_are_on()},
        {"memory", dw_memory_is_on()},        {"gauges", dw_gauges_are_on()}};
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < sizeof probes / sizeof *probes; i++) {
        PyObject *name = probes[i].is_on ? PyUnicode_FromString(probes[i].name) : NULL;
        if (probes[i].is_on && (!name || PyList_Append(names, name)))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"region", FAST(dw_region_call), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("region(name=None, as_global=False)\n--\n\n"
               "A region for 'with': the time until the end of the block is measured.\n\n"
               "Without a name it is called after its place: func() <file.py:line>. A global\n"
               "region stands directly under <main>, wherever it is entered from.")},
    {"count", FAST(core_count), METH_FASTCALL,
     PyDoc_STR("count(name, amount=1, /)\n--\n\nAdds to a counter.")},
    {"instant", FAST(core_instant), METH_FASTCALL,
     PyDoc_STR("instant(name, /)\n--\n\nMarks a point in time.")},
    {"iter_proxy", FAST(core_iter_proxy), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("iter_proxy(iterable, name=None, as_global=False)\n--\n\n"
               "The same items, with the time to get each one measured as a region.")},
    {"label", FAST(dw_label_call), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "label(**labels)\n--\n\n"
         "Says what the program is doing, beside where it is: for 'with', or as a decorator.\n\n"
         "What is measured meanwhile carries the labels, across await, tasks and threads of\n"
         "executors. Values are kept as str() gives them.")},
    {"labels", dw_label_py_labels, METH_NOARGS,
     PyDoc_STR("labels()\n--\n\nThe labels that are current here, as a dict.")},
    {"label_start", dw_label_py_start, METH_NOARGS, NULL},
    {"label_ids", dw_label_py_ids, METH_NOARGS, NULL},
    {"label_reader", dw_label_py_reader, METH_NOARGS, NULL},
    {"carry", dw_label_py_carry, METH_O, NULL},
    {"start", FAST(core_start), METH_VARARGS | METH_KEYWORDS, NULL},
    {"widen", core_widen, METH_VARARGS, NULL},
    {"stop", core_stop, METH_NOARGS, NULL},
    {"say_reported", core_say_reported, METH_NOARGS, NULL},
    {"flush_last", core_flush_last, METH_VARARGS, NULL},
    {"finish", core_finish, METH_NOARGS, NULL},
    {"go_on", core_go_on, METH_NOARGS, NULL},
    {"stay", core_stay, METH_NOARGS, NULL},
    {"child_log", core_child_log, METH_VARARGS, NULL},
    {"plain_probes", core_plain_probes, METH_NOARGS, NULL},
    {"start_probe", core_start_probe, METH_VARARGS, NULL},
    {"is_active", core_is_active, METH_NOARGS, NULL},
    {"log_file", core_log_file, METH_NOARGS, NULL},
    {"describe", core_describe, METH_VARARGS, NULL},
    {"redact", core_redact, METH_VARARGS, NULL},
    {"snapshot", core_snapshot, METH_NOARGS, NULL},
    {"render", dw_render, METH_VARARGS, NULL},
    {"render_lines", FAST(dw_render_lines), METH_VARARGS | METH_KEYWORDS, NULL},
    {"export", dw_export, METH_VARARGS, NULL},
    {"shift_clock", core_shift_clock, METH_O, NULL},
    {"rank", core_rank, METH_NOARGS, NULL},
    {"probes", core_probes, METH_NOARGS, NULL},
    {"on_exec", core_on_exec, METH_O, NULL},
    {"heap_reference", dw_heap_py_reference, METH_VARARGS, NULL},
    {"heap_referents", dw_heap_py_referents, METH_O, NULL},
    {"heap_load", dw_heap_py_load, METH_O, NULL},
    {"heap_at_last", dw_heap_py_at_last, METH_O, NULL},
    {"on_region", dw_region_py_on, METH_VARARGS, NULL},
    {"sample_rows", dw_sample_rows, METH_O, NULL},
    {"sampler_start", dw_probe_sampler_py_start, METH_VARARGS, NULL},
    {"sampler_own_work", dw_probe_sampler_py_own_work, METH_O, NULL},
    {"sampler_stop", dw_probe_sampler_py_stop, METH_NOARGS, NULL},
    {"sampler_is_on", dw_probe_sampler_py_is_on, METH_NOARGS, NULL},
    {"sampler_knows_tasks", dw_probe_sampler_py_knows_tasks, METH_NOARGS, NULL},
    {"sampler_learn_tasks", dw_probe_sampler_py_learn_tasks, METH_VARARGS, NULL},
    {"memory_start", dw_memory_py_start, METH_VARARGS, NULL},
    {"memory_stop", dw_memory_py_stop, METH_NOARGS, NULL},
    {"memory_mark", dw_memory_py_mark, METH_O, NULL},
    {"memory_paths", dw_memory_py_paths, METH_O, NULL},
    {"render_memory", dw_render_memory, METH_VARARGS, NULL},
    {"memory_is_on", dw_memory_py_is_on, METH_NOARGS, NULL},
    {"gauges_start", dw_gauges_py_start, METH_VARARGS, NULL},
    {"gauges_stop", dw_gauges_py_stop, METH_NOARGS, NULL},
    {"gauges_series", dw_gauges_py_series, METH_O, NULL},
    {"last_words_start", dw_last_words_py_start, METH_O, NULL},
    {"last_words_stop", dw_last_words_py_stop, METH_NOARGS, NULL},
    {"line_log", dw_line_rows_to_log, METH_VARARGS, NULL},
    {"line_rows", dw_line_rows_of_log, METH_O, NULL},
    {"line_memory", dw_line_memory_of_log, METH_O, NULL},
    {"add_logs", dw_line_add_logs, METH_O, NULL},
    {0},
};

static int module_exec(PyObject *module)
{
    static bool loaded;
    if (loaded) {
        PyErr_SetString(PyExc_ImportError, "dwell records one interpreter of a process only");
        return -1;
    }
    loaded = true;
    if (PyModule_AddStringConstant(module, "__version__", DW_VERSION) ||
        PyModule_AddObjectRef(module, "line_recorder", Py_None) ||
        PyModule_AddObjectRef(module, "call_recorder", Py_None))
        return -1;
    return dw_region_init(module) || dw_iter_proxy_init() || dw_label_init(module) ||
                   dw_label_carrier_init() || dw_call_profiler_init(module) ||
                   dw_line_tracer_init(module) || dw_timing_module_init(module) ||
                   dw_unseen_init(module) || dw_heap_snapshot_init(module)
               ? -1
               : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dwell._core",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
