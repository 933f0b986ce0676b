/* SPDX-License-Identifier: MIT
 * What a dump needs for native frames: the stacks of one thread after the other, and names. */
#ifndef DW_ATTACH_DUMP_NATIVE_DUMP_H
#define DW_ATTACH_DUMP_NATIVE_DUMP_H

#include "attach/native/merged_stack.h"
#include "attach/python/interpreter.h"
#include "attach/sampling/live_stack.h"

struct dw_native_dump {
    const struct dw_python *python; /* borrowed */
    struct dw_native_code code;
    struct dw_live_reader reader;
    struct dw_ledger *names; /* in memory: holds the names of functions */
    struct dw_native_stack stack;
    struct dw_merged_frame *merged; /* owned */
};

int dw_native_dump_new(const struct dw_python *python, uint32_t max_depth,
                       struct dw_native_dump **made);
/* NULL is fine. */
void dw_native_dump_free(struct dw_native_dump *dump);
/* Reads both stacks of a thread, whose kernel id is `id`, and merges them, outermost first. False
 * when they could not be read. */
bool dw_native_dump_look(struct dw_native_dump *dump, const struct dw_py_thread *thread, pid_t id,
                         struct dw_raw_stack *python, const struct dw_merged_frame **merged,
                         uint32_t *count);
/* The names of a native frame of the last look, valid until the dump is freed. DW_ERR_EMPTY for a
 * frame that is left out. */
int dw_native_dump_name(struct dw_native_dump *dump, uint32_t index, struct dw_string *function,
                        struct dw_string *file);

#endif
