/* SPDX-License-Identifier: MIT
 * Values in these logs are absolute, so a flush writes only what changed, behind the definitions
 * that it needs. */
#include "probe/probe_log.h"

#include "base/error.h"
#include "record/recorder.h"

#include <stdio.h>
#include <unistd.h>

#define FLUSH_NS 5e8
#define FLUSH_SHARE 20

static int init_tables(struct dw_probe_log *log)
{
    int error = dw_frame_table_init(&log->frames, &log->strings);
    if (!error)
        error = dw_path_tree_init(&log->paths);
    return error;
}

int dw_probe_log_open(struct dw_probe_log *log, const char *path, const struct dw_clock_pair *began)
{
    *log = (struct dw_probe_log){.fd = -1};
    int error = dw_log_writer_create(&log->writer, path);
    log->fd = log->writer.fd;
    if (!error)
        error = init_tables(log);
    if (!error)
        error = dw_recorder_introduce(&log->process, &log->strings);
    if (!error)
        dw_log_writer_agree(&log->writer, log->process.uuid);
    if (began)
        log->process.first_clock = *began;
    log->process.first_clock.tick = log->process.first_clock.monotonic_ns;
    if (!error)
        dw_log_write_process(&log->writer, 0, &log->process, &log->strings);
    return error;
}

void dw_probe_log_release(struct dw_probe_log *log)
{
    free(log->process.properties);
    dw_path_tree_release(&log->paths);
    dw_frame_table_release(&log->frames);
    dw_string_table_release(&log->strings);
    dw_log_writer_close(&log->writer);
    dw_log_writer_release(&log->writer);
    log->fd = -1;
}

PyObject *dw_probe_log_bytes(const struct dw_probe_log *log, int error)
{
    if (error)
        return PyErr_NoMemory();
    return PyBytes_FromStringAndSize((const char *)log->writer.memory.data,
                                     (Py_ssize_t)log->writer.memory.size);
}

int dw_probe_log_string(struct dw_probe_log *log, PyObject *text, dw_string_id *id)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    *id = 0;
    if (!bytes) {
        PyErr_Clear();
        return 0;
    }
    int error = dw_string_intern(&log->strings, PyBytes_AS_STRING(bytes),
                                 (size_t)PyBytes_GET_SIZE(bytes), id);
    Py_DECREF(bytes);
    return error;
}

int dw_probe_log_frame(struct dw_probe_log *log, PyObject *name, const PyCodeObject *code,
                       dw_frame_id *id)
{
    struct dw_frame frame = {.kind = code ? DW_FRAME_FUNCTION : DW_FRAME_BUILTIN};
    int error = dw_probe_log_string(log, name, &frame.name);
    if (!error && code) {
        error = dw_probe_log_string(log, code->co_filename, &frame.file);
        frame.line = (uint32_t)code->co_firstlineno;
    }
    return error ? error : dw_frame_intern(&log->frames, &frame, id);
}

void dw_probe_log_define(struct dw_probe_log *log)
{
    dw_log_write_strings(&log->writer, &log->strings, log->strings_written);
    dw_log_write_frames(&log->writer, &log->frames, log->frames_written);
    dw_log_write_paths(&log->writer, &log->paths, log->paths_written);
    for (uint32_t i = log->frames_written; i < log->frames.count && log->fd >= 0; i++)
        dw_log_write_source_once(&log->writer, &log->strings, log->frames.frames[i].file);
    log->strings_written = log->strings.count;
    log->frames_written = log->frames.count;
    log->paths_written = log->paths.count;
}

int dw_probe_log_end(struct dw_probe_log *log, bool last, const struct dw_clock_pair *ended)
{
    struct dw_clock_pair clock = ended ? *ended : dw_clock_pair_now();
    clock.tick = clock.monotonic_ns;
    dw_log_write_clock(&log->writer, 0, &clock);
    if (last)
        dw_log_write_end(&log->writer, 0, 0, false);
    return dw_log_writer_error(&log->writer);
}

bool dw_probe_log_is_ours(const struct dw_probe_log *log)
{
    return log->process.pid == (uint64_t)getpid();
}

void dw_probe_log_complain(int error)
{
    dprintf(STDERR_FILENO, "dwell: the log: %s; recording goes on without it\n",
            dw_error_text(error));
}

uint64_t dw_probe_log_next(uint64_t before, double tick_ns)
{
    uint64_t now = dw_tick();
    uint64_t usual = (uint64_t)(FLUSH_NS / tick_ns), pause = FLUSH_SHARE * (now - before);
    return now + (pause > usual ? pause : usual);
}
