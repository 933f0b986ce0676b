/* SPDX-License-Identifier: MIT
 * How much of a mapping is in memory. */
#ifndef DW_PROBE_MEMORY_RESIDENT_BYTES_H
#define DW_PROBE_MEMORY_RESIDENT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* The start is that of a page. 0 for what is not mapped. */
static inline uint64_t dw_resident_bytes(void *start, size_t size)
{
    unsigned char pages[4096];
    uint64_t bytes = 0;
    for (size_t at = 0; at < size; at += sizeof pages * 4096) {
        size_t part = size - at < sizeof pages * 4096 ? size - at : sizeof pages * 4096;
        if (mincore((char *)start + at, part, pages))
            return bytes;
        for (size_t i = 0; i < (part + 4095) / 4096; i++)
            bytes += (pages[i] & 1u) * 4096u;
    }
    return bytes;
}

#endif
