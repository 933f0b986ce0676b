/* SPDX-License-Identifier: MIT
 * Collections of garbage in the timeline, when the recorder of regions keeps one in the same file:
 * a slice for the collection inside slices of the functions that set it off, and counters of what
 * was freed. With the GIL. */
#ifndef DW_PROBE_GC_GC_EVENTS_H
#define DW_PROBE_GC_GC_EVENTS_H

#include "record/ledger.h"

/* `life` as in gc_stack.h. */
void dw_gc_events_begin(struct dw_ledger *ledger, uint64_t life, unsigned generation);
void dw_gc_events_end(struct dw_ledger *ledger, uint64_t collected, uint64_t uncollectable);
/* In a forked child: nothing is open, and nothing was counted. */
void dw_gc_events_forget(void);

#endif
