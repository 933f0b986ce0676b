/* SPDX-License-Identifier: MIT
 * Interned sets of labels: what the program was doing, beside where it was. A set has pairs of key
 * and value, and for samples the state that the thread was in. Id 0 is the empty set. */
#ifndef DW_MODEL_LABEL_TABLE_H
#define DW_MODEL_LABEL_TABLE_H

#include "model/string_table.h"

typedef uint32_t dw_labels_id;

#define DW_LABELS_NONE 0u
#define DW_LABELS_MAX 64 /* pairs in one set */

struct dw_label {
    dw_string_id key;
    dw_string_id value;
};

struct dw_label_set {
    uint32_t state; /* 1 + that of model/sample.h, GIL bit included; 0: not of samples */
    uint32_t first; /* index into the table's pairs */
    uint32_t count; /* pairs, in order of key */
};

struct dw_label_table {
    struct dw_label_set *sets;
    uint32_t count, capacity;
    struct dw_label *pairs;
    uint32_t pair_count, pair_capacity;
    struct dw_map index;
};

int dw_label_table_init(struct dw_label_table *table);
void dw_label_table_release(struct dw_label_table *table);
/* The pairs may come in any order; of two with one key the later counts. */
int dw_labels_intern(struct dw_label_table *table, uint32_t state, const struct dw_label *pairs,
                     uint32_t count, dw_labels_id *id);
/* The value of a key in a set, 0 when it has none. */
dw_string_id dw_labels_value(const struct dw_label_table *table, dw_labels_id set,
                             dw_string_id key);

#endif
