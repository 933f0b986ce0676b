/* SPDX-License-Identifier: MIT
 * A call is a pair of place and code in one hash table. Each counts the readings that had it while
 * it was doubtful, which decides how often a sure reading is tried. */
#include "attach/sampling/call_table.h"

#include "base/grow.h"

#define ALWAYS_PROVE 4 /* the first few times that a call is seen */
#define PROVE_EVERY 16 /* after that, in case it is real but short */

struct dw_seen_call {
    uint64_t key;
    uint32_t doubts; /* readings that had it before it was proven */
    bool is_proven;
};

void dw_call_table_release(struct dw_call_table *table)
{
    free(table->calls);
    dw_map_release(&table->index);
    *table = (struct dw_call_table){0};
}

static bool is_call(const void *entries, uint32_t id, const void *key)
{
    return ((const struct dw_seen_call *)entries)[id].key == *(const uint64_t *)key;
}

static uint64_t hash_call(const void *entries, uint32_t id)
{
    return dw_hash_mix(((const struct dw_seen_call *)entries)[id].key);
}

static int find_or_add(struct dw_call_table *table, dw_place_id caller, uint32_t callee,
                       struct dw_seen_call **call)
{
    uint64_t key = (uint64_t)caller << 32 | callee, hash = dw_hash_mix(key);
    uint32_t id = dw_map_find(&table->index, hash, is_call, table->calls, &key);
    int error = 0;
    if (id == DW_MAP_NONE) {
        error = DW_GROW(table->calls, table->count, table->capacity);
        if (error)
            return error;
        id = table->count;
        table->calls[id] = (struct dw_seen_call){.key = key};
        error = dw_map_add(&table->index, hash, id, hash_call, table->calls);
        table->count += !error;
    }
    *call = &table->calls[id];
    return error;
}

int dw_call_table_prove(struct dw_call_table *table, dw_place_id caller, uint32_t callee)
{
    struct dw_seen_call *call;
    int error = find_or_add(table, caller, callee, &call);
    if (!error)
        call->is_proven = true;
    return error;
}

int dw_call_table_check(struct dw_call_table *table, dw_place_id caller, uint32_t callee,
                        bool *is_proven, bool *is_to_prove)
{
    struct dw_seen_call *call;
    int error = find_or_add(table, caller, callee, &call);
    if (error)
        return error;
    *is_proven = call->is_proven;
    if (!call->is_proven)
        call->doubts++;
    *is_to_prove = call->doubts <= ALWAYS_PROVE || call->doubts % PROVE_EVERY == 0;
    return 0;
}
