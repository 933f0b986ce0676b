/* SPDX-License-Identifier: MIT
 * Sums are made by reading logs into one profile, as everywhere. */
#include "probe/line/line_rows.h"

#include "base/error.h"
#include "lens/view/line_list.h"
#include "log/reader.h"
#include "log/save.h"
#include "model/prepare/prepare.h"
#include "probe/ledger_python.h"
#include "probe/render.h"

#include <string.h>

static int add_sources(struct dw_ledger *log, PyObject *sources)
{
    PyObject *file, *text;
    Py_ssize_t at = 0;
    while (PyDict_Next(sources, &at, &file, &text)) {
        dw_string_id names[2];
        if (dw_ledger_text(log, file, &names[0]) || dw_ledger_text(log, text, &names[1]))
            return DW_ERR_MEMORY;
        dw_log_write_source(&log->sink.writer, log->strings.strings[names[0]],
                            log->strings.strings[names[1]]);
    }
    return 0;
}

PyObject *dw_line_log_bytes(dw_collect *collect, void *context, PyObject *sources)
{
    struct dw_ledger *log = NULL;
    if (!PyDict_Check(sources))
        return PyErr_Format(PyExc_TypeError, "sources are a dict, not %.100s",
                            Py_TYPE(sources)->tp_name);
    int error = dw_ledger_open(&(struct dw_ledger_options){0}, &log);
    if (!error)
        error = add_sources(log, sources);
    if (!error)
        error = dw_ledger_flush_end(log, collect, context);
    if (!PyErr_Occurred())
        return dw_ledger_take_bytes(log, error);
    dw_ledger_release(log);
    return NULL;
}

struct timed_line {
    dw_path_id path;
    unsigned long long hits, time;
};

/* (line, hits, time) */
static int add_line(struct dw_ledger *log, dw_frame_id function, PyObject *tuple,
                    struct timed_line *line)
{
    struct dw_place place = {.frame = function};
    dw_place_id id;
    if (!PyArg_ParseTuple(tuple, "IKK", &place.line, &line->hits, &line->time))
        return DW_ERR_ARGUMENT;
    int error = dw_ledger_place(log, &place, &id);
    return error ? error : dw_ledger_path(log, DW_PATH_ROOT, id, &line->path);
}

/* (file, first line, name) */
static int add_function(struct dw_ledger *log, PyObject *key, dw_frame_id *function)
{
    PyObject *file, *name;
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION};
    if (!PyArg_ParseTuple(key, "UIU", &file, &frame.line, &name))
        return DW_ERR_ARGUMENT;
    int error = dw_ledger_text(log, name, &frame.name);
    if (!error)
        error = dw_ledger_text(log, file, &frame.file);
    return error ? error : dw_ledger_frame(log, &frame, function);
}

static int write_function(struct dw_ledger *log, struct dw_sink *sink, uint32_t thread,
                          dw_frame_id function, PyObject *lines)
{
    int error = 0;
    struct timed_line *timed = calloc((size_t)PyList_GET_SIZE(lines) + 1, sizeof *timed);
    for (Py_ssize_t i = 0; timed && !error && i < PyList_GET_SIZE(lines); i++)
        error = add_line(log, function, PyList_GET_ITEM(lines, i), &timed[i]);
    dw_ledger_define(log, sink);
    dw_log_rows_begin(&sink->writer, thread);
    for (Py_ssize_t i = 0; timed && !error && i < PyList_GET_SIZE(lines); i++)
        dw_log_rows_add(
            &sink->writer, timed[i].path, DW_LABELS_NONE, DW_HIT_MASK & ~DW_MASK(DW_HIT_SUSPENDED),
            (uint64_t[]){timed[i].hits, timed[i].time, timed[i].time, timed[i].time}, NULL);
    dw_log_rows_end(&sink->writer);
    free(timed);
    return timed ? error : DW_ERR_MEMORY;
}

static int collect_timings(void *timings, struct dw_ledger *log, struct dw_sink *sink)
{
    PyObject *key, *lines;
    Py_ssize_t at = 0;
    uint32_t thread;
    dw_frame_id function;
    int error = dw_ledger_thread(log, 1, 0, &thread);
    thread = error ? 0 : dw_ledger_thread_id(log, thread);
    dw_ledger_define(log, sink);
    while (!error && PyDict_Next(timings, &at, &key, &lines)) {
        error = PyList_Check(lines) ? add_function(log, key, &function) : DW_ERR_ARGUMENT;
        if (!error)
            error = write_function(log, sink, thread, function, lines);
    }
    return error;
}

PyObject *dw_line_rows_to_log(PyObject *module, PyObject *arguments)
{
    PyObject *timings, *sources;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyDict_Type, &timings, &PyDict_Type, &sources))
        return NULL;
    return dw_line_log_bytes(collect_timings, timings, sources);
}

static PyObject *text_of(struct dw_string string)
{
    return PyUnicode_DecodeUTF8(string.bytes, (Py_ssize_t)string.size, "replace");
}

static int append(PyObject *list, PyObject *item)
{
    int error = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return error;
}

/* (name, file, line, calls, time): the file of what is not Python is empty. */
static PyObject *callee_row(const struct dw_profile *profile, const struct dw_line *callee)
{
    const struct dw_frame *frame = &profile->frames.frames[callee->callee];
    PyObject *name = text_of(dw_profile_string(profile, frame->name));
    PyObject *file = name ? text_of(dw_profile_string(profile, frame->file)) : NULL;
    if (file)
        return Py_BuildValue("(NNIKK)", name, file, frame->line,
                             (unsigned long long)callee->values[DW_LINE_HITS],
                             (unsigned long long)callee->values[DW_LINE_TIME]);
    Py_XDECREF(name);
    return NULL;
}

