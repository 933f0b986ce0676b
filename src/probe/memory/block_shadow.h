/* SPDX-License-Identifier: MIT
 * Which site each block in memory is of, and its size: a radix tree by address with four bytes for
 * each sixteen of memory, so a quarter of what is watched, and only where blocks are. It takes no
 * lock: a block belongs to whoever allocated it, from then on until it is free. */
#ifndef DW_PROBE_MEMORY_BLOCK_SHADOW_H
#define DW_PROBE_MEMORY_BLOCK_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#define DW_SHADOW_SITES (1u << 27)

/* The block is at least as large as `size`, and its address a multiple of 16. False: there is no
 * memory, or the address is beyond what can be. */
bool dw_shadow_put(uintptr_t block, uint32_t site, uint64_t size);
/* Removes it; false for one that is not known. */
bool dw_shadow_take(uintptr_t block, uint32_t *site, uint64_t *size);
/* Forgets all blocks. The memory stays, since a thread may be about to use it. */
void dw_shadow_clear(void);
/* Bytes of memory that it has in use. */
uint64_t dw_shadow_resident(void);

#endif
