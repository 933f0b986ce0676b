/* SPDX-License-Identifier: MIT
 * Samples in a ledger: sums by thread, path and state, and each of them when a timeline is kept.
 * The sampler in the process and the one that watches another process both feed it; each is used by
 * one thread at a time. Times are nanoseconds of the monotonic clock. */
#ifndef DW_RECORD_SAMPLES_H
#define DW_RECORD_SAMPLES_H

#include "record/ledger.h"

/* `labels` is a set of record/labels.h: what the program was doing. `now_ns` is when the time that
 * the sample stands for ended. */
int dw_samples_add(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                   dw_labels_id labels, uint64_t now_ns, uint64_t weight_ns);
/* The same without a count: time of a sample that stands on two paths and is counted on the other
 * one. */
int dw_samples_add_time(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                        dw_labels_id labels, uint64_t now_ns, uint64_t weight_ns);
bool dw_samples_are_none(struct dw_ledger *ledger);
/* Writes what is new, and how samples are taken. */
dw_collect dw_samples_collect;

#endif
