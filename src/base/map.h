/* SPDX-License-Identifier: MIT
 * A hash index: 64-bit hash to 32-bit id, open addressing. The caller owns the
 * entries and decides equality, so one index serves strings, frames and paths. */
#ifndef DW_BASE_MAP_H
#define DW_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DW_MAP_NONE UINT32_MAX

struct dw_map {
    struct dw_map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

struct dw_map_slot {
    uint32_t tag; /* lower half of the hash */
    uint32_t id;  /* DW_MAP_NONE when free */
};

typedef bool dw_map_equal(const void *entries, uint32_t id, const void *key);

void dw_map_release(struct dw_map *map);
uint32_t dw_map_find(const struct dw_map *map, uint64_t hash, dw_map_equal *equal,
                     const void *entries, const void *key);
/* Adds an id known to be absent. */
int dw_map_put(struct dw_map *map, uint64_t hash, uint32_t id);
/* The same for who can also tell the hash of an id, which is not needed. */
typedef uint64_t dw_map_hash(const void *entries, uint32_t id);
static inline int dw_map_add(struct dw_map *map, uint64_t hash, uint32_t id, dw_map_hash *rehash,
                             const void *entries)
{
    (void)rehash, (void)entries;
    return dw_map_put(map, hash, id);
}

/* Part of every hash below but dw_hash_name's. A program that reads files of strangers chooses it
 * at random before its first map, so that nobody can choose keys that all fall on one slot. */
extern uint64_t dw_hash_seed;
void dw_hash_choose_seed(void);

uint64_t dw_hash_bytes(const void *bytes, size_t size);
/* The same number on every day and machine. */
uint64_t dw_hash_name(const void *bytes, size_t size);
static inline uint64_t dw_hash_scramble(uint64_t value)
{
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    return value ^ (value >> 32);
}
static inline uint64_t dw_hash_mix(uint64_t value)
{
    return dw_hash_scramble(value ^ dw_hash_seed);
}

#endif
