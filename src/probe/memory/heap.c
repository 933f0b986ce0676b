/* SPDX-License-Identifier: MIT
 * The peak is found without looking at all sites whenever there is a new one: when the first byte
 * is given back after it, a new epoch begins, and a site that changes in an epoch for the first
 * time notes what it had before. Sites that did not change have it still. */
#define _GNU_SOURCE
#include "probe/memory/heap.h"

#include "base/clock.h"
#include "base/grow.h"
#include "probe/sample/sample_slot.h"

#include <string.h>

#define PATIENCE_NS 200000000u
#define CODES_COMMON (1u << 14)
#define CODES_RARE (1u << 17)

struct dw_heap dw_heap = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct dw_number_set dw_heap_codes = {.common = CODES_COMMON, .rare = CODES_RARE};

bool dw_heap_lock(void)
{
    uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    return !pthread_mutex_clocklock(&dw_heap.lock, CLOCK_MONOTONIC, &until);
}

static void free_codes(void)
{
    struct dw_heap_code *next;
    for (struct dw_heap_code *code = dw_heap.codes; code; code = next) {
        next = code->next;
        free(code);
    }
    dw_heap.codes = NULL;
}

void dw_heap_end(void)
{
    free_codes();
    free(dw_heap.steps);
    free(dw_heap.sites);
    free(dw_heap.threads);
    dw_map_release(&dw_heap.step_index);
    dw_map_release(&dw_heap.site_index);
    size_t first = offsetof(struct dw_heap, steps);
    memset((char *)&dw_heap + first, 0, sizeof dw_heap - first);
}

int dw_heap_init(void)
{
    dw_heap_end();
    int error = dw_numbers_reset(&dw_heap_codes);
    if (!error)
        error = DW_GROW(dw_heap.steps, 0, dw_heap.step_capacity);
    if (!error)
        error = DW_GROW(dw_heap.sites, 0, dw_heap.site_capacity);
    if (error)
        return error;
    dw_heap.steps[0] = (struct dw_heap_step){0};
    dw_heap.sites[0] = (struct dw_heap_site){0};
    dw_heap.step_count = dw_heap.site_count = 1;
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
    const struct dw_heap_step *step = (const struct dw_heap_step *)steps + id;
    return hash_step(step->parent, step->token);
}

static bool equal_step(const void *steps, uint32_t id, const void *key)
{
    const struct dw_heap_step *step = (const struct dw_heap_step *)steps + id;
    const struct step_key *wanted = key;
    return step->token == wanted->token && step->parent == wanted->parent;
}

uint32_t dw_heap_step(uint32_t parent, uint64_t token)
{
    struct step_key key = {token, parent};
    uint64_t hash = hash_step(parent, token);
    uint32_t found = dw_map_find(&dw_heap.step_index, hash, equal_step, dw_heap.steps, &key);
    if (found != DW_MAP_NONE)
        return found;
    if (DW_GROW(dw_heap.steps, dw_heap.step_count, dw_heap.step_capacity))
        return 0;
    dw_heap.steps[dw_heap.step_count] = (struct dw_heap_step){.token = token, .parent = parent};
    if (dw_map_add(&dw_heap.step_index, hash, dw_heap.step_count, hash_of_step, dw_heap.steps))
        return 0;
    return dw_heap.step_count++;
}

static uint64_t hash_site(const struct dw_heap_site_key *key)
{
    return dw_hash_bytes(key, sizeof *key);
}

static uint64_t hash_of_site(const void *sites, uint32_t id)
{
    return hash_site(&((const struct dw_heap_site *)sites)[id].key);
}

static bool equal_site(const void *sites, uint32_t id, const void *key)
{
    return !memcmp(&((const struct dw_heap_site *)sites)[id].key, key,
                   sizeof(struct dw_heap_site_key));
}

