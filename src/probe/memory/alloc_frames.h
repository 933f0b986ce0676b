/* SPDX-License-Identifier: MIT
 * The Python functions of the calling thread, which is in an allocator, by what is known of the
 * last time: mostly little has changed. */
#ifndef DW_PROBE_MEMORY_ALLOC_FRAMES_H
#define DW_PROBE_MEMORY_ALLOC_FRAMES_H

#include "cpython/frame_fence.h"
#include "probe/memory/alloc_thread.h"

/* How often, about, frames had to be compared since no fence was near. */
extern _Atomic uint32_t dw_alloc_walks;

/* Notes the frame that runs and all that called it; these have steps from then on. Takes the lock
 * when something is new. Gives the frame that runs, the innermost of thread->frames, or NULL. */
struct dw_alloc_frame *dw_alloc_frames_note(struct dw_alloc_thread *thread, dw_py_frame *frame);

/* Whether this was noted of a frame that is fenced now. Then all that called it is as it was. */
static inline bool dw_alloc_frame_is_noted(const struct dw_alloc_frame *known,
                                           const dw_py_frame *frame)
{
    return known->frame == frame && known->is_fenced;
}

/* The same for a frame that may be incomplete: mostly one of the last two, which may stand
 * elsewhere by now. A frame that is fenced is complete. */
static inline struct dw_alloc_frame *dw_alloc_frames_find(struct dw_alloc_thread *thread,
                                                          dw_py_frame *frame)
{
    uint32_t fences = atomic_load_explicit(&dw_py_fences, memory_order_relaxed);
    struct dw_alloc_frame *last = thread->frames + thread->depth - 1;
    if (thread->depth && thread->fences == fences && dw_py_frame_is_fenced(frame)) {
        if (dw_alloc_frame_is_noted(last, frame))
            return last;
        if (thread->depth > 1 && dw_alloc_frame_is_noted(last - 1, frame)) {
            thread->depth--;
            return last - 1;
        }
    }
    return dw_alloc_frames_note(thread, frame);
}

#endif
