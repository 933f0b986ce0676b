/* SPDX-License-Identifier: MIT
 * What dwell itself has from malloc, so that it is told apart from what the program has. */
#ifndef DW_PROBE_MEMORY_OWN_BLOCKS_H
#define DW_PROBE_MEMORY_OWN_BLOCKS_H

#include <stdint.h>

/* From now on, in the extension and in libdwell. */
void dw_own_blocks_watch(void);
/* Bytes, as malloc counts them. Tables that grow have room that was never used, so that not all of
 * it is in memory. */
struct dw_own_use {
    uint64_t bytes;
    uint64_t unused;
    uint64_t unused_in_heap; /* and not in mappings of single blocks */
};
struct dw_own_use dw_own_blocks_use(void);

#endif