uint32_t dw_heap_site(const struct dw_heap_site_key *key)
{
    uint64_t hash = hash_site(key);
    uint32_t found = dw_map_find(&dw_heap.site_index, hash, equal_site, dw_heap.sites, key);
    if (found != DW_MAP_NONE)
        return found;
    if (key->thread >= dw_heap.thread_count) /* of a recording that is over */
        return 0;
    if (DW_GROW(dw_heap.sites, dw_heap.site_count, dw_heap.site_capacity))
        return 0;
    dw_heap.sites[dw_heap.site_count] = (struct dw_heap_site){.key = *key};
    if (dw_map_add(&dw_heap.site_index, hash, dw_heap.site_count, hash_of_site, dw_heap.sites))
        return 0;
    return dw_heap.site_count++;
}

static void note_peak(struct dw_heap_site *site)
{
    if (dw_heap.is_at_peak || site->epoch == dw_heap.epoch)
        return;
    site->epoch = dw_heap.epoch;
    site->now[DW_HEAP_PEAK_BYTES] = site->now[DW_HEAP_LIVE_BYTES];
}

uint64_t dw_heap_peak(const struct dw_heap_site *site)
{
    bool is_noted = !dw_heap.is_at_peak && site->epoch == dw_heap.epoch;
    return site->now[is_noted ? DW_HEAP_PEAK_BYTES : DW_HEAP_LIVE_BYTES];
}

/* What is reserved is in nobody's peak. */
static bool is_reserved(const struct dw_heap_site *site)
{
    return site->key.kind >= DW_HEAP_MMAP;
}

void dw_heap_add(uint32_t index, uint64_t count, uint64_t bytes)
{
    struct dw_heap_site *site = &dw_heap.sites[index];
    if (index >= dw_heap.site_count) /* of a recording that is over */
        return;
    note_peak(site);
    site->now[DW_HEAP_ALLOCATIONS] += count;
    site->now[DW_HEAP_BYTES] += bytes;
    site->now[DW_HEAP_LIVE] += count;
    site->now[DW_HEAP_LIVE_BYTES] += bytes;
    dw_heap.threads[site->key.thread].live += count;
    dw_heap.live_of[site->key.kind] += bytes;
    if (is_reserved(site))
        return;
    dw_heap.live_bytes += bytes;
    if (dw_heap.live_bytes > dw_heap.peak_bytes) {
        dw_heap.peak_bytes = dw_heap.live_bytes;
        dw_heap.is_at_peak = true;
    }
}

void dw_heap_remove(uint32_t index, uint64_t count, uint64_t bytes, bool is_temporary)
{
    struct dw_heap_site *site = &dw_heap.sites[index];
    if (index >= dw_heap.site_count)
        return;
    if (dw_heap.is_at_peak && !is_reserved(site)) {
        dw_heap.is_at_peak = false;
        dw_heap.epoch++;
    }
    note_peak(site);
    site->now[DW_HEAP_LIVE] -= count;
    site->now[DW_HEAP_LIVE_BYTES] -= bytes;
    site->now[DW_HEAP_TEMPORARY] += is_temporary ? count : 0;
    dw_heap.threads[site->key.thread].live -= count;
    dw_heap.live_of[site->key.kind] -= bytes;
    if (!is_reserved(site))
        dw_heap.live_bytes -= bytes;
}

static bool describe(const PyCodeObject *code, uint32_t number)
{
    size_t size = dw_code_record_size(code, true);
    struct dw_heap_code *described = malloc(offsetof(struct dw_heap_code, record) + size);
    if (!described)
        return false;
    dw_code_describe(code, number, true, &described->record);
    described->next = dw_heap.codes;
    dw_heap.codes = described;
    dw_numbers_set_known(&dw_heap_codes, number);
    return true;
}

uint64_t dw_heap_code_token(const PyCodeObject *code, int32_t unit)
{
    uint32_t number = dw_code_number(&dw_heap_codes, code);
    if (!number || (!dw_numbers_is_known(&dw_heap_codes, number) && !describe(code, number)))
        return DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_UNKNOWN);
    return DW_TOKEN(DW_TOKEN_PYTHON, (uint64_t)number << 32 | (uint32_t)(unit + 1));
}
