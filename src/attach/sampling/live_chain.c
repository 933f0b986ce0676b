/* SPDX-License-Identifier: MIT
 * A chain is followed from a frame to its caller within the copy. Before 3.14 frames tell whether
 * they run, by which calls and returns between two reads are noticed. */
#include "attach/sampling/live_chain.h"

#include "attach/python/field.h"

#include <string.h>

#define GENERATOR_OWNER 1

/* The frame that 3.15 keeps in the thread's state, for when no Python code runs. A chain without a
 * function that ends elsewhere was read from the C stack after its frames had gone. */
static bool is_base(const struct dw_live_thread *thread, uint64_t address)
{
    return !address || (address >= thread->state && address - thread->state < DW_LIVE_THREAD_BYTES);
}

enum dw_live_chain dw_live_chain_walk(const struct dw_live_reader *reader,
                                      struct dw_live_thread *thread, uint32_t round,
                                      uint64_t *address, struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint64_t innermost = *address, marked = 0;
    stack->count = 0;
    stack->state = DW_STACK_WHOLE;
    for (uint32_t steps = 0; *address; steps++) {
        struct dw_raw_frame frame;
        if (*address % 8 || *address == marked)
            return DW_CHAIN_BROKEN; /* it leads back to where it was, or to nothing */
        if (!(steps & (steps - 1)))
            marked = *address;
        const uint8_t *bytes =
            dw_live_copy_find(reader, thread, round, *address, offsets->frame_size);
        if (!bytes)
            return DW_CHAIN_LEAVES;
        if (!dw_raw_frame_parse(offsets, *address, bytes, &frame, address))
            return DW_CHAIN_BROKEN;
        dw_raw_stack_add(stack, &frame);
    }
    return dw_raw_stack_has_end(offsets, stack) && (stack->count || is_base(thread, innermost))
               ? DW_CHAIN_WHOLE
               : DW_CHAIN_BROKEN;
}

/* A frame that runs has no callee: whatever the chain has inside of it has returned already. */
bool dw_live_chain_drop_returned(struct dw_raw_stack *stack)
{
    for (uint32_t i = stack->count; i-- > 1;) {
        if (!stack->frames[i].runs || stack->frames[i - 1].is_entry)
            continue;
        stack->count -= i;
        memmove(stack->frames, stack->frames + i, stack->count * sizeof *stack->frames);
        return true;
    }
    return false;
}

static uint64_t outermost_of(const struct dw_raw_stack *stack)
{
    return stack->count ? stack->frames[stack->count - 1].address : 0;
}

/* Whether the chain from that frame is whole and live. Waiting greenlets have chains that look so
 * too, but begin elsewhere. */
static bool try_chain(struct dw_live_reader *reader, struct dw_live_thread *thread,
                      uint64_t address, uint64_t outermost)
{
    return dw_live_chain_walk(reader, thread, 0, &address, &reader->spare) == DW_CHAIN_WHOLE &&
           outermost_of(&reader->spare) == outermost &&
           !dw_live_chain_drop_returned(&reader->spare);
}

/* Frames of calls lie above those callers that are in the same area; those of generators
 * anywhere. */
static uint64_t first_deeper(const struct dw_live_area *area, const struct dw_raw_stack *stack)
{
    for (uint32_t i = 0; area->kind == DW_LIVE_CALLS && i < stack->count; i++)
        if (stack->frames[i].address >= area->start && stack->frames[i].address < area->end)
            return stack->frames[i].address;
    return area->start;
}

static bool may_be_in(const struct dw_live_area *area, const struct dw_py_offsets *offsets,
                      const uint8_t *bytes)
{
    return dw_raw_frame_runs(offsets, bytes) &&
           (bytes[offsets->frame_owner] == GENERATOR_OWNER) == (area->kind == DW_LIVE_HEAP);
}

static void find_deeper_in(struct dw_live_reader *reader, struct dw_live_thread *thread,
                           const struct dw_live_area *area, uint64_t outermost,
                           struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const uint8_t *copy = dw_live_copy_area(reader, thread, area);
    for (uint64_t at = first_deeper(area, stack); at + offsets->frame_size <= area->end; at += 8)
        if (may_be_in(area, offsets, copy + (at - area->start)) &&
            try_chain(reader, thread, at, outermost) && reader->spare.count > stack->count)
            dw_raw_stack_swap(stack, &reader->spare);
}

/* What was called after the innermost frame was read, and before the copy: before 3.14, a frame
 * of the copy that runs and has its callers there is live. Without this, short functions would
 * hardly be seen. */
static void find_deeper(struct dw_live_reader *reader, struct dw_live_thread *thread,
                        uint64_t outermost, struct dw_raw_stack *stack)
{
    for (uint32_t i = 0; i < thread->area_count; i++)
        if (thread->areas[i].kind != DW_LIVE_C_STACK)
            find_deeper_in(reader, thread, &thread->areas[i], outermost, stack);
}

static const struct dw_live_area *area_of_calls(const struct dw_live_thread *thread,
                                                uint64_t address)
{
    for (uint32_t i = 0; i < thread->area_count; i++)
        if (thread->areas[i].kind == DW_LIVE_CALLS && address >= thread->areas[i].start &&
            address < thread->areas[i].end)
            return &thread->areas[i];
    return NULL;
}

/* A frame that waits for what it called, though nothing above it runs: its callee returned while
 * it was copied, and lies right above it. */
static void find_callee(struct dw_live_reader *reader, struct dw_live_thread *thread,
                        uint64_t outermost, struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint64_t caller = stack->frames[0].address;
    const struct dw_live_area *area = area_of_calls(thread, caller);
    if (stack->frames[0].runs || !area)
        return;
    const uint8_t *copy = dw_live_copy_area(reader, thread, area);
    for (uint64_t at = caller + offsets->frame_size; at + offsets->frame_size <= area->end;
         at += 8) {
        if (dw_u64_at(copy + (at - area->start), offsets->frame_previous) != caller)
            continue;
        if (try_chain(reader, thread, at, outermost) && reader->spare.count == stack->count + 1)
            dw_raw_stack_swap(stack, &reader->spare);
        return;
    }
}

void dw_live_chain_refine(struct dw_live_reader *reader, struct dw_live_thread *thread,
                          struct dw_raw_stack *stack)
{
    uint64_t outermost = outermost_of(stack);
    dw_live_chain_drop_returned(stack);
    if (!stack->count || reader->python->offsets.saved_is_pointer)
        return;
    find_deeper(reader, thread, outermost, stack);
    find_callee(reader, thread, outermost, stack);
}

bool dw_live_chain_find(struct dw_live_reader *reader, struct dw_live_thread *thread,
                        uint64_t outermost, struct dw_raw_stack *stack)
{
    stack->count = 0;
    stack->state = DW_STACK_WHOLE;
    if (reader->python->offsets.saved_is_pointer)
        return false;
    find_deeper(reader, thread, outermost, stack);
    if (stack->count)
        find_callee(reader, thread, outermost, stack);
    return stack->count != 0;
}
