/* SPDX-License-Identifier: MIT
 * A hash map from pointers to 64-bit values, with removal. Zero-initialised is empty. */
#ifndef DW_BASE_POINTER_MAP_H
#define DW_BASE_POINTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_pointer_map {
    struct dw_pointer_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

void dw_pointer_map_release(struct dw_pointer_map *map);
/* The key must be absent. False when out of memory. */
bool dw_pointer_map_put(struct dw_pointer_map *map, const void *key, uint64_t value);
/* The entries one after the other: start with `at` 0; false at the end. */
bool dw_pointer_map_next(const struct dw_pointer_map *map, size_t *at, const void **key,
                         uint64_t *value);
/* Removes the key and gives its value; false when it is absent. */
bool dw_pointer_map_take(struct dw_pointer_map *map, const void *key, uint64_t *value);

#endif
