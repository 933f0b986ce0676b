/* SPDX-License-Identifier: MIT
 * Open addressing with linear probing, at most three quarters full. A slot has the id and half of
 * the hash, which says where it is in a map of any size; keys stay with the caller, who compares
 * them. */
#include "base/map.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

uint64_t dw_hash_seed;

void dw_map_release(struct dw_map *map)
{
    free(map->slots);
    *map = (struct dw_map){0};
}

uint32_t dw_map_find(const struct dw_map *map, uint64_t hash, dw_map_equal *equal,
                     const void *entries, const void *key)
{
    if (!map->capacity)
        return DW_MAP_NONE;
    size_t mask = map->capacity - 1;
    uint32_t tag = (uint32_t)hash;
    for (size_t at = tag & mask;; at = (at + 1) & mask) {
        const struct dw_map_slot *slot = &map->slots[at];
        if (slot->id == DW_MAP_NONE)
            return DW_MAP_NONE;
        if (slot->tag == tag && equal(entries, slot->id, key))
            return slot->id;
    }
}

static void place(struct dw_map *map, struct dw_map_slot slot)
{
    size_t mask = map->capacity - 1;
    size_t at = slot.tag & mask;
    while (map->slots[at].id != DW_MAP_NONE)
        at = (at + 1) & mask;
    map->slots[at] = slot;
}

static int grow(struct dw_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : 16;
    struct dw_map_slot *slots = malloc(capacity * sizeof *slots);
    if (!slots)
        return DW_ERR_MEMORY;
    memset(slots, 0xff, capacity * sizeof *slots);
    struct dw_map grown = {slots, capacity, map->count};
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].id != DW_MAP_NONE)
            place(&grown, map->slots[i]);
    free(map->slots);
    *map = grown;
    return 0;
}

int dw_map_put(struct dw_map *map, uint64_t hash, uint32_t id)
{
    if (map->count * 4 >= map->capacity * 3) {
        int error = grow(map);
        if (error)
            return error;
    }
    place(map, (struct dw_map_slot){(uint32_t)hash, id});
    map->count++;
    return 0;
}

void dw_hash_choose_seed(void)
{
    if (getrandom(&dw_hash_seed, sizeof dw_hash_seed, GRND_NONBLOCK) != sizeof dw_hash_seed)
        dw_hash_seed = (uint64_t)(uintptr_t)&dw_hash_seed;
}

static uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size ^ seed;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = dw_hash_scramble(hash ^ word);
    }
    uint64_t tail = 0;
    if (size)
        memcpy(&tail, at, size);
    return dw_hash_scramble(hash ^ tail);
}

uint64_t dw_hash_bytes(const void *bytes, size_t size)
{
    return hash_bytes(dw_hash_seed, bytes, size);
}

uint64_t dw_hash_name(const void *bytes, size_t size)
{
    return hash_bytes(0, bytes, size);
}
