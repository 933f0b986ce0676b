/* SPDX-License-Identifier: MIT
 * A dump is a recording in memory of which only the names are used, so that native functions are
 * named by the same code as in samples. */
#include "attach/dump/native_dump.h"

#include "attach/sampling/native_look.h"
#include "base/clock.h"
#include "base/error.h"

#include <stdlib.h>

#define TRIES 5

static int init(struct dw_native_dump *dump, uint32_t max_depth)
{
    int error = dw_ledger_open(&(struct dw_ledger_options){0}, &dump->names);
    if (!error)
        error = dw_native_code_init(&dump->code, dump->python);
    if (!error)
        error = dw_live_reader_init(&dump->reader, dump->python, max_depth);
    if (!error)
        error = dw_native_code_refresh(&dump->code, dw_clock_ns(CLOCK_MONOTONIC));
    dump->merged = malloc((max_depth + DW_NATIVE_DEPTH) * sizeof *dump->merged);
    return error || dump->merged ? error : DW_ERR_MEMORY;
}

int dw_native_dump_new(const struct dw_python *python, uint32_t max_depth,
                       struct dw_native_dump **made)
{
    struct dw_native_dump *dump = calloc(1, sizeof *dump);
    if (!dump)
        return DW_ERR_MEMORY;
    dump->python = python;
    int error = init(dump, max_depth);
    if (error)
        dw_native_dump_free(dump);
    else
        *made = dump;
    return error;
}

void dw_native_dump_free(struct dw_native_dump *dump)
{
    if (!dump)
        return;
    dw_native_code_release(&dump->code);
    dw_live_reader_release(&dump->reader);
    dw_ledger_release(dump->names);
    free(dump->merged);
    free(dump);
}

bool dw_native_dump_look(struct dw_native_dump *dump, const struct dw_py_thread *thread, pid_t id,
                         struct dw_raw_stack *python, const struct dw_merged_frame **merged,
                         uint32_t *count)
{
    struct dw_live_thread live = {.state = thread->state,
                                  .interpreter = thread->interpreter,
                                  .gil = thread->gil,
                                  .native_id = thread->native_id};
    struct dw_activity_files files;
    dw_activity_open(dump->python->target->pid, id, &files);
    struct dw_native_look look = {.code = &dump->code,
                                  .reader = &dump->reader,
                                  .thread = &live,
                                  .files = &files,
                                  .id = id,
                                  .python = python,
                                  .native = &dump->stack};
    bool good = false;
    for (int i = 0; !good && i < TRIES; i++)
        good = dw_native_look(&look);
    dw_activity_close(&files);
    if (!good)
        return false;
    dw_native_stack_unwind(&dump->code, &dump->stack);
    *count = dw_stacks_merge(python, &dump->stack, dump->merged);
    *merged = dump->merged;
    return true;
}

int dw_native_dump_name(struct dw_native_dump *dump, uint32_t index, struct dw_string *function,
                        struct dw_string *file)
{
    dw_place_id id = 0;
    int error = dw_native_code_place(&dump->code, dump->names, &dump->stack, index, &id);
    if (error || !id)
        return error ? error : DW_ERR_EMPTY;
    struct dw_ledger *names = dump->names;
    const struct dw_frame *found = &names->frames.frames[names->places.places[id].frame];
    *function = names->strings.strings[found->name];
    *file = names->strings.strings[found->file];
    return 0;
}
