/* SPDX-License-Identifier: MIT
 * A hash table of atomic fingerprints with room for all from the start: handlers claim an entry by
 * a compare-and-swap and never wait. */
#define _GNU_SOURCE
#include "probe/number_set.h"

#include "base/error.h"

#include <stddef.h>
#include <sys/mman.h>

#define PROBES 64

int dw_numbers_reset(struct dw_number_set *set)
{
    size_t size = ((size_t)set->common + set->rare) * sizeof *set->entries;
    if (set->entries)
        return madvise(set->entries, size, MADV_DONTNEED) ? DW_ERR_MEMORY : 0;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return DW_ERR_MEMORY;
    set->entries = memory;
    return 0;
}

/* Searches `count` entries from `first` on; 0 when there is no room. */
static uint32_t find(struct dw_number_set *set, uint64_t fingerprint, uint32_t first,
                     uint32_t count)
{
    for (uint32_t i = 0; count && i < PROBES; i++) {
        uint32_t at = first + (uint32_t)((fingerprint >> 8) + i) % count;
        struct dw_numbered *entry = &set->entries[at];
        uint64_t found = atomic_load_explicit(&entry->fingerprint, memory_order_relaxed);
        if (!found && atomic_compare_exchange_strong(&entry->fingerprint, &found, fingerprint))
            return at + 1;
        if (found == fingerprint)
            return at + 1;
    }
    return 0;
}

uint32_t dw_numbers_find(struct dw_number_set *set, uint64_t fingerprint)
{
    uint32_t number = find(set, fingerprint, 0, set->common);
    return number ? number : find(set, fingerprint, set->common, set->rare);
}

bool dw_numbers_is_known(const struct dw_number_set *set, uint32_t number)
{
    return atomic_load_explicit(&set->entries[number - 1].is_known, memory_order_relaxed);
}

void dw_numbers_set_known(struct dw_number_set *set, uint32_t number)
{
    atomic_store_explicit(&set->entries[number - 1].is_known, 1, memory_order_relaxed);
}
