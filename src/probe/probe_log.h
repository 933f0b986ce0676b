/* SPDX-License-Identifier: MIT
 * What the logs of the probes that keep numbers of their own have in common: a file
 * or memory, the tables of definitions, the process. Times in them are nanoseconds.
 * The GIL guards it. */
#ifndef DW_PROBE_PROBE_LOG_H
#define DW_PROBE_PROBE_LOG_H

#include "log/writer.h"

#include <Python.h>

struct dw_probe_log {
    struct dw_log_writer writer;
    int fd; /* -1: in memory */
    struct dw_string_table strings;
    struct dw_frame_table frames;
    struct dw_path_tree paths;
    struct dw_process process;
    uint32_t strings_written, frames_written, paths_written;
};

/* `path` NULL: in memory. `began` NULL: now. 0 or an error; release it in any case. */
int dw_probe_log_open(struct dw_probe_log *log, const char *path,
                      const struct dw_clock_pair *began);
void dw_probe_log_release(struct dw_probe_log *log);
/* The bytes of a log in memory, or an exception. */
PyObject *dw_probe_log_bytes(const struct dw_probe_log *log, int error);

/* A Python string of any kind. */
int dw_probe_log_string(struct dw_probe_log *log, PyObject *text, dw_string_id *id);
/* The frame of Python code, or with `code` NULL of a C function. */
int dw_probe_log_frame(struct dw_probe_log *log, PyObject *name, const PyCodeObject *code,
                       dw_frame_id *id);
/* Writes strings, frames, paths and sources that the log does not have. */
void dw_probe_log_define(struct dw_probe_log *log);
/* Ends a flush; the last one says that the log is complete. `ended` NULL: now. */
int dw_probe_log_end(struct dw_probe_log *log, bool last, const struct dw_clock_pair *ended);
/* False in a forked child: the file is the parent's. */
bool dw_probe_log_is_ours(const struct dw_probe_log *log);
/* Says that there will be no log. */
void dw_probe_log_complain(int error);
/* The tick at which the log is due again, after a flush that began at `before`: a flush takes
 * at most a twentieth of the time between two. */
uint64_t dw_probe_log_next(uint64_t before, double tick_ns);

#endif
