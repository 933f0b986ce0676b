/* SPDX-License-Identifier: MIT
 * Frames are compared from the inside out, by addresses that are known, so that none waits for the
 * one before; up to one that is fenced, or to the outermost. */
#include "probe/memory/alloc_frames.h"

#include "base/grow.h"
#include "probe/memory/alloc_known.h"

#define TRIES 4u

_Atomic uint32_t dw_alloc_walks;

static bool make_room(struct dw_alloc_thread *thread)
{
    uint32_t capacity = thread->capacity;
    if (thread->capacity == DW_ALLOC_DEPTH || DW_GROW(thread->walked, capacity, capacity))
        return false;
    capacity = thread->capacity;
    return !DW_GROW(thread->frames, thread->capacity, thread->capacity);
}

/* Whether the frame that called one is where it was. Between the two there may be frames of the
 * interpreter's own. */
static inline bool is_caller_same(const struct dw_alloc_frame *known,
                                  const struct dw_alloc_frame *caller)
{
    dw_py_frame *previous = known->frame->previous;
    return (previous == caller->frame || dw_py_frame_complete(previous) == caller->frame) &&
           DW_PY_FRAME_INSTRUCTION(caller->frame) == caller->instruction;
}

/* Whether all that called the frame is as it was. Frames are the same if address and instruction
 * are: for other code to be at the same place, this thread would have allocated it, with another
 * stack. */
static bool are_callers_same(const struct dw_alloc_thread *thread, uint32_t at)
{
    const struct dw_alloc_frame *first = thread->frames, *known = &first[at];
    bool is_same = true;
    for (; known > first && is_same; known--) {
        if (known->is_fenced && dw_py_frame_is_fenced(known->frame))
            break;
        is_same = is_caller_same(known, known - 1);
    }
    return is_same && (known > first || !dw_py_frame_previous(known->frame));
}

/* How many of the frames that are known may be those that called the frame, or are the frame
 * itself. Inner ones have larger addresses, mostly. */
static uint32_t skip_returned(const struct dw_alloc_thread *thread, uint32_t count,
                              const dw_py_frame *frame)
{
    const struct dw_alloc_frame *known = thread->frames;
    while (count && known[count - 1].frame > frame)
        count--;
    for (uint32_t tries = 1; tries <= TRIES && tries <= count; tries++)
        if (known[count - tries].frame == frame)
            return count - tries + 1;
    return count;
}

/* Whether the frame is known, and all that called it are as they were. *known: how many of the
 * frames are in question. */
static bool is_known(const struct dw_alloc_thread *thread, const dw_py_frame *frame,
                     uint32_t *known)
{
    if (frame->owner == FRAME_OWNED_BY_THREAD)
        *known = skip_returned(thread, *known, frame);
    return *known && thread->frames[*known - 1].frame == frame &&
           are_callers_same(thread, *known - 1);
}

/* Frames that are new or have moved, the innermost first. *same: how many of the outermost that
 * are known are as they were. */
static uint32_t walk(struct dw_alloc_thread *thread, dw_py_frame *frame, uint32_t *same)
{
    uint32_t count = 0, known = thread->depth;
    uint32_t walks = atomic_load_explicit(&dw_alloc_walks, memory_order_relaxed);
    atomic_store_explicit(&dw_alloc_walks, walks + 1, memory_order_relaxed);
    *same = 0;
    for (; frame && (count < thread->capacity || make_room(thread));
         frame = dw_py_frame_previous(frame)) {
        if (is_known(thread, frame, &known)) {
            bool has_moved =
                thread->frames[known - 1].instruction != DW_PY_FRAME_INSTRUCTION(frame);
            *same = known - has_moved;
            if (!has_moved)
                break;
            thread->walked[count++] = frame;
            break;
        }
        thread->walked[count++] = frame;
    }
    return count;
}

static uint32_t step_of_caller(struct dw_alloc_thread *thread, dw_py_frame *frame, uint32_t parent)
{
    struct dw_alloc_place place = {.mark_inner_kind = DW_ALLOC_KINDS};
    dw_alloc_place_at(&place, frame, parent);
    const struct dw_alloc_known *known = dw_alloc_known_find(thread, &place, frame);
    return known ? known->step : 0;
}

static void note(struct dw_alloc_thread *thread, uint32_t at, dw_py_frame *frame)
{
    thread->frames[at] = (struct dw_alloc_frame){
        .frame = frame,
        .instruction = DW_PY_FRAME_INSTRUCTION(frame),
        .is_fenced = dw_py_frame_is_fenced(frame),
    };
}

/* Calls are mostly those of a function that is fenced and one of the last two. NULL: this is none
 * of them. */
static struct dw_alloc_frame *note_called(struct dw_alloc_thread *thread, dw_py_frame *frame)
{
    dw_py_frame *caller = frame->previous;
    uint32_t at = thread->depth;
    while (caller && !dw_py_frame_is_fenced(caller) && _PyFrame_IsIncomplete(caller))
        caller = caller->previous;
    if (!caller || !dw_py_frame_is_fenced(caller))
        return NULL;
    if (at && !dw_alloc_frame_is_noted(&thread->frames[at - 1], caller))
        at--;
    if (!at || at == thread->capacity || !dw_alloc_frame_is_noted(&thread->frames[at - 1], caller))
        return NULL;
    struct dw_alloc_frame *known = &thread->frames[at - 1];
    if (DW_PY_FRAME_INSTRUCTION(caller) != known->instruction) {
        known->step = step_of_caller(thread, caller, at > 1 ? known[-1].step : 0);
        known->instruction = DW_PY_FRAME_INSTRUCTION(caller);
    }
    note(thread, at, frame);
    thread->depth = at + 1;
    return known + 1;
}

static void forget_fences(struct dw_alloc_thread *thread)
{
    uint32_t fences = atomic_load_explicit(&dw_py_fences, memory_order_relaxed);
    if (thread->fences != fences)
        thread->depth = 0;
    thread->fences = fences;
}

struct dw_alloc_frame *dw_alloc_frames_note(struct dw_alloc_thread *thread, dw_py_frame *frame)
{
    uint32_t depth;
    frame = dw_py_frame_complete(frame);
    forget_fences(thread);
    if (!frame)
        return NULL;
    struct dw_alloc_frame *called = note_called(thread, frame);
    if (called)
        return called;
    uint32_t count = walk(thread, frame, &depth), step = depth ? thread->frames[depth - 1].step : 0;
    for (; count && (depth < thread->capacity || make_room(thread)); depth++) {
        note(thread, depth, thread->walked[--count]);
        if (count)
            step = thread->frames[depth].step = step_of_caller(thread, thread->walked[count], step);
    }
    thread->depth = depth;
    return depth ? &thread->frames[depth - 1] : NULL;
}
