/* SPDX-License-Identifier: MIT
 * The filter counts how many blocks fall on each of its entries; one that is full stays so. */
#include "probe/memory/block_samples.h"

#include "base/grow.h"
#include "base/pointer_map.h"

#include <string.h>

_Atomic uint8_t dw_block_filter[1u << DW_BLOCK_FILTER_BITS];

static struct dw_pointer_map map;
static struct dw_block *blocks;
static uint32_t block_count, block_capacity;
static uint32_t *free_blocks;
static uint32_t free_count, free_capacity;

static void filter(uintptr_t block, int by)
{
    _Atomic uint8_t *at = &dw_block_filter[dw_block_hash(block)];
    uint8_t count = atomic_load_explicit(at, memory_order_relaxed);
    if (count < UINT8_MAX)
        atomic_store_explicit(at, (uint8_t)(count + by), memory_order_relaxed);
}

static bool find_room(uint32_t *index)
{
    if (free_count) {
        *index = free_blocks[--free_count];
        return true;
    }
    if (DW_GROW(blocks, block_count, block_capacity) ||
        DW_GROW(free_blocks, block_count, free_capacity))
        return false;
    *index = block_count++;
    return true;
}

bool dw_block_put(uintptr_t block, const struct dw_block *what)
{
    uint32_t index;
    if (!find_room(&index))
        return false;
    if (!dw_pointer_map_put(&map, (const void *)block, index)) {
        free_blocks[free_count++] = index;
        return false;
    }
    blocks[index] = *what;
    filter(block, 1);
    return true;
}

bool dw_block_take(uintptr_t block, struct dw_block *what)
{
    uint64_t index;
    if (!dw_pointer_map_take(&map, (const void *)block, &index))
        return false;
    *what = blocks[index];
    free_blocks[free_count++] = (uint32_t)index;
    filter(block, -1);
    return true;
}

void dw_blocks_release(void)
{
    dw_pointer_map_release(&map);
    free(blocks);
    free(free_blocks);
    blocks = NULL;
    free_blocks = NULL;
    block_count = block_capacity = free_count = free_capacity = 0;
    memset((void *)dw_block_filter, 0, sizeof dw_block_filter);
}
