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
#define STRAY 16               /* the weight of a look that lacked frames; 16 * 16 if all do */
#define ASTRAY 64              /* a quarter of them do */
#define DOUBTS 256             /* looks that take a second copy */
#define STAYS 8                /* times that an instruction must be seen; half a microsecond each */
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
            dw_live_chain_walk(reader, thread, i, &(uint64_t){frame}, found) != DW_CHAIN_WHOLE ||
            !is_innermost(&reader->python->offsets, found) || dw_live_chain_drop_returned(found) ||
            !agree(stack, found))
            return false;
    }
    return true;
}

/* The frame of a call as the second copy has it, with its caller; false unless it is the same
 * there, and runs or waits as it did. */
static bool find_again(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                       const struct dw_raw_frame *frame, struct dw_raw_frame *again,
                       uint64_t *caller)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const uint8_t *bytes =
        frame->owner ? NULL
                     : dw_live_copy_find(reader, thread, 1, frame->address, offsets->frame_size);
    return bytes && dw_raw_frame_parse(offsets, frame->address, bytes, again, caller) &&
           is_same(again, frame) && again->runs == frame->runs;
}

bool dw_live_is_steady(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                       const struct dw_live_look *look, const struct dw_raw_stack *stack,
                       uint32_t callee)
{
    struct dw_raw_frame again;
    uint64_t previous;
    if (!look->is_twice || callee + 1 >= stack->count || !stack->frames[0].runs)
        return false;
    const struct dw_raw_frame *called = &stack->frames[callee], *caller = called + 1;
    return find_again(reader, thread, &stack->frames[0], &again, &previous) &&
           find_again(reader, thread, called, &again, &previous) &&
           previous == (called->entry ? called->entry : caller->address) &&
           find_again(reader, thread, caller, &again, &previous) &&
           again.instruction == caller->instruction;
}

