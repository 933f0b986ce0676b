/* SPDX-License-Identifier: MIT
 * A block has the numbers of a megabyte of addresses, one for each 16 bytes. Objects that are no
 * multiple of 16 away from the start have blocks of their own. The system gives pages of a block
 * when they are first written to. */
#include "base/address_map.h"

#include "base/map.h"

#include <stdlib.h>
#include <sys/mman.h>

#define STRETCH_BITS 20
#define NUMBERS (1u << (STRETCH_BITS - 4))

static uintptr_t key_of(uintptr_t address)
{
    return ((address >> STRETCH_BITS) << 1 | (address >> 3 & 1)) + 1;
}

static uint32_t *slot_in(uint32_t *numbers, uintptr_t address)
{
    return &numbers[address >> 4 & (NUMBERS - 1)];
}

void dw_address_map_release(struct dw_address_map *map)
{
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->blocks[i].key)
            munmap(map->blocks[i].numbers, NUMBERS * sizeof(uint32_t));
    free(map->blocks);
    *map = (struct dw_address_map){0};
}

static struct dw_address_block *place_of(const struct dw_address_map *map, uintptr_t key)
{
    uint32_t at = (uint32_t)dw_hash_mix(key) & (map->capacity - 1);
    while (map->blocks[at].key && map->blocks[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->blocks[at];
}

static bool grow(struct dw_address_map *map)
{
    struct dw_address_map grown = {.capacity = map->capacity ? map->capacity * 2 : 64};
    grown.blocks = calloc(grown.capacity, sizeof *grown.blocks);
    if (!grown.blocks)
        return false;
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->blocks[i].key)
            *place_of(&grown, map->blocks[i].key) = map->blocks[i];
    free(map->blocks);
    map->blocks = grown.blocks;
    map->capacity = grown.capacity;
    return true;
}

static uint32_t *block_of(struct dw_address_map *map, uintptr_t key)
{
    if (map->count * 2 >= map->capacity && !grow(map))
        return NULL;
    struct dw_address_block *block = place_of(map, key);
    if (block->key)
        return block->numbers;
    void *numbers = mmap(NULL, NUMBERS * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (numbers == MAP_FAILED)
        return NULL;
    *block = (struct dw_address_block){key, numbers};
    map->count++;
    return numbers;
}

uint32_t *dw_address_map_at(struct dw_address_map *map, uintptr_t address)
{
    uintptr_t key = key_of(address);
    if (map->last.key != key) {
        uint32_t *numbers = block_of(map, key);
        if (!numbers)
            return NULL;
        map->last = (struct dw_address_block){key, numbers};
    }
    return slot_in(map->last.numbers, address);
}

uint32_t dw_address_map_find(const struct dw_address_map *map, uintptr_t address)
{
    const struct dw_address_block *block =
        map->capacity ? place_of(map, key_of(address)) : &map->last;
    return block->key ? *slot_in(block->numbers, address) : 0;
}
