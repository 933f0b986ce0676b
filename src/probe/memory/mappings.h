/* SPDX-License-Identifier: MIT
 * Memory that the program mapped and has not unmapped. The lock of dw_allocs is held. */
#ifndef DW_PROBE_MEMORY_MAPPINGS_H
#define DW_PROBE_MEMORY_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

struct dw_mapping_of {
    const void *caller; /* of mmap; NULL: Python's own allocator */
    uint32_t site;
    bool is_file;
    bool is_earlier; /* it was there when the recording began; nobody is known to need it */
};

struct dw_mapping {
    uintptr_t start, end;
    struct dw_mapping_of of;
};

/* What was there before is unmapped, as the system does it. */
void dw_mapping_put(uintptr_t start, uint64_t size, struct dw_mapping_of of);
/* Memory that was mapped before. Who unmaps it later says so. */
void dw_mapping_put_earlier(uintptr_t start, uintptr_t end);
/* A part of a mapping may go, at either end or in the middle, and one call may unmap several.
 * Whether one of them was a file. */
bool dw_mapping_remove(uintptr_t start, uint64_t size);
/* All of them, on the heap, for who has the time to look at each. NULL: there is none, or no
 * memory. */
struct dw_mapping *dw_mappings_copy(uint32_t *count);
void dw_mappings_release(void);

#endif
