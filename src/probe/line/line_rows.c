/* SPDX-License-Identifier: MIT
 * Numbers of lines between Python objects and logs, in both directions. */
#include "probe/line/line_rows.h"

#include "probe/ledger_python.h"
#include "probe/render.h"

/* (name, file, line, calls, time) */
static int add_callee_row(struct dw_ledger *log, struct dw_line_table *rows, struct dw_line row,
                          PyObject *tuple)
{
    PyObject *name, *file;
    struct dw_frame frame = {0};
    unsigned long long calls, time;
    if (!PyArg_ParseTuple(tuple, "UUIKK", &name, &file, &frame.line, &calls, &time))
        return -1;
    frame.kind = PyUnicode_GET_LENGTH(file) ? DW_FRAME_FUNCTION : DW_FRAME_BUILTIN;
    row.values[DW_LINE_HITS] = calls;
    row.values[DW_LINE_TIME] = time;
    if (dw_ledger_text(log, name, &frame.name) || dw_ledger_text(log, file, &frame.file) ||
        dw_ledger_frame(log, &frame, &row.callee) || dw_line_add(rows, &row)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* (line, hits, time, self, inclusive, suspended, callees) */
static int add_line_row(struct dw_ledger *log, struct dw_line_table *rows, dw_frame_id function,
                        PyObject *tuple)
{
    unsigned long long values[DW_LINE_METRICS] = {0}; /* those of samples stay so */
    struct dw_line row = {.function = function}, key;
    PyObject *callees;
    if (!PyArg_ParseTuple(tuple, "IKKKKKO!", &row.line, &values[DW_LINE_HITS],
                          &values[DW_LINE_TIME], &values[DW_LINE_SELF], &values[DW_LINE_INCLUSIVE],
                          &values[DW_LINE_SUSPENDED], &PyList_Type, &callees))
        return -1;
    key = row;
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        row.values[i] = values[i];
    if (dw_line_add(rows, &row)) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callees); i++)
        if (add_callee_row(log, rows, key, PyList_GET_ITEM(callees, i)))
            return -1;
    return 0;
}

/* (file, first line, name, calls, lines) */
static int add_function_rows(struct dw_ledger *log, struct dw_line_table *rows, PyObject *tuple)
{
    PyObject *file, *name, *lines;
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION};
    struct dw_line whole = {0};
    unsigned long long calls;
    if (!PyArg_ParseTuple(tuple, "UIUKO!", &file, &frame.line, &name, &calls, &PyList_Type, &lines))
        return -1;
    whole.values[DW_LINE_HITS] = calls;
    if (dw_ledger_text(log, name, &frame.name) || dw_ledger_text(log, file, &frame.file) ||
        dw_ledger_frame(log, &frame, &whole.function) || dw_line_add(rows, &whole)) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines); i++)
        if (add_line_row(log, rows, whole.function, PyList_GET_ITEM(lines, i)))
            return -1;
    return 0;
}

static int add_sources(struct dw_ledger *log, PyObject *sources)
{
    PyObject *file, *text;
    Py_ssize_t at = 0;
    while (PyDict_Next(sources, &at, &file, &text)) {
        dw_string_id names[2];
        if (!PyUnicode_Check(file) || !PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "sources are a dict of str by str");
            return -1;
        }
        if (dw_ledger_text(log, file, &names[0]) || dw_ledger_text(log, text, &names[1]))
            return -1;
        dw_log_write_source(&log->sink.writer, log->strings.strings[names[0]],
                            log->strings.strings[names[1]]);
    }
    return 0;
}

static int collect_rows(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    dw_ledger_define(ledger, sink);
    dw_log_write_lines(&sink->writer, 0, context, 0);
    return 0;
}

PyObject *dw_line_rows_to_log(PyObject *module, PyObject *arguments)
{
    PyObject *functions, *sources, *bytes = NULL;
    struct dw_ledger *log = NULL;
    struct dw_line_table rows = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyList_Type, &functions, &PyDict_Type, &sources))
        return NULL;
    int error = dw_ledger_open(&(struct dw_ledger_options){0}, &log), failed = 0;
    for (Py_ssize_t i = 0; !error && !failed && i < PyList_GET_SIZE(functions); i++)
        failed = add_function_rows(log, &rows, PyList_GET_ITEM(functions, i));
    if (!error && !failed)
        failed = add_sources(log, sources);
    if (!error && !failed)
        error = dw_ledger_flush_end(log, collect_rows, &rows);
    if (failed)
        dw_ledger_release(log);
    else
        bytes = dw_ledger_take_bytes(log, error);
    dw_line_table_release(&rows);
    return bytes;
}

static PyObject *text_of(struct dw_string string)
{
    return PyUnicode_DecodeUTF8(string.bytes, (Py_ssize_t)string.size, "replace");
}

/* (file, first line, name) */
static PyObject *frame_key(const struct dw_profile *profile, dw_frame_id id)
{
    const struct dw_frame *frame = &profile->frames.frames[id];
    PyObject *file = text_of(dw_profile_string(profile, frame->file));
    PyObject *name = file ? text_of(dw_profile_string(profile, frame->name)) : NULL;
    if (!name) {
        Py_XDECREF(file);
        return NULL;
    }
    return Py_BuildValue("(NIN)", file, frame->line, name);
}

/* (function, line, callee or None, hits, time, self, inclusive, suspended) */
static PyObject *log_row(const struct dw_profile *profile, const struct dw_line *line)
{
    PyObject *function = frame_key(profile, line->function);
    PyObject *callee = line->callee ? frame_key(profile, line->callee) : Py_NewRef(Py_None);
    if (!function || !callee) {
        Py_XDECREF(function);
        Py_XDECREF(callee);
        return NULL;
    }
    const uint64_t *values = line->values;
    return Py_BuildValue(
        "(NINKKKKK)", function, line->line, callee, (unsigned long long)values[DW_LINE_HITS],
        (unsigned long long)values[DW_LINE_TIME], (unsigned long long)values[DW_LINE_SELF],
        (unsigned long long)values[DW_LINE_INCLUSIVE],
        (unsigned long long)values[DW_LINE_SUSPENDED]);
}

static PyObject *log_rows(const struct dw_profile *profile)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < profile->lines.count; i++) {
        PyObject *row = log_row(profile, &profile->lines.lines[i]);
        if (!row || PyList_Append(list, row))
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *log_sources(const struct dw_profile *profile)
{
    PyObject *sources = PyDict_New();
    for (uint32_t i = 0; sources && i < profile->source_count; i++) {
        PyObject *file = text_of(dw_profile_string(profile, profile->sources[i].file));
        PyObject *text = text_of(dw_profile_string(profile, profile->sources[i].text));
        if (!file || !text || PyDict_SetItem(sources, file, text))
            Py_CLEAR(sources);
        Py_XDECREF(file);
        Py_XDECREF(text);
    }
    return sources;
}

static PyObject *rows_and_sources(const struct dw_profile *profile)
{
    PyObject *rows = log_rows(profile);
    PyObject *sources = rows ? log_sources(profile) : NULL;
    if (sources)
        return Py_BuildValue("(NN)", rows, sources);
    Py_XDECREF(rows);
    return NULL;
}

PyObject *dw_line_rows_of_log(PyObject *module, PyObject *log)
{
    (void)module;
    return dw_log_to_object(log, rows_and_sources);
}
