/* SPDX-License-Identifier: MIT
 * Frames of Python code that calls Python code lie one after the other, so one copy, which takes
 * less time than a call, has them all. Frames elsewhere (generators, and those around calls by
 * C code) are copied at nearly the same moment. */
#include "attach/sampling/live_stack.h"

#include "attach/python/field.h"
#include "attach/sampling/live_chain.h"
#include "base/error.h"

#include <stdlib.h>

#define LOOKS 3
#define AGE_EVERY 256          /* looks */
#define STRAY 16               /* the weight of a look that lacked frames; 16 * 16 if all do */
#define ASTRAY 64              /* a quarter of them do */
#define CFRAME_PREVIOUS_AT 16u /* in 3.11, where it is looked at */

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

int dw_live_reader_init(struct dw_live_reader *reader, const struct dw_python *python,
                        uint32_t max_depth)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    if (larger(offsets->gil_locked, offsets->gil_holder) - dw_live_gil_start(offsets) >
        DW_LIVE_GIL_BYTES - 8)
        return DW_ERR_DAMAGED;
    reader->python = python;
    reader->thread_start = smaller(smaller(offsets->thread_frame, offsets->thread_interpreter),
                                   offsets->thread_native_id);
    reader->thread_end = 8 + larger(larger(offsets->thread_frame, offsets->thread_interpreter),
                                    offsets->thread_native_id);
    reader->copies = malloc(DW_LIVE_ROUNDS * (size_t)DW_LIVE_COPY_BYTES);
    int error = dw_stack_reader_init(&reader->walker, python, max_depth);
    if (!error)
        error = dw_raw_stack_init(&reader->spare, max_depth);
    return reader->copies ? error : DW_ERR_MEMORY;
}

void dw_live_reader_release(struct dw_live_reader *reader)
{
    free(reader->copies);
    dw_stack_reader_release(&reader->walker);
    dw_raw_stack_release(&reader->spare);
    *reader = (struct dw_live_reader){0};
}

static bool is_same(const struct dw_raw_frame *a, const struct dw_raw_frame *b)
{
    return a->address == b->address && a->code == b->code && a->owner == b->owner;
}

static bool agree(const struct dw_raw_stack *a, const struct dw_raw_stack *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!is_same(&a->frames[i], &b->frames[i]) ||
            (i && a->frames[i].instruction != b->frames[i].instruction))
            return false;
    return true;
}

/* Before 3.14 a frame that returned has put its stack away, which one that is innermost only
 * does for the moment of a call. */
static bool is_innermost(const struct dw_py_offsets *offsets, const struct dw_raw_stack *stack)
{
    return !stack->count || offsets->saved_is_pointer || stack->frames[0].runs;
}

/* Whether all copies have the stack, and the thread was in its innermost frame around each. A
 * single one may have a caller just before or after the call: programs do the same again and
 * again, but not at the pace of the copies. */
static bool find_sure_stack(struct dw_live_reader *reader, struct dw_live_thread *thread,
                            const struct dw_live_copy *copy, struct dw_raw_stack *stack)
{
    uint64_t thread_frame = dw_live_copy_thread_frame(reader, copy), frame, after;
    bool is_asked = !copy->asked_cframe || copy->asked_cframe == thread_frame;
    if (!is_asked || !dw_live_copy_before(reader, thread, copy, &frame))
        return false;
    for (uint32_t i = 0; i < DW_LIVE_ROUNDS; i++) {
        struct dw_raw_stack *found = i ? &reader->spare : stack;
        if (copy->rounds[i].thread_frame != thread_frame ||
            !dw_live_copy_after(reader, thread, copy, i, &after) || after != frame ||
            dw_live_chain_walk(reader, thread, i, frame, found) != DW_CHAIN_WHOLE ||
            !is_innermost(&reader->python->offsets, found) || dw_live_chain_drop_returned(found) ||
            !agree(stack, found))
            return false;
    }
    return true;
}

/* Where the innermost frame is now. */
static bool read_innermost(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                           uint64_t *frame)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const struct dw_target *target = reader->python->target;
    if (dw_target_read_u64(target, thread->state + offsets->thread_frame, frame))
        return false;
    if (!offsets->has_cframe)
        return true;
    thread->cframe = *frame;
    return !*frame || !dw_target_read_u64(target, *frame + offsets->cframe_frame, frame);
}

