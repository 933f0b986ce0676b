/* SPDX-License-Identifier: MIT
 * A copy of the memory of another process, as far as it was asked for. The process is stopped
 * meanwhile, so all of it is of one moment. */
#ifndef DW_ATTACH_HEAP_OUTSIDE_MEMORY_H
#define DW_ATTACH_HEAP_OUTSIDE_MEMORY_H

#include "attach/target/target.h"
#include "base/address_map.h"

struct dw_outside_block {
    uint8_t *bytes;
    uint32_t pages; /* a bit for each that could be read */
};

/* With `target` filled, else zero, it is empty. */
struct dw_outside_memory {
    const struct dw_target *target;
    struct dw_address_map numbers; /* of blocks, plus 1 */
    struct dw_outside_block *blocks;
    uint32_t count, capacity;
    uint64_t last; /* the stretch that was asked for last, plus 1 */
    const struct dw_outside_block *last_block;
    int error; /* DW_ERR_MEMORY: nothing can be read any more */
};

void dw_outside_memory_release(struct dw_outside_memory *memory);
/* The eight bytes at an address, which is a multiple of 8; false when there are none. */
bool dw_outside_word(struct dw_outside_memory *memory, uint64_t address, uint64_t *word);
/* The same, 0 when there is none. */
uint64_t dw_outside_at(struct dw_outside_memory *memory, uint64_t address);
/* One byte, at any address. */
uint8_t dw_outside_byte(struct dw_outside_memory *memory, uint64_t address);

#endif
