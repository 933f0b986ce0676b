/* SPDX-License-Identifier: MIT
 * What recordings say of this process. A lock of its own guards it, the last one of all. */
#ifndef DW_RECORD_PROCESS_H
#define DW_RECORD_PROCESS_H

#include "model/profile.h"

/* Describes the process in all logs, from their next flush on. */
void dw_process_describe(const char *key, const void *value, size_t size);
/* How often that was done, and what was said, as properties of a process. */
uint32_t dw_process_changes(void);
int dw_process_update(struct dw_process *process, struct dw_string_table *strings);
/* The process as a log begins with it: its properties, in `strings`, a new uuid and the clock as of
 * now. The caller frees process->properties. */
int dw_process_introduce(struct dw_process *process, struct dw_string_table *strings);
/* Adds a property, unless it is to be left out. */
int dw_process_add_property(struct dw_process *process, struct dw_string_table *strings,
                            struct dw_string key, struct dw_string value);

/* Around a fork: nobody is in the middle of a description. */
void dw_process_lock(void);
void dw_process_unlock(void);

#endif