/* (line, hits, time, self, inclusive, suspended, callees) */
static PyObject *line_row(const struct dw_line *line)
{
    const uint64_t *values = line->values;
    return Py_BuildValue("(IKKKKK[])", line->line, (unsigned long long)values[DW_LINE_HITS],
                         (unsigned long long)values[DW_LINE_TIME],
                         (unsigned long long)values[DW_LINE_SELF],
                         (unsigned long long)values[DW_LINE_INCLUSIVE],
                         (unsigned long long)values[DW_LINE_SUSPENDED]);
}

/* Rows come by line, and what a line called after the line itself. */
static PyObject *line_rows(const struct dw_profile *profile, const struct dw_line_listing *function)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < function->row_count; i++) {
        const struct dw_line *line = function->rows[i];
        Py_ssize_t count = PyList_GET_SIZE(list);
        int error = 0;
        if (line->line && !line->callee)
            error = append(list, line_row(line));
        else if (line->callee && count)
            error = append(PyTuple_GET_ITEM(PyList_GET_ITEM(list, count - 1), 6),
                           callee_row(profile, line));
        if (error)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *function_row(const struct dw_profile *profile,
                              const struct dw_line_listing *function)
{
    PyObject *file = text_of(function->file), *name = text_of(function->name);
    PyObject *lines = file && name ? line_rows(profile, function) : NULL;
    if (lines)
        return Py_BuildValue("(NINKN)", file, function->line, name,
                             (unsigned long long)function->calls, lines);
    Py_XDECREF(file);
    Py_XDECREF(name);
    return NULL;
}

typedef PyObject *make_row(const struct dw_profile *profile,
                           const struct dw_line_listing *function);

/* What is made of each function, as a list. */
static PyObject *list_functions(struct dw_profile *profile, make_row *make)
{
    struct dw_line_list lines = {0};
    int error = dw_profile_prepare(profile, false);
    if (!error && dw_lines_are_in(profile))
        error = dw_line_list_make(profile, NULL, &lines);
    PyObject *list = error ? dw_raise_error(error, NULL) : PyList_New(0);
    for (uint32_t i = 0; list && i < lines.count; i++)
        if (append(list, make(profile, &lines.functions[i])))
            Py_CLEAR(list);
    dw_line_list_release(&lines);
    return list;
}

static PyObject *function_rows(struct dw_profile *profile)
{
    return list_functions(profile, function_row);
}

PyObject *dw_line_rows_of_log(PyObject *module, PyObject *log)
{
    (void)module;
    return dw_log_to_object(log, function_rows);
}

/* (line, hits, most bytes after it, bytes that it added) */
static PyObject *memory_row(const struct dw_line *line)
{
    const uint64_t *values = line->values;
    return Py_BuildValue("(IKKL)", line->line, (unsigned long long)values[DW_LINE_HITS],
                         (unsigned long long)values[DW_LINE_MEMORY],
                         (long long)(values[DW_LINE_GROWTH] - values[DW_LINE_SHRINKING]));
}

/* (file, first line, name, lines); the function as a whole is line 0. */
static PyObject *memory_of(const struct dw_profile *profile, const struct dw_line_listing *function)
{
    (void)profile;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < function->row_count; i++)
        if (!function->rows[i]->callee && append(list, memory_row(function->rows[i])))
            Py_CLEAR(list);
    PyObject *file = text_of(function->file), *name = text_of(function->name);
    if (list && file && name)
        return Py_BuildValue("(NINN)", file, function->line, name, list);
    Py_XDECREF(list);
    Py_XDECREF(file);
    Py_XDECREF(name);
    return NULL;
}

static PyObject *memory_rows(struct dw_profile *profile)
{
    return list_functions(profile, memory_of);
}

PyObject *dw_line_memory_of_log(PyObject *module, PyObject *log)
{
    (void)module;
    return dw_log_to_object(log, memory_rows);
}

/* The profile knows a recording again by its uuid, and would refuse it. */
static int read_log(struct dw_profile *profile, PyObject *log)
{
    Py_buffer bytes;
    if (PyObject_GetBuffer(log, &bytes, PyBUF_SIMPLE))
        return DW_ERR_ARGUMENT;
    int error = dw_log_read(bytes.buf, (size_t)bytes.len, 0, profile);
    for (uint32_t i = 0; i < profile->process_count; i++)
        memset(profile->processes[i].uuid, 0, sizeof profile->processes[i].uuid);
    PyBuffer_Release(&bytes);
    return error;
}

static PyObject *saved(const struct dw_profile *profile)
{
    struct dw_log_writer writer;
    int error = dw_log_writer_init(&writer, -1);
    if (!error)
        error = dw_log_save(profile, &writer);
    PyObject *bytes = error ? dw_raise_error(error, NULL)
                            : PyBytes_FromStringAndSize((const char *)writer.memory.data,
                                                        (Py_ssize_t)writer.memory.size);
    dw_log_writer_release(&writer);
    return bytes;
}

PyObject *dw_line_add_logs(PyObject *module, PyObject *logs)
{
    struct dw_profile *profile;
    (void)module;
    if (!PyTuple_Check(logs))
        return PyErr_Format(PyExc_TypeError, "logs are a tuple");
    int error = dw_profile_new(&profile);
    if (error)
        return dw_raise_error(error, NULL);
    for (Py_ssize_t i = 0; !error && i < PyTuple_GET_SIZE(logs); i++)
        error = read_log(profile, PyTuple_GET_ITEM(logs, i));
    PyObject *bytes = PyErr_Occurred() ? NULL
                      : error          ? dw_raise_error(error, NULL)
                                       : saved(profile);
    dw_profile_free(profile);
    return bytes;
}
