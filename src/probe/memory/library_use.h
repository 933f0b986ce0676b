/* SPDX-License-Identifier: MIT
 * Memory that libraries got from the system themselves, mostly for an allocator that is linked into
 * them. Which one that is, the name of the function tells that called mmap. */
#ifndef DW_PROBE_MEMORY_LIBRARY_USE_H
#define DW_PROBE_MEMORY_LIBRARY_USE_H

#include "probe/memory/alloc_sites.h"
#include "probe/memory/mappings.h"
#include "probe/sample/sample_natives.h"

#define DW_LIBRARIES 16

struct dw_library_use {
    char name[96]; /* "mimalloc of libarrow", "mapped by libx", or "" for the program */
    bool is_allocator;
    uint64_t base;           /* of the library */
    enum dw_alloc_kind kind; /* of what is recorded of it; DW_ALLOC_KINDS: nothing can be */
    uint64_t resident;
    bool is_in_use_known;
    uint64_t in_use;
};

/* The allocator that has the function at an address, or NULL. */
const char *dw_library_allocator_at(struct dw_sample_natives *natives, uint64_t address);
/* Adds up mappings by who made them. Gives how many there are. */
uint32_t dw_library_uses_find(struct dw_sample_natives *natives, const struct dw_mapping *mappings,
                              uint32_t count, struct dw_library_use uses[DW_LIBRARIES]);

#endif
