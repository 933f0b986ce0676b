/* SPDX-License-Identifier: MIT
 * What the resident memory of this process is made of, now. */
#ifndef DW_PROBE_MEMORY_RESIDENT_PARTS_H
#define DW_PROBE_MEMORY_RESIDENT_PARTS_H

#include "model/resident.h"
#include "probe/sample/sample_natives.h"

#define DW_RESIDENT_MORE 40

struct dw_resident_part {
    char name[128];
    uint64_t bytes;
};

struct dw_resident_parts {
    uint64_t bytes[DW_RESIDENTS];
    struct dw_resident_part more[DW_RESIDENT_MORE]; /* allocators that have names */
    uint32_t more_count;
};

/* A recording begins: what is mapped now is not of its time. With the lock of dw_allocs. */
void dw_resident_begin(void);
/* False when the system does not tell. It takes milliseconds, and the lock of dw_allocs for
 * moments. */
bool dw_resident_find(struct dw_sample_natives *natives, struct dw_resident_parts *parts);

#endif