/* Where the frames are now; false when the thread's state cannot be read. */
static bool learn_now(struct dw_live_reader *reader, struct dw_live_thread *thread,
                      enum dw_live_learnt *learnt)
{
    uint64_t frame;
    bool is_new = false;
    if (!read_innermost(reader, thread, &frame))
        return false;
    if (thread->cframe)
        dw_live_areas_add(thread, thread->cframe, DW_LIVE_CFRAME_BYTES, DW_LIVE_C_STACK, &is_new);
    *learnt = dw_live_areas_learn(reader, thread, frame);
    thread->known = *learnt != DW_LEARNT_BROKEN;
    if (is_new)
        *learnt = DW_LEARNT_NEW;
    return true;
}

/* Deep stacks take several system calls: they count when readings agree. */
static enum dw_live_result read_deep(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                     bool sure, struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    for (uint32_t i = 0; i < (sure ? DW_LIVE_ROUNDS : 2); i++) {
        struct dw_raw_stack *found = i ? &reader->spare : stack;
        dw_stack_read(&reader->walker, thread->state, found);
        if (found->state == DW_STACK_BROKEN || !dw_raw_stack_has_end(offsets, found) ||
            !agree(stack, found) || (sure && !is_innermost(offsets, found)))
            return DW_LIVE_AGAIN;
    }
    thread->is_deep = thread->known = stack->count > 100;
    return DW_LIVE_GOOD;
}

/* Follows the chain from the innermost frame, read before or after the copy. One that leaves the
 * copy for memory that holds frames makes the reading worthless, whatever else is in it: the
 * innermost part of the stack is not there. The next one has it. */
static enum dw_live_chain follow(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                 uint64_t frame, struct dw_raw_stack *stack)
{
    enum dw_live_chain chain = dw_live_chain_walk(reader, thread, 0, frame, stack);
    if (chain == DW_CHAIN_LEAVES && dw_live_areas_adapt(reader, thread, frame) != DW_LEARNT_NEW)
        return DW_CHAIN_BROKEN; /* it was not live any more */
    return chain;
}

/* From 3.14 on, frames do not tell that they returned. The innermost one was read a little before
 * the copy and again a little after it; the one that was live at that moment is the better one. */
static void choose_running(struct dw_live_reader *reader, struct dw_live_thread *thread,
                           uint64_t after, struct dw_raw_stack *stack)
{
    dw_live_chain_drop_returned(stack);
    if ((stack->count && stack->frames[0].runs) ||
        dw_live_chain_walk(reader, thread, 0, after, &reader->spare) != DW_CHAIN_WHOLE)
        return;
    dw_live_chain_drop_returned(&reader->spare);
    if (reader->spare.count && reader->spare.frames[0].runs)
        dw_raw_stack_swap(stack, &reader->spare);
}

/* The stack at the moment of the copy. The innermost frame, read before it, only says where to
 * begin: it may have returned meanwhile, and something else may lie there. */
static enum dw_live_chain find_stack(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                     const struct dw_live_copy *copy, struct dw_raw_stack *stack)
{
    uint64_t before, after;
    enum dw_live_learnt learnt;
    if (!dw_live_copy_before(reader, thread, copy, &before)) {
        learn_now(reader, thread, &learnt);
        return DW_CHAIN_LEAVES;
    }
    bool has_after = dw_live_copy_after(reader, thread, copy, 0, &after) && after != before;
    enum dw_live_chain chain = follow(reader, thread, before, stack);
    if (chain == DW_CHAIN_BROKEN && has_after)
        chain = follow(reader, thread, after, stack);
    else if (chain == DW_CHAIN_WHOLE && has_after && reader->python->offsets.saved_is_pointer)
        choose_running(reader, thread, after, stack);
    if (chain == DW_CHAIN_WHOLE)
        dw_live_chain_refine(reader, thread, stack);
    if (chain != DW_CHAIN_BROKEN)
        return chain;
    if (!learn_now(reader, thread, &learnt) || learnt == DW_LEARNT_BROKEN)
        return DW_CHAIN_BROKEN;
    if (learnt == DW_LEARNT_NEW)
        return DW_CHAIN_LEAVES;
    const struct dw_raw_stack *now = &reader->spare;
    return now->count &&
                   dw_live_chain_find(reader, thread, now->frames[now->count - 1].address, stack)
               ? DW_CHAIN_WHOLE
               : DW_CHAIN_BROKEN;
}

