/* SPDX-License-Identifier: MIT
 * Fences tell whether a frame that runs is the one that ran before at its address. While it is, the
 * functions that called it stand where they stood, and need not be looked at. */
#ifndef DW_CPYTHON_FRAME_FENCE_H
#define DW_CPYTHON_FRAME_FENCE_H

#include "cpython/frame.h"

#include <stdatomic.h>
#include <stdint.h>

#define DW_PY_FENCE 0x40

/* How often frames were fenced. What was fenced before may be another frame by now. */
extern _Atomic uint32_t dw_py_fences;

/* Fences all frames that run now, in all threads. Needs the GIL, and makes frame objects. */
void dw_py_fence_frames(void);

/* Of the calling thread's own frames. A generator may be resumed by others than before, and what
 * the interpreter has on the C stack is not a whole frame. */
static inline bool dw_py_frame_is_fenced(const dw_py_frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_THREAD && frame->frame_obj &&
           frame->frame_obj->f_trace_lines & DW_PY_FENCE;
}

#endif
