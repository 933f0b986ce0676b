/* SPDX-License-Identifier: MIT
 * Lenses for Python: a log in memory or in a file becomes bytes or a file. */
#include "probe/render.h"

#include "base/error.h"
#include "lens/lens.h"
#include "lens/table/view_report.h"
#include "lens/view/line_list.h"
#include "log/reader.h"
#include "model/prepare/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SAMPLE_ROWS 25

PyObject *dw_raise_error(int error, const char *file)
{
    if (error == DW_ERR_MEMORY)
        return PyErr_NoMemory();
    if (error == DW_ERR_IO)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, file);
    return PyErr_Format(PyExc_ValueError, "%s%s%s", file ? file : "", file ? ": " : "",
                        dw_error_text(error));
}

PyObject *dw_log_to_object(PyObject *log, dw_make_object *make)
{
    Py_buffer bytes;
    struct dw_profile *profile;
    PyObject *result = NULL;
    if (PyObject_GetBuffer(log, &bytes, PyBUF_SIMPLE))
        return NULL;
    int error = dw_profile_new(&profile);
    if (!error) {
        error = dw_log_read(bytes.buf, (size_t)bytes.len, 0, profile);
        result = error ? NULL : make(profile);
        dw_profile_free(profile);
    }
    PyBuffer_Release(&bytes);
    return error ? dw_raise_error(error, NULL) : result;
}

struct rendering {
    struct dw_profile *profile;
    const struct dw_lens *lens;
    struct dw_lens_options options;
    struct dw_view_options view;
    const char *columns[64];
    struct dw_out out;
};

static int read_columns(PyObject *sequence, struct rendering *rendering)
{
    Py_ssize_t count = PyTuple_GET_SIZE(sequence);
    if (count > 64) {
        PyErr_SetString(PyExc_ValueError, "at most 64 columns");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        rendering->columns[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(sequence, i));
        if (!rendering->columns[i])
            return -1;
    }
    rendering->options.columns = count ? rendering->columns : NULL;
    rendering->options.column_count = (size_t)count;
    return 0;
}

static int run_lens(struct rendering *rendering, const Py_buffer *log)
{
    unsigned flags = rendering->lens->needs_events ? DW_READ_EVENTS : 0;
    int error = dw_profile_new(&rendering->profile);
    if (error)
        return error;
    error = dw_log_read(log->buf, (size_t)log->len, flags, rendering->profile);
    if (!error)
        error = dw_profile_prepare(rendering->profile, false);
    if (!error)
        error = rendering->lens->write(rendering->profile, &rendering->options, &rendering->out);
    dw_profile_free(rendering->profile);
    return error;
}

static PyObject *rendered(struct rendering *rendering, const Py_buffer *log)
{
    int error;
    dw_out_init_memory(&rendering->out);
    Py_BEGIN_ALLOW_THREADS error = run_lens(rendering, log);
    Py_END_ALLOW_THREADS const struct dw_buffer *made = &rendering->out.buffer;
    error = error ? error : rendering->out.error;
    PyObject *result =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)made->data, (Py_ssize_t)made->size);
    dw_out_close(&rendering->out);
    return result;
}

/* Tables of samples are by function, line or module, all others by what rows are. */
static int read_by(const char *by, struct rendering *rendering)
{
    static const struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = SAMPLE_ROWS};
    bool is_of_places = false;
    for (size_t i = DW_KEY_FUNCTION; i <= DW_KEY_MODULE; i++)
        is_of_places |= !strcmp(dw_key_at(i)->name, by);
    if (!is_of_places && dw_by_find(by, &rendering->options.by))
        return 0;
    if (!is_of_places || rendering->lens != dw_lens_find("table")) {
        PyErr_Format(PyExc_ValueError,
                     is_of_places ? "only tables are by function, line or module"
                                  : "nothing is told by '%s'",
                     by);
        return -1;
    }
    rendering->view = dw_view_of_samples(by, (struct dw_restrictions){&first, 1});
    rendering->options.view = &rendering->view;
    rendering->lens = &dw_view_table;
    return 0;
}