/* Now and then forgets what is not needed any more. */
static void begin_look(struct dw_live_thread *thread)
{
    if (++thread->looks % AGE_EVERY == 0)
        dw_live_areas_age(thread);
}

static enum dw_live_result look_once(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                     bool sure, struct dw_raw_stack *stack,
                                     struct dw_live_look *found)
{
    struct dw_live_copy copy;
    enum dw_live_learnt learnt;
    begin_look(thread);
    if (!thread->known && !learn_now(reader, thread, &learnt))
        return DW_LIVE_GONE;
    if (!dw_live_copy_take(reader, thread, sure ? DW_LIVE_ROUNDS : 1, &copy, found))
        return DW_LIVE_AGAIN;
    if (!dw_live_copy_is_of(reader, thread, &copy))
        return DW_LIVE_GONE;
    found->gil_holder = dw_live_copy_gil_holder(reader, &copy);
    if (thread->is_deep)
        return read_deep(reader, thread, sure, stack);
    enum dw_live_chain chain = find_stack(reader, thread, &copy, stack);
    thread->is_stray = chain == DW_CHAIN_LEAVES;
    if (reader->python->offsets.has_cframe)
        thread->cframe = dw_live_copy_thread_frame(reader, &copy);
    bool is_good =
        chain == DW_CHAIN_WHOLE && (!sure || find_sure_stack(reader, thread, &copy, stack));
    return is_good ? DW_LIVE_GOOD : DW_LIVE_AGAIN;
}

/* When the stack has grown out of what was copied, the next copy has it. */
enum dw_live_result dw_live_read(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                 bool sure, struct dw_raw_stack *stack, struct dw_live_look *found)
{
    enum dw_live_result result = DW_LIVE_AGAIN;
    thread->is_stray = false;
    for (int i = 0; i < LOOKS && result == DW_LIVE_AGAIN; i++) {
        result = look_once(reader, thread, sure, stack, found);
        thread->strays += !i && thread->is_stray ? STRAY : 0;
    }
    if (result == DW_LIVE_GOOD)
        thread->code = stack->count ? stack->frames[0].code : 0;
    else
        stack->count = 0;
    return result;
}

enum dw_live_result dw_live_read_stopped(struct dw_live_reader *reader,
                                         struct dw_live_thread *thread, struct dw_raw_stack *stack,
                                         struct dw_live_look *found)
{
    struct dw_live_thread bare = {.state = thread->state, .gil = thread->gil};
    struct dw_live_copy copy;
    if (!dw_live_copy_take(reader, &bare, 1, &copy, found) ||
        !dw_live_copy_is_of(reader, thread, &copy))
        return DW_LIVE_GONE;
    found->gil_holder = dw_live_copy_gil_holder(reader, &copy);
    dw_stack_read(&reader->walker, thread->state, stack);
    bool whole =
        stack->state != DW_STACK_BROKEN && dw_raw_stack_has_end(&reader->python->offsets, stack);
    return whole ? DW_LIVE_GOOD : DW_LIVE_AGAIN;
}

void dw_live_learn(struct dw_live_reader *reader, struct dw_live_thread *thread,
                   const struct dw_raw_stack *stack)
{
    uint64_t frame;
    begin_look(thread);
    if (read_innermost(reader, thread, &frame))
        dw_live_areas_add_stack(&reader->python->offsets, thread, stack);
}

bool dw_live_is_astray(struct dw_live_thread *thread)
{
    thread->strays -= (thread->strays + STRAY - 1) / STRAY;
    return thread->strays > ASTRAY;
}

/* Each run of the interpreter's loop has a cframe on the C stack, the innermost first. */
void dw_live_find_entries(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                          struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const struct dw_target *target = reader->python->target;
    uint64_t cframe;
    if (!offsets->frame_entry ||
        dw_target_read_u64(target, thread->state + offsets->thread_frame, &cframe))
        return;
    for (uint32_t i = 0; cframe && i < stack->count; i++) {
        if (!stack->frames[i].is_entry)
            continue;
        stack->frames[i].entry = cframe;
        if (dw_target_read_u64(target, cframe + CFRAME_PREVIOUS_AT, &cframe))
            return;
    }
}
