/* SPDX-License-Identifier: MIT
 * Arrays whose entries begin with their key, and have each key once. A key has no padding. */
#ifndef DW_BASE_INTERN_H
#define DW_BASE_INTERN_H

#include "base/grow.h"
#include "base/map.h"

struct dw_interned {
    void **entries;
    uint32_t *count, *capacity;
    struct dw_map *index;
    size_t entry_size, key_size;
};

/* The id of the entry that has the key of `entry`, which is copied when there is none. */
int dw_intern(const struct dw_interned *into, const void *entry, uint32_t *id);
#define DW_INTERN(array, count, capacity, index, key_size, entry, id)                              \
    dw_intern(&(struct dw_interned){(void **)&(array), &(count), &(capacity), &(index),            \
                                    sizeof *(array), key_size},                                    \
              entry, id)

/* The id of the entry that has the key, or DW_MAP_NONE. */
uint32_t dw_intern_find(const void *entries, const struct dw_map *index, size_t entry_size,
                        size_t key_size, const void *key);
#define DW_INTERN_FIND(array, index, key_size, key)                                                \
    dw_intern_find(array, &(index), sizeof *(array), key_size, key)

#endif
