/* SPDX-License-Identifier: MIT
 * A list without order: there are few, and they come and go seldom. */
#include "probe/memory/mappings.h"

#include "base/grow.h"
#include "probe/memory/alloc_sites.h"
#include "probe/memory/resident_bytes.h"

static struct mapping {
    uintptr_t start, end;
    uint32_t site;
} * mappings;
static uint32_t mapping_count, mapping_capacity;

static void add(struct mapping mapping)
{
    if (mapping.start >= mapping.end)
        return;
    if (DW_GROW(mappings, mapping_count, mapping_capacity))
        dw_alloc_unreserve(mapping.site, 0, mapping.end - mapping.start);
    else
        mappings[mapping_count++] = mapping;
}

static uintptr_t larger(uintptr_t a, uintptr_t b)
{
    return a > b ? a : b;
}

static uintptr_t smaller(uintptr_t a, uintptr_t b)
{
    return a < b ? a : b;
}

void dw_mapping_remove(uintptr_t start, uint64_t size)
{
    uintptr_t end = start + ((size + 4095) & ~(uint64_t)4095);
    for (uint32_t i = mapping_count; i-- > 0;) {
        struct mapping whole = mappings[i];
        uintptr_t from = larger(whole.start, start), until = smaller(whole.end, end);
        if (from >= until)
            continue;
        mappings[i] = mappings[--mapping_count];
        bool is_all = from == whole.start && until == whole.end;
        dw_alloc_unreserve(whole.site, is_all ? DW_ALLOC_COUNT : 0, until - from);
        add((struct mapping){whole.start, from, whole.site});
        add((struct mapping){until, whole.end, whole.site});
    }
}

void dw_mapping_put(uintptr_t start, uint64_t size, uint32_t site)
{
    uint64_t whole = (size + 4095) & ~(uint64_t)4095;
    dw_mapping_remove(start, whole);
    if (!site) /* there was no memory for it */
        return;
    dw_alloc_reserve(site, DW_ALLOC_COUNT, whole);
    add((struct mapping){start, start + whole, site});
}

uint64_t dw_mappings_resident(bool are_arenas)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < mapping_count; i++) {
        const struct mapping *mapping = &mappings[i];
        bool is_arena = dw_allocs.sites[mapping->site].kind == DW_ALLOC_ARENA;
        if (is_arena == are_arenas)
            bytes += dw_resident_bytes((void *)mapping->start, mapping->end - mapping->start);
    }
    return bytes;
}

void dw_mappings_release(void)
{
    free(mappings);
    mappings = NULL;
    mapping_count = mapping_capacity = 0;
}
