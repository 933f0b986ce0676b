/* SPDX-License-Identifier: MIT
 * Lines as a log: of a profile while the program runs, or made of Python objects. */
#ifndef DW_PROBE_LINE_LOG_H
#define DW_PROBE_LINE_LOG_H

#include "probe/lines.h"
#include "probe/probe_log.h"

struct dw_line_log {
    struct dw_probe_log base;
    char *path;
    struct dw_line_table written; /* what the log has */
};

/* From now on the profile goes to the file too. 0 or an error. */
int dw_line_log_start(struct dw_line_profile *profile, const char *path);
void dw_line_log_stop(struct dw_line_profile *profile);

/* line_log(functions, sources): the bytes of a log of what LineTracer._rows() gives. */
PyObject *dw_line_log_of_rows(PyObject *module, PyObject *arguments);

#endif
