/* SPDX-License-Identifier: MIT
 * What the probe of memory knows of the calling thread. */
#ifndef DW_PROBE_MEMORY_ALLOC_THREAD_H
#define DW_PROBE_MEMORY_ALLOC_THREAD_H

#include "cpython/context_labels.h"
#include "probe/memory/alloc_sites.h"

#define DW_ALLOC_DEPTH 8192u /* Python functions of a stack that are told apart */
#define DW_ALLOC_CACHE 2048u
#define DW_ALLOC_RECENT 8u /* what is freed before so many others are allocated is temporary */

/* A frame of the stack at the last allocation, the outermost first. */
struct dw_alloc_frame {
    struct _PyInterpreterFrame *frame;
    const void *instruction;
    uint32_t step;
    bool is_fenced; /* it was when this was noted: cpython/frame_fence.h */
};

struct dw_alloc_thread {
    uint32_t index; /* in dw_allocs */
    pid_t tid;
    uint64_t recording; /* that it is of */
    bool is_begun;      /* it has drawn its first sample */
    uint64_t chance;
    uintptr_t stack_start, stack_end; /* 0: not looked for yet */
    struct dw_py_labels_seen labels;
    /* Of exact recordings. */
    _Alignas(16) uint32_t recent[DW_ALLOC_RECENT]; /* blocks, by the lower bits of addresses */
    struct dw_alloc_frame *frames;
    uint32_t depth, capacity;
    uint32_t fences;                     /* dw_py_fences, as of which frames are fenced */
    struct _PyInterpreterFrame **walked; /* the innermost first; room for as many */
    struct dw_alloc_known *known;        /* DW_ALLOC_CACHE */
    uint32_t replaced;                   /* of these */
};

extern uint64_t dw_alloc_recording DW_ALLOC_INNER;

/* Makes the thread known; NULL when it ends, or when there is no memory. Takes the lock. */
struct dw_alloc_thread *dw_alloc_thread_make(void);
/* A recording begins, or goes on in a forked child: what threads know of another is not used. */
int dw_alloc_threads_begin(void);

static inline struct dw_alloc_thread *dw_alloc_thread(void)
{
    struct dw_alloc_thread *thread = dw_alloc_here.thread;
    bool is_known = thread && thread->recording == dw_alloc_recording;
    return __builtin_expect(is_known, 1) ? thread : dw_alloc_thread_make();
}

#endif
