/* SPDX-License-Identifier: MIT */
#include "model/sample.h"

#include "base/grow.h"

const char *dw_sample_state_name(uint32_t state)
{
    static const char *const names[DW_SAMPLE_STATE_MASK + 1] = {
        [DW_SAMPLE_PYTHON] = "python", [DW_SAMPLE_NATIVE] = "native",
        [DW_SAMPLE_KERNEL] = "kernel", [DW_SAMPLE_WAITING] = "waiting",
        [DW_SAMPLE_GIL] = "gil",       [DW_SAMPLE_RUNNING] = "running"};
    return names[state & DW_SAMPLE_STATE_MASK];
}

static uint64_t hash_sample(const struct dw_sample *sample)
{
    return dw_hash_mix((uint64_t)sample->stack << 32 | sample->state);
}

static bool equal(const void *samples, uint32_t id, const void *key)
{
    const struct dw_sample *a = (const struct dw_sample *)samples + id, *b = key;
    return a->stack == b->stack && a->state == b->state;
}

static uint64_t hash_of(const void *samples, uint32_t id)
{
    return hash_sample((const struct dw_sample *)samples + id);
}

void dw_sample_table_release(struct dw_sample_table *table)
{
    free(table->samples);
    dw_map_release(&table->index);
    *table = (struct dw_sample_table){0};
}

struct dw_sample *dw_sample_get(struct dw_sample_table *table, dw_path_id stack, uint32_t state)
{
    struct dw_sample key = {.stack = stack, .state = state};
    uint64_t hash = hash_sample(&key);
    uint32_t found = dw_map_find(&table->index, hash, equal, table->samples, &key);
    if (found != DW_MAP_NONE)
        return &table->samples[found];
    if (DW_GROW(table->samples, table->count, table->capacity))
        return NULL;
    table->samples[table->count] = key;
    if (dw_map_add(&table->index, hash, table->count, hash_of, table->samples))
        return NULL;
    return &table->samples[table->count++];
}
