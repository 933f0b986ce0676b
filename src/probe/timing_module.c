/* SPDX-License-Identifier: MIT
 * Numbers come in as sequences and go out as dicts; the measuring is in Python, because what is
 * measured is Python code run by Python's own loop. */
#include "probe/timing_module.h"

#include "base/comparison.h"
#include "base/error.h"
#include "base/grow.h"
#include "lens/timing/timing_text.h"
#include "log/save.h"
#include "probe/render.h"
#include "record/process.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The numbers of a sequence, to be freed with PyMem_Free; NULL with an exception. */
static double *read_numbers(PyObject *object, size_t *count)
{
    PyObject *sequence = PySequence_Fast(object, "runs must be a sequence of numbers");
    if (!sequence)
        return NULL;
    Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
    double *numbers = PyMem_Malloc(((size_t)size + 1) * sizeof *numbers);
    for (Py_ssize_t i = 0; numbers && i < size; i++)
        numbers[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(sequence, i));
    Py_DECREF(sequence);
    *count = (size_t)size;
    if (!numbers)
        PyErr_NoMemory();
    else if (!PyErr_Occurred() && !size)
        PyErr_SetString(PyExc_ValueError, "there are no runs");
    if (!PyErr_Occurred())
        return numbers;
    PyMem_Free(numbers);
    return NULL;
}

/* The text written to memory, decoded; closes it. */
static PyObject *take_text(struct dw_out *out)
{
    PyObject *text = PyUnicode_DecodeUTF8((const char *)out->buffer.data,
                                          (Py_ssize_t)out->buffer.size, "replace");
    dw_out_close(out);
    return text;
}

static PyObject *summary_dict(const struct dw_summary *summary, const struct dw_timing_facts *facts)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_timing_put_warnings(&out, summary, facts);
    PyObject *text = take_text(&out);
    if (!text)
        return NULL;
    return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:(dd),s:d,s:n,s:d,s:d,s:O,s:N}", "mean",
                         summary->mean, "stdev", summary->stdev, "min", summary->min, "q1",
                         summary->q1, "median", summary->median, "q3", summary->q3, "max",
                         summary->max, "mad", summary->mad, "interval",
                         summary->median_interval.low, summary->median_interval.high, "confidence",
                         summary->interval_confidence, "outliers", (Py_ssize_t)summary->outliers,
                         "trend_p", summary->trend_p, "trend", summary->trend, "is_bimodal",
                         summary->is_bimodal ? Py_True : Py_False, "warnings", text);
}

/* summarize_runs(ns of one loop of each run, loops, group, confidence) */
static PyObject *summarize_runs(PyObject *module, PyObject *arguments)
{
    PyObject *runs;
    Py_ssize_t group;
    struct dw_timing_facts facts;
    struct dw_summary summary;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Odnd", &runs, &facts.loops, &group, &facts.confidence))
        return NULL;
    facts.group = (size_t)group;
    double *values = read_numbers(runs, &facts.runs);
    if (!values)
        return NULL;
    int error = dw_timing_summarize(values, &facts, &summary);
    PyMem_Free(values);
    return error ? dw_raise_error(error, NULL) : summary_dict(&summary, &facts);
}

static PyObject *comparison_dict(const struct dw_comparison *comparison, const char *a,
                                 const char *b)
{
    static const char *const words[] = {
        [DW_VERDICT_UNKNOWN] = "unknown",
        [DW_VERDICT_SAME] = "same",
        [DW_VERDICT_FASTER] = "faster",
        [DW_VERDICT_SLOWER] = "slower",
    };
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_comparison_put_change(&out, comparison);
    PyObject *change = take_text(&out);
    dw_out_init_memory(&out);
    dw_comparison_put(&out, comparison, a, b);
    PyObject *verdict = take_text(&out);
    /* An N that is NULL makes it fail, and the others are released. */
    return Py_BuildValue("{s:d,s:(dd),s:d,s:d,s:d,s:s,s:N,s:N}", "ratio", comparison->ratio,
                         "interval", comparison->interval.low, comparison->interval.high, "p",
                         comparison->p, "mann_whitney_p", comparison->mann_whitney_p, "delta",
                         comparison->delta, "outcome", words[dw_comparison_verdict(comparison)],
                         "change", change, "verdict", verdict);
}

/* compare_runs(a, b, (group of a, group of b), is_paired, confidence, name of a, name of b) */
static PyObject *compare_runs(PyObject *module, PyObject *arguments)
{
    PyObject *a, *b, *result = NULL;
    Py_ssize_t a_group, b_group;
    int is_paired, error = 0;
    double confidence;
    const char *a_name, *b_name;
    size_t a_count, b_count;
    struct dw_comparison comparison;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO(nn)pdss", &a, &b, &a_group, &b_group, &is_paired,
                          &confidence, &a_name, &b_name))
        return NULL;
    double *of_a = read_numbers(a, &a_count), *of_b = of_a ? read_numbers(b, &b_count) : NULL;
    if (of_a && of_b) {
        struct dw_runs first = {of_a, a_count, (size_t)a_group};
        struct dw_runs second = {of_b, b_count, (size_t)b_group};
        error = dw_comparison_make(&first, &second, is_paired, confidence, &comparison);
        result = error ? dw_raise_error(error, NULL) : comparison_dict(&comparison, a_name, b_name);
    }
    PyMem_Free(of_a);
    PyMem_Free(of_b);
    return result;
}