PyObject *dw_render(PyObject *module, PyObject *arguments)
{
    Py_buffer log;
    const char *lens, *by = "region";
    PyObject *columns = NULL, *result = NULL;
    struct rendering rendering = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*s|sO!", &log, &lens, &by, &PyTuple_Type, &columns))
        return NULL;
    rendering.lens = dw_lens_find(lens);
    if (!rendering.lens)
        PyErr_Format(PyExc_ValueError, "no lens '%s'", lens);
    else if (!read_by(by, &rendering) && (!columns || !read_columns(columns, &rendering)))
        result = rendered(&rendering, &log);
    PyBuffer_Release(&log);
    return result;
}

PyObject *dw_render_lines(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"log",  "unit",    "strip_zeros", "details", "summarize",
                            "sort", "callees", "heat",        NULL};
    int strip_zeros = 0, details = 1, summarize = 0, sort = 0, callees = 0, heat = 0;
    Py_buffer log;
    struct dw_line_options lines = dw_line_defaults;
    struct rendering rendering = {.lens = &dw_lens_lines, .options.lines = &lines};
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*|dpppppp", names, &log, &lines.unit_s,
                                     &strip_zeros, &details, &summarize, &sort, &callees, &heat))
        return NULL;
    lines.strip_zeros = strip_zeros;
    lines.details = details;
    lines.summarize = summarize;
    lines.sort = sort;
    lines.callees = callees;
    lines.heat = heat;
    PyObject *result = rendered(&rendering, &log);
    PyBuffer_Release(&log);
    return result;
}

#define MEMORY_KEYS 4

static int read_keys(PyObject *keys, struct dw_view_options *view)
{
    static const enum dw_measure shown[] = {DW_PEAK_BYTES,    DW_LIVE_BYTES,  DW_LIVE,
                                            DW_ALLOC_BYTES,   DW_ALLOCATIONS, DW_TEMPORARY,
                                            DW_RESERVED_BYTES};
    view->measure_count = sizeof shown / sizeof *shown;
    memcpy(view->measures, shown, sizeof shown);
    view->key_count = (uint32_t)PyTuple_GET_SIZE(keys);
    if (view->key_count > MEMORY_KEYS) {
        PyErr_Format(PyExc_ValueError, "at most %d keys", MEMORY_KEYS);
        return -1;
    }
    for (uint32_t i = 0; i < view->key_count; i++)
        if (!(view->keys[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keys, i))))
            return -1;
    return 0;
}

/* render_memory(log, keys): the report for people or, of keys, the view as JSON. */
PyObject *dw_render_memory(PyObject *module, PyObject *arguments)
{
    Py_buffer log;
    PyObject *keys, *result = NULL;
    struct dw_view_options view = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*O!", &log, &PyTuple_Type, &keys))
        return NULL;
    struct rendering rendering = {
        .lens = PyTuple_GET_SIZE(keys) ? &dw_view_json : &dw_memory_table,
        .options.view = &view,
    };
    if (!read_keys(keys, &view))
        result = rendered(&rendering, &log);
    PyBuffer_Release(&log);
    return result;
}

static int export_file(const char *from, const struct dw_lens *lens, int fd)
{
    struct dw_profile *profile;
    struct dw_out out;
    struct dw_lens_options options = {0};
    int error = dw_profile_new(&profile);
    if (error)
        return error;
    error = dw_log_read_file(from, DW_READ_EVENTS, profile);
    if (!error)
        error = dw_profile_prepare(profile, false);
    dw_out_init_fd(&out, fd);
    if (!error)
        error = lens->write(profile, &options, &out);
    int closed = dw_out_close(&out);
    dw_profile_free(profile);
    return error ? error : closed;
}

PyObject *dw_export(PyObject *module, PyObject *arguments)
{
    PyObject *from = NULL, *to = NULL;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&sO&", PyUnicode_FSConverter, &from, &name,
                          PyUnicode_FSConverter, &to))
        return NULL;
    const struct dw_lens *lens = dw_lens_find(name);
    const char *out = PyBytes_AS_STRING(to);
    int error = lens ? DW_ERR_IO : DW_ERR_ARGUMENT;
    int fd = lens ? open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        Py_BEGIN_ALLOW_THREADS error = export_file(PyBytes_AS_STRING(from), lens, fd);
        Py_END_ALLOW_THREADS int saved = errno;
        close(fd);
        errno = saved;
    }
    PyObject *result = error ? dw_raise_error(error, out) : Py_NewRef(Py_None);
    Py_DECREF(from);
    Py_DECREF(to);
    return result;
}
