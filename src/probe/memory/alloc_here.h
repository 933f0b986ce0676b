/* SPDX-License-Identifier: MIT
 * What the hooks need of the calling thread at each allocation. */
#ifndef DW_PROBE_MEMORY_ALLOC_HERE_H
#define DW_PROBE_MEMORY_ALLOC_HERE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum dw_alloc_inside { DW_ALLOC_OUTSIDE, DW_ALLOC_AS_OWNER, DW_ALLOC_WITH_MUTEX };

#define DW_ALLOC_IN_PYTHON 0x10000u /* part of `busy`: in an allocator of Python, */
#define DW_ALLOC_IN_POOL 0x20000u   /* or in one of a library */

/* Of a variable that each allocation looks at: no other object has it, so that its address need
 * not be looked up. */
#define DW_ALLOC_INNER __attribute__((visibility("hidden")))

/* Zero in a new thread, and valid until its end, whatever destructors do. */
struct dw_alloc_here {
    int64_t left;   /* bytes until the next sample */
    uint64_t count; /* allocations */
    uint32_t busy;  /* in an allocator, or in here: what is allocated now is not the program's */
    bool has_ended; /* nothing more is recorded of it */
    _Atomic uint8_t inside; /* enum dw_alloc_inside: whether it has the lock, and how */
    struct dw_alloc_thread *thread;
    int64_t net;  /* bytes that it allocated, less those that it freed, whoever allocated these */
    int64_t high; /* the most of them since somebody set this */
};

extern __thread struct dw_alloc_here dw_alloc_here __attribute__((tls_model("initial-exec")));

static inline void dw_alloc_here_add(uint64_t bytes)
{
    dw_alloc_here.net += (int64_t)bytes;
    if (dw_alloc_here.net > dw_alloc_here.high)
        dw_alloc_here.high = dw_alloc_here.net;
}

#endif
