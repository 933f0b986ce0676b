/* SPDX-License-Identifier: MIT
 * Which place calls which code. A thread that ran while it was read may seem to be in a function
 * under one that does not call it. So a call counts only after it was proven: seen in a sure
 * reading, or twice within a moment. */
#ifndef DW_ATTACH_SAMPLING_CALL_TABLE_H
#define DW_ATTACH_SAMPLING_CALL_TABLE_H

#include "base/map.h"
#include "model/place_table.h"

struct dw_call_table {
    struct dw_seen_call *calls; /* owned */
    uint32_t count, capacity;
    struct dw_map index;
};

void dw_call_table_release(struct dw_call_table *table);
int dw_call_table_prove(struct dw_call_table *table, dw_place_id caller, uint32_t callee);
/* Whether the call is proven. If not it is counted, and `is_to_prove` says whether a sure reading
 * is worth its cost: not every time, since most that are not proven at once never will be. */
int dw_call_table_check(struct dw_call_table *table, dw_place_id caller, uint32_t callee,
                        bool *is_proven, bool *is_to_prove);

#endif