bool dw_live_stays(const struct dw_live_reader *reader, const struct dw_raw_frame *innermost)
{
    uint64_t field = innermost->address + reader->python->offsets.frame_instruction, now;
    for (uint32_t i = 0; i < STAYS; i++)
        if (dw_target_read_u64(reader->python->target, field, &now) ||
            now != innermost->instruction)
            return false;
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

enum learnt {
    LEARNT_NEW,    /* frames lay where nothing was copied */
    LEARNT_SAME,   /* all lay in the areas */
    LEARNT_BROKEN, /* the same, but the chain did not hold together */
};

/* Where the frames are now, which are in the spare stack then; false when the thread's state cannot
 * be read. */
static bool learn_now(struct dw_live_reader *reader, struct dw_live_thread *thread,
                      enum learnt *learnt)
{
    uint64_t frame;
    bool is_new = false;
    if (!read_innermost(reader, thread, &frame))
        return false;
    if (thread->cframe)
        dw_live_areas_add(thread, thread->cframe, DW_LIVE_CFRAME_BYTES, DW_LIVE_C_STACK, &is_new);
    reader->spare.count = 0;
    reader->spare.state = DW_STACK_WHOLE;
    bool is_whole = dw_live_areas_learn(reader, thread, frame, &reader->spare, &is_new);
    thread->known = is_new || is_whole;
    *learnt = is_new ? LEARNT_NEW : is_whole ? LEARNT_SAME : LEARNT_BROKEN;
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

/* Follows the chain from the innermost frame, read before or after the copy. When it leaves the
 * copy for memory that holds frames, the frames from there on are read one by one, which takes a
 * moment. They wait for those inside of them, so that most likely they are still what they were: to
 * take another copy instead would be to choose stacks that last. The next copy has that memory.
 * If one of them runs, it waits no longer. */
static enum dw_live_chain follow(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                 uint64_t frame, struct dw_raw_stack *stack)
{
    bool is_new = false;
    enum dw_live_chain chain = dw_live_chain_walk(reader, thread, 0, &frame, stack);
    if (chain != DW_CHAIN_LEAVES)
        return chain;
    dw_live_chain_drop_returned(stack);
    bool is_whole = dw_live_areas_learn(reader, thread, frame, stack, &is_new);
    if (!is_new)
        return DW_CHAIN_BROKEN; /* it was not live any more */
    is_whole &= stack->count && !dw_live_chain_drop_returned(stack);
    return is_whole ? DW_CHAIN_MENDED : DW_CHAIN_LEAVES;
}

/* From 3.14 on, frames do not tell that they returned. The innermost one was read a little before
 * the copy and again a little after it; the one that was live at that moment is the better one. */
static void choose_running(struct dw_live_reader *reader, struct dw_live_thread *thread,
                           uint64_t after, struct dw_raw_stack *stack)
{
    dw_live_chain_drop_returned(stack);
    if ((stack->count && stack->frames[0].runs) ||
        dw_live_chain_walk(reader, thread, 0, &after, &reader->spare) != DW_CHAIN_WHOLE)
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
    enum learnt learnt;
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
    if (!learn_now(reader, thread, &learnt) || learnt == LEARNT_BROKEN)
        return DW_CHAIN_BROKEN;
    if (learnt == LEARNT_NEW)
        return DW_CHAIN_LEAVES;
    const struct dw_raw_stack *now = &reader->spare;
    return now->count &&
                   dw_live_chain_find(reader, thread, now->frames[now->count - 1].address, stack)
               ? DW_CHAIN_WHOLE
               : DW_CHAIN_BROKEN;
}

/* Forgets what is not needed any more. */
static void begin_look(struct dw_live_thread *thread)
{
    thread->looks++;
    dw_live_areas_age(thread);
}

static enum dw_live_result look_once(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                     bool sure, struct dw_raw_stack *stack,
                                     struct dw_live_look *found)
{
    struct dw_live_copy copy;
    enum learnt learnt;
    begin_look(thread);
    if (!thread->known && !learn_now(reader, thread, &learnt))
        return DW_LIVE_GONE;
    bool again = !sure && thread->doubts && !reader->python->offsets.saved_is_pointer;
    if (!dw_live_copy_take(reader, thread, sure ? DW_LIVE_ROUNDS : 1, again, &copy, found))
        return DW_LIVE_AGAIN;
    if (!dw_live_copy_is_of(reader, thread, &copy))
        return DW_LIVE_GONE;
    found->gil_holder = dw_live_copy_gil_holder(reader, &copy);
    if (thread->is_deep)
        return read_deep(reader, thread, sure, stack);
    enum dw_live_chain chain = find_stack(reader, thread, &copy, stack);
    found->is_twice = again && found->is_at_once && chain == DW_CHAIN_WHOLE;
    thread->is_stray = chain == DW_CHAIN_LEAVES;
    if (reader->python->offsets.has_cframe)
        thread->cframe = dw_live_copy_thread_frame(reader, &copy);
    if (chain == DW_CHAIN_WHOLE || chain == DW_CHAIN_MENDED)
        dw_live_areas_use(thread, stack);
    if (chain == DW_CHAIN_MENDED && !sure)
        return DW_LIVE_GOOD;
    if (chain != DW_CHAIN_WHOLE || (sure && !find_sure_stack(reader, thread, &copy, stack)))
        return DW_LIVE_AGAIN;
    return DW_LIVE_GOOD;
}

/* When the stack has grown out of what was copied, the next copy has it. */
enum dw_live_result dw_live_read(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                 bool sure, struct dw_raw_stack *stack, struct dw_live_look *found)
{
    enum dw_live_result result = DW_LIVE_AGAIN;
    thread->is_stray = false;
    thread->doubts -= thread->doubts > 0;
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
    if (!dw_live_copy_take(reader, &bare, 1, false, &copy, found) ||
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

void dw_live_doubt(struct dw_live_thread *thread)
{
    thread->doubts = DOUBTS;
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
