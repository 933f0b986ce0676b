/* SPDX-License-Identifier: MIT
 * A call is a pair of place and code in one hash table. Each counts the readings that had it while
 * it was doubtful, which decides how often a sure reading is tried. */
#include "attach/sampling/call_table.h"

#include "base/intern.h"

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

static int find_or_add(struct dw_call_table *table, dw_place_id caller, uint32_t callee,
                       struct dw_seen_call **call)
{
    uint32_t id;
    struct dw_seen_call seen = {.key = (uint64_t)caller << 32 | callee};
    int error = DW_INTERN(table->calls, table->count, table->capacity, table->index,
                          sizeof seen.key, &seen, &id);
    if (!error)
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