/* format_time(ns, digits) */
static PyObject *format_time(PyObject *module, PyObject *arguments)
{
    double ns;
    int digits;
    struct dw_out out;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "di", &ns, &digits))
        return NULL;
    dw_out_init_memory(&out);
    dw_timing_put_time(&out, ns, digits);
    return take_text(&out);
}

/* 0 or an error; with an exception when it is the text that cannot be encoded. */
static int intern_text(struct dw_profile *profile, PyObject *text, dw_string_id *id)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (!bytes)
        return DW_ERR_ARGUMENT;
    int error = dw_string_intern(&profile->strings, PyBytes_AS_STRING(bytes),
                                 (size_t)PyBytes_GET_SIZE(bytes), id);
    Py_DECREF(bytes);
    return error;
}

static int add_properties(struct dw_profile *profile, PyObject *dict,
                          struct dw_property **properties, uint32_t *count, uint32_t *capacity)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int error = 0;
    while (!error && PyDict_Next(dict, &at, &key, &value)) {
        struct dw_property property;
        error = intern_text(profile, key, &property.key);
        if (!error)
            error = intern_text(profile, value, &property.value);
        if (!error)
            error = DW_GROW(*properties, *count, *capacity);
        if (!error)
            (*properties)[(*count)++] = property;
    }
    return error;
}

static int add_runs(PyObject *list, struct dw_timing *timing)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        int error = DW_GROW(timing->runs_ns, timing->run_count, timing->run_capacity);
        if (error)
            return error;
        unsigned long long ns = PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, i));
        if (PyErr_Occurred())
            return DW_ERR_ARGUMENT;
        timing->runs_ns[timing->run_count++] = ns;
    }
    return 0;
}

static int add_timing(struct dw_profile *profile, PyObject *item)
{
    PyObject *name, *properties, *runs;
    struct dw_timing timing = {0};
    unsigned long long loops;
    if (!PyArg_ParseTuple(item, "UO!KO!", &name, &PyDict_Type, &properties, &loops, &PyList_Type,
                          &runs))
        return DW_ERR_ARGUMENT;
    timing.loops = loops;
    int error = intern_text(profile, name, &timing.name);
    if (!error)
        error = add_properties(profile, properties, &timing.properties, &timing.property_count,
                               &timing.property_capacity);
    if (!error)
        error = add_runs(runs, &timing);
    if (!error)
        error = DW_GROW(profile->timings, profile->timing_count, profile->timing_capacity);
    if (error)
        dw_timing_release(&timing);
    else
        profile->timings[profile->timing_count++] = timing;
    return error;
}

static int fill_profile(struct dw_profile *profile, PyObject *properties, PyObject *timings)
{
    struct dw_process process;
    int error = DW_GROW(profile->processes, profile->process_count, profile->process_capacity);
    if (!error)
        error = dw_process_introduce(&process, &profile->strings);
    if (error)
        return error;
    process.ended = true;
    profile->processes[profile->process_count++] = process;
    struct dw_process *kept = &profile->processes[0];
    error = add_properties(profile, properties, &kept->properties, &kept->property_count,
                           &kept->property_capacity);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(timings) && !error; i++)
        error = add_timing(profile, PyList_GET_ITEM(timings, i));
    return error;
}

static int save_profile(const struct dw_profile *profile, const char *path)
{
    struct dw_log_writer writer;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return DW_ERR_IO;
    int error = dw_log_writer_init(&writer, fd);
    if (!error)
        error = dw_log_save(profile, &writer);
    int saved = writer.saved_errno;
    dw_log_writer_release(&writer);
    if (close(fd) && !error)
        error = DW_ERR_IO, saved = errno;
    errno = saved;
    return error;
}

/* write_timings(file, properties of the process, [(name, properties, loops, ns of the runs)]) */
static PyObject *write_timings(PyObject *module, PyObject *arguments)
{
    PyObject *path, *properties, *timings;
    struct dw_profile *profile;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&O!O!", PyUnicode_FSConverter, &path, &PyDict_Type,
                          &properties, &PyList_Type, &timings))
        return NULL;
    int error = dw_profile_new(&profile);
    if (!error) {
        error = fill_profile(profile, properties, timings);
        if (!error)
            error = save_profile(profile, PyBytes_AS_STRING(path));
        dw_profile_free(profile);
    }
    if (error && !PyErr_Occurred())
        dw_raise_error(error, PyBytes_AS_STRING(path));
    Py_DECREF(path);
    return error ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"summarize_runs", summarize_runs, METH_VARARGS, NULL},
    {"compare_runs", compare_runs, METH_VARARGS, NULL},
    {"format_time", format_time, METH_VARARGS, NULL},
    {"write_timings", write_timings, METH_VARARGS, NULL},
    {0},
};

int dw_timing_module_init(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
