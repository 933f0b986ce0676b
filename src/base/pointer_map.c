/* SPDX-License-Identifier: MIT
 * Open addressing with deletion by shifting back, so that there are no tombstones. */
#include "base/pointer_map.h"

#include "base/map.h"

#include <stdlib.h>

struct dw_pointer_slot {
    const void *key;
    uint64_t value;
};

void dw_pointer_map_release(struct dw_pointer_map *map)
{
    free(map->slots);
    *map = (struct dw_pointer_map){0};
}

static size_t home(const struct dw_pointer_map *map, const void *key)
{
    return dw_hash_mix((uint64_t)(uintptr_t)key) & (map->capacity - 1);
}

static size_t after(const struct dw_pointer_map *map, size_t at)
{
    return (at + 1) & (map->capacity - 1);
}

static void place(struct dw_pointer_map *map, struct dw_pointer_slot slot)
{
    size_t at = home(map, slot.key);
    while (map->slots[at].key)
        at = after(map, at);
    map->slots[at] = slot;
}

static bool grow(struct dw_pointer_map *map)
{
    struct dw_pointer_map grown = {.capacity = map->capacity ? map->capacity * 2 : 64,
                                   .count = map->count};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key)
            place(&grown, map->slots[i]);
    free(map->slots);
    *map = grown;
    return true;
}

bool dw_pointer_map_put(struct dw_pointer_map *map, const void *key, uint64_t value)
{
    if (map->count * 2 >= map->capacity && !grow(map))
        return false;
    place(map, (struct dw_pointer_slot){key, value});
    map->count++;
    return true;
}

/* Closes the gap at `hole` with whatever was pushed past it. */
static void shift_back(struct dw_pointer_map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t at = after(map, hole); map->slots[at].key; at = after(map, at)) {
        size_t distance = (at - home(map, map->slots[at].key)) & mask;
        if (distance < ((at - hole) & mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole] = (struct dw_pointer_slot){0};
}

bool dw_pointer_map_take(struct dw_pointer_map *map, const void *key, uint64_t *value)
{
    if (!map->count)
        return false;
    for (size_t at = home(map, key); map->slots[at].key; at = after(map, at)) {
        if (map->slots[at].key != key)
            continue;
        *value = map->slots[at].value;
        map->count--;
        shift_back(map, at);
        return true;
    }
    return false;
}

bool dw_pointer_map_next(const struct dw_pointer_map *map, size_t *at, const void **key,
                         uint64_t *value)
{
    while (*at < map->capacity && !map->slots[*at].key)
        ++*at;
    if (*at >= map->capacity)
        return false;
    *key = map->slots[*at].key;
    *value = map->slots[*at].value;
    ++*at;
    return true;
}
