/* SPDX-License-Identifier: MIT
 * A list without order: there are few, and they come and go seldom. */
#include "probe/memory/mappings.h"

#include "base/grow.h"
#include "probe/memory/alloc_sites.h"

#include <string.h>

static struct dw_mapping *mappings;
static uint32_t mapping_count, mapping_capacity;

static void add(struct dw_mapping mapping)
{
    if (mapping.start >= mapping.end)
        return;
    if (DW_GROW(mappings, mapping_count, mapping_capacity))
        dw_alloc_unreserve(mapping.of.site, 0, mapping.end - mapping.start);
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

bool dw_mapping_remove(uintptr_t start, uint64_t size)
{
    bool is_file = false;
    uintptr_t end = start + ((size + 4095) & ~(uint64_t)4095);
    for (uint32_t i = mapping_count; i-- > 0;) {
        struct dw_mapping whole = mappings[i];
        uintptr_t from = larger(whole.start, start), until = smaller(whole.end, end);
        if (from >= until)
            continue;
        mappings[i] = mappings[--mapping_count];
        is_file |= whole.of.is_file;
        bool is_all = from == whole.start && until == whole.end;
        dw_alloc_unreserve(whole.of.site, is_all ? DW_ALLOC_COUNT : 0, until - from);
        add((struct dw_mapping){whole.start, from, whole.of});
        add((struct dw_mapping){until, whole.end, whole.of});
    }
    return is_file;
}

void dw_mapping_put(uintptr_t start, uint64_t size, struct dw_mapping_of of)
{
    uint64_t whole = (size + 4095) & ~(uint64_t)4095;
    dw_mapping_remove(start, whole);
    if (!of.site) /* there was no memory for it */
        return;
    dw_alloc_reserve(of.site, DW_ALLOC_COUNT, whole);
    add((struct dw_mapping){start, start + whole, of});
}

void dw_mapping_put_earlier(uintptr_t start, uintptr_t end)
{
    add((struct dw_mapping){start, end, {.is_earlier = true}});
}

struct dw_mapping *dw_mappings_copy(uint32_t *count)
{
    struct dw_mapping *copy = mapping_count ? calloc(mapping_count, sizeof *copy) : NULL;
    *count = copy ? mapping_count : 0;
    if (copy)
        memcpy(copy, mappings, mapping_count * sizeof *copy);
    return copy;
}

void dw_mappings_release(void)
{
    free(mappings);
    mappings = NULL;
    mapping_count = mapping_capacity = 0;
}
