/* SPDX-License-Identifier: MIT
 * Steps and sites are found by hash when they are new to a thread; what changes with each block is
 * in the header. */
#include "probe/memory/alloc_sites.h"

#include "base/grow.h"
#include "probe/sample/sample_slot.h"

#include <string.h>

#define CODES_COMMON (1u << 14)
#define CODES_RARE (1u << 17)

struct dw_allocs dw_allocs;
struct dw_number_set dw_alloc_codes = {.common = CODES_COMMON, .rare = CODES_RARE};

static void free_codes(void)
{
    struct dw_alloc_code *next;
    for (struct dw_alloc_code *code = dw_allocs.codes; code; code = next) {
        next = code->next;
        free(code);
    }
    dw_allocs.codes = NULL;
}

void dw_alloc_end(void)
{
    free_codes();
    free(dw_allocs.steps);
    free(dw_allocs.sites);
    free(dw_allocs.records);
    free(dw_allocs.threads);
    dw_map_release(&dw_allocs.step_index);
    dw_map_release(&dw_allocs.site_index);
    dw_allocs = (struct dw_allocs){0};
}

static int grow_sites(void)
{
    int error = DW_GROW(dw_allocs.sites, dw_allocs.site_count, dw_allocs.site_capacity);
    return error ? error
                 : DW_GROW(dw_allocs.records, dw_allocs.site_count, dw_allocs.record_capacity);
}

int dw_alloc_init(void)
{
    dw_alloc_end();
    int error = dw_numbers_reset(&dw_alloc_codes);
    if (!error)
        error = DW_GROW(dw_allocs.steps, 0, dw_allocs.step_capacity);
    if (!error)
        error = grow_sites();
    if (error)
        return error;
    dw_allocs.steps[0] = (struct dw_alloc_step){0};
    dw_allocs.sites[0] = (struct dw_alloc_site){0};
    dw_allocs.records[0] = (struct dw_alloc_site_record){0};
    dw_allocs.step_count = dw_allocs.site_count = 1;
    return 0;
}

struct step_key {
    uint64_t token;
    uint32_t parent;
};

static uint64_t hash_step(uint32_t parent, uint64_t token)
{
    return dw_hash_mix(token + dw_hash_mix(parent));
}

static uint64_t hash_of_step(const void *steps, uint32_t id)
{
    const struct dw_alloc_step *step = (const struct dw_alloc_step *)steps + id;
    return hash_step(step->parent, step->token);
}

static bool equal_step(const void *steps, uint32_t id, const void *key)
{
    const struct dw_alloc_step *step = (const struct dw_alloc_step *)steps + id;
    const struct step_key *wanted = key;
    return step->token == wanted->token && step->parent == wanted->parent;
}

uint32_t dw_alloc_step(uint32_t parent, uint64_t token)
{
    struct step_key key = {token, parent};
    uint64_t hash = hash_step(parent, token);
    uint32_t found = dw_map_find(&dw_allocs.step_index, hash, equal_step, dw_allocs.steps, &key);
    if (found != DW_MAP_NONE)
        return found;
    if (DW_GROW(dw_allocs.steps, dw_allocs.step_count, dw_allocs.step_capacity))
        return 0;
    dw_allocs.steps[dw_allocs.step_count] =
        (struct dw_alloc_step){.token = token, .parent = parent};
    if (dw_map_add(&dw_allocs.step_index, hash, dw_allocs.step_count, hash_of_step,
                   dw_allocs.steps))
        return 0;
    return dw_allocs.step_count++;
}

static uint64_t hash_site(const struct dw_alloc_site_key *key)
{
    return dw_hash_bytes(key, sizeof *key);
}

static uint64_t hash_of_site(const void *records, uint32_t id)
{
    return hash_site(&((const struct dw_alloc_site_record *)records)[id].key);
}

static bool equal_site(const void *records, uint32_t id, const void *key)
{
    return !memcmp(&((const struct dw_alloc_site_record *)records)[id].key, key,
                   sizeof(struct dw_alloc_site_key));
}

uint32_t dw_alloc_site(const struct dw_alloc_site_key *key)
{
    uint64_t hash = hash_site(key);
    uint32_t found = dw_map_find(&dw_allocs.site_index, hash, equal_site, dw_allocs.records, key);
    if (found != DW_MAP_NONE)
        return found;
    if (key->thread >= dw_allocs.thread_count) /* of a recording that is over */
        return 0;
    if (grow_sites())
        return 0;
    dw_allocs.sites[dw_allocs.site_count] = (struct dw_alloc_site){.kind = key->kind};
    dw_allocs.records[dw_allocs.site_count] = (struct dw_alloc_site_record){.key = *key};
    if (dw_map_add(&dw_allocs.site_index, hash, dw_allocs.site_count, hash_of_site,
                   dw_allocs.records))
        return 0;
    return dw_allocs.site_count++;
}

void dw_alloc_reserve(uint32_t index, uint64_t count, uint64_t bytes)
{
    struct dw_alloc_site *site = &dw_allocs.sites[index];
    if (index >= dw_allocs.site_count)
        return;
    site->allocations += count;
    site->bytes += bytes;
}

void dw_alloc_unreserve(uint32_t index, uint64_t count, uint64_t bytes)
{
    struct dw_alloc_site *site = &dw_allocs.sites[index];
    if (!index || index >= dw_allocs.site_count)
        return;
    site->freed += count;
    site->freed_bytes += bytes;
}

uint64_t dw_alloc_number(const struct dw_alloc_site *site, enum dw_site_number number)
{
    uint64_t live_bytes = site->bytes - site->freed_bytes;
    switch (number) {
    case DW_SITE_ALLOCATIONS: return site->allocations;
    case DW_SITE_BYTES: return site->bytes;
    case DW_SITE_LIVE: return site->allocations - site->freed;
    case DW_SITE_LIVE_BYTES: return live_bytes;
    case DW_SITE_TEMPORARY: return site->temporary;
    default: break;
    }
    bool is_noted = dw_allocs.noting && site->epoch == dw_allocs.noting;
    return is_noted ? site->peak_bytes : live_bytes;
}

void dw_alloc_live_bytes(uint64_t of[DW_ALLOC_KINDS])
{
    memset(of, 0, DW_ALLOC_KINDS * sizeof *of);
    for (uint32_t i = 1; i < dw_allocs.site_count; i++)
        of[dw_allocs.sites[i].kind] += dw_alloc_number(&dw_allocs.sites[i], DW_SITE_LIVE_BYTES);
}

static bool describe(const PyCodeObject *code, uint32_t number)
{
    size_t size = dw_code_record_size(code, true);
    struct dw_alloc_code *described = malloc(offsetof(struct dw_alloc_code, record) + size);
    if (!described)
        return false;
    dw_code_describe(code, number, true, &described->record);
    described->next = dw_allocs.codes;
    dw_allocs.codes = described;
    dw_numbers_set_known(&dw_alloc_codes, number);
    return true;
}

uint64_t dw_alloc_code_token(const PyCodeObject *code, int32_t unit)
{
    uint32_t number = dw_code_number(&dw_alloc_codes, code);
    if (!number || (!dw_numbers_is_known(&dw_alloc_codes, number) && !describe(code, number)))
        return DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_UNKNOWN);
    return DW_TOKEN(DW_TOKEN_PYTHON, (uint64_t)number << 32 | (uint32_t)(unit + 1));
}
