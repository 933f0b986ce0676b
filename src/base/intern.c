/* SPDX-License-Identifier: MIT
 * What the map asks of an entry is answered by the bytes that it begins with. Most keys are two
 * numbers of 32 bits or an address, so eight bytes are compared and hashed as one number. */
#include "base/intern.h"

#include <string.h>

struct keyed {
    const uint8_t *entries;
    size_t entry_size, key_size;
};

static uint64_t word_of(const void *key)
{
    uint64_t word;
    memcpy(&word, key, sizeof word);
    return word;
}

static uint64_t hash_key(const void *key, size_t size)
{
    return size == sizeof(uint64_t) ? dw_hash_mix(word_of(key)) : dw_hash_bytes(key, size);
}

static bool equal(const void *context, uint32_t id, const void *key)
{
    const struct keyed *keyed = context;
    const uint8_t *own = keyed->entries + id * keyed->entry_size;
    return keyed->key_size == sizeof(uint64_t) ? word_of(own) == word_of(key)
                                               : !memcmp(own, key, keyed->key_size);
}

uint32_t dw_intern_find(const void *entries, const struct dw_map *index, size_t entry_size,
                        size_t key_size, const void *key)
{
    struct keyed keyed = {entries, entry_size, key_size};
    return dw_map_find(index, hash_key(key, key_size), equal, &keyed, key);
}

int dw_intern(const struct dw_interned *into, const void *entry, uint32_t *id)
{
    size_t size = into->entry_size;
    uint64_t hash = hash_key(entry, into->key_size);
    struct keyed keyed = {*into->entries, size, into->key_size};
    uint32_t found = dw_map_find(into->index, hash, equal, &keyed, entry);
    if (found != DW_MAP_NONE) {
        *id = found;
        return 0;
    }
    int error = *into->count < *into->capacity ? 0 : dw_grow(into->entries, into->capacity, size);
    if (error)
        return error;
    memcpy((uint8_t *)*into->entries + *into->count * size, entry, size);
    error = dw_map_put(into->index, hash, *into->count);
    if (!error)
        *id = (*into->count)++;
    return error;
}
