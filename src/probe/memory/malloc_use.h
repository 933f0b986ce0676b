/* SPDX-License-Identifier: MIT
 * What the allocator behind malloc says of itself: that of the C library, or one that was put in
 * its place, as LD_PRELOAD does. */
#ifndef DW_PROBE_MEMORY_MALLOC_USE_H
#define DW_PROBE_MEMORY_MALLOC_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_malloc_use {
    const char *name;     /* "malloc": that of the C library */
    bool is_in_use_known; /* else only what it holds is, which is in `free` */
    uint64_t in_use;
    uint64_t free;        /* and resident, */
    bool is_free_a_bound; /* or may be */
};

/* `heap`: bytes that are resident in the areas that the C library's malloc grows. */
struct dw_malloc_use dw_malloc_use_find(uint64_t heap);

/* Those that the C library has for threads, in a mapping: others may lie beside them in it. */
uint64_t dw_malloc_heaps_in(uint64_t start, uint64_t end);
/* The first heap or block with a mapping of its own that the C library has in this mapping; its
 * size is 0 when there is none. */
struct dw_malloc_piece {
    uint64_t start, size;
};
struct dw_malloc_piece dw_malloc_first_in(uint64_t start, uint64_t end);

typedef int dw_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
typedef void dw_mi_process_info(size_t *elapsed, size_t *user, size_t *system, size_t *resident,
                                size_t *peak_resident, size_t *committed, size_t *peak_committed,
                                size_t *faults);
/* What jemalloc counts now; false when it was built without statistics. */
bool dw_mallctl_read(dw_mallctl *mallctl, uint64_t *allocated, uint64_t *resident);

#endif
