/* SPDX-License-Identifier: MIT
 * The properties of a process that a recording keeps. */
#ifndef DW_ATTACH_SAMPLING_DESCRIBE_H
#define DW_ATTACH_SAMPLING_DESCRIBE_H

#include "attach/python/python_runtime.h"
#include "base/out.h"
#include "record/ledger.h"

/* "3.12.1", or as much of it as is known. */
void dw_python_put_version(uint32_t version, struct dw_out *out);
/* What a person would call the program: its script, -m module or -c. */
void dw_target_put_program(const struct dw_target *target, struct dw_out *out);
/* Its command line, as a shell would need it. */
void dw_target_put_command(const struct dw_target *target, struct dw_out *out);
/* Writes them to the log. */
int dw_target_describe(const struct dw_python *python, struct dw_ledger *log);

#endif
