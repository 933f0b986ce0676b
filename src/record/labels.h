/* SPDX-License-Identifier: MIT
 * Label sets: what the program was doing, beside where it was. A set is a list of keys with
 * values, sorted by key, each key once. Sets are interned for the whole process and never go
 * away, so an id says all about a set, to any thread, at any later time. Id 0 is the empty set.
 *
 * Every function here may be called by any thread, with or without Python. */
#ifndef DW_RECORD_LABELS_H
#define DW_RECORD_LABELS_H

#include "model/label_table.h"

#include <stddef.h>
#include <stdint.h>

#define DW_LABEL_SETS_MAX 65536u        /* sets */
#define DW_LABELS_KEYS_MAX 64u          /* labels of one set */
#define DW_LABELS_BYTES_MAX DW_NAME_MAX /* of a key or a value; the rest is cut off */

/* Whatever is beyond the limits becomes this one set. */
#define DW_LABELS_MORE_KEY "labels"
#define DW_LABELS_MORE_VALUE "(more labels)"

struct dw_label_text {
    struct dw_string key, value;
};

struct dw_labels {
    uint32_t count;
    struct dw_label_text labels[];
};

/* The set that has the labels of `parent` and these; of two with the same key the later one wins.
 * The texts are copied. 0 or DW_ERR_MEMORY. */
int dw_labels_extend(dw_labels_id parent, const struct dw_label_text *labels, size_t count,
                     dw_labels_id *id);

/* How many sets there are: their ids are below. It only grows, and takes no lock. [signal-safe] */
uint32_t dw_labels_count(void);
/* The set of an id below the count. It stays where and what it is. [signal-safe] */
const struct dw_labels *dw_labels_get(dw_labels_id id);

/* For whoever looks after fork: the first before it, the second after it, in the parent and in the
 * child. So no set is half made in the child, which has all sets of its parent. */
void dw_labels_before_fork(void);
void dw_labels_forked(void);

#endif
