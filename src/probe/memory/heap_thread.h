/* SPDX-License-Identifier: MIT
 * What the probe of memory knows of the calling thread. */
#ifndef DW_PROBE_MEMORY_HEAP_THREAD_H
#define DW_PROBE_MEMORY_HEAP_THREAD_H

#include "cpython/context_labels.h"
#include "probe/memory/heap.h"

#define DW_HEAP_DEPTH 8192u /* Python functions of a stack that are told apart */
#define DW_HEAP_CACHE 512u
#define DW_HEAP_RECENT 8u /* what is freed before so many others are allocated is temporary */

/* A function of the stack at the last allocation, the outermost first. */
struct dw_heap_frame {
    const void *frame;
    const void *instruction;
    uint32_t step;
};

/* A step that was entered before. Another code may be at the same address by now. */
struct dw_heap_entered {
    const void *instruction;
    const void *name;
    uint32_t version, parent, step;
};

struct dw_heap_thread {
    uint32_t index; /* in the heap */
    pid_t tid;
    uint64_t recording; /* that it is of */
    bool is_begun;      /* it has drawn its first sample */
    uint64_t chance;
    uintptr_t stack_start, stack_end; /* 0: not looked for yet */
    struct dw_py_labels_seen labels;
    /* Of exact recordings. */
    uintptr_t recent[DW_HEAP_RECENT]; /* blocks */
    struct dw_heap_frame *frames;
    uint32_t depth, capacity;
    void **walked;                   /* frames, the innermost first; room for as many */
    struct dw_heap_entered *entered; /* DW_HEAP_CACHE steps */
    struct dw_heap_known {
        const void *caller;
        struct dw_heap_site_key key; /* the step is that of Python functions alone */
        uint32_t mark;               /* 1 + enum dw_mark that is inside of them; 0: none */
        uint32_t site;
    } * known; /* DW_HEAP_CACHE sites */
};

/* Zero in a new thread, and valid until its end, whatever destructors do. */
struct dw_heap_here {
    int64_t left;      /* bytes until the next sample; exact recordings never have any left */
    uint64_t count;    /* allocations */
    uint32_t busy;     /* in an allocator, or in here: what is allocated now is not the program's */
    bool is_in_python; /* in an allocator of Python */
    bool has_ended;    /* nothing more is recorded of it */
    struct dw_heap_thread *thread;
};

extern __thread struct dw_heap_here dw_heap_here __attribute__((tls_model("initial-exec")));

/* The calling thread, made when it is new; NULL when it ends, or when there is no memory. Takes the
 * heap's lock. */
struct dw_heap_thread *dw_heap_thread(void);
/* A recording begins, or goes on in a forked child: what threads know of another is not used. */
int dw_heap_threads_begin(void);

#endif
