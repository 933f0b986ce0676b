/* SPDX-License-Identifier: MIT
 * The stack that runs now as a path in a ledger. With the GIL. */
#ifndef DW_PROBE_GC_GC_STACK_H
#define DW_PROBE_GC_GC_STACK_H

#include "record/ledger.h"

/* Gets every path from the outermost function to the innermost. */
typedef void dw_gc_step(dw_path_id path, void *context);
/* The path of the innermost `limit` functions under a path. `life` is that of the ledger: frames
 * that were found in another life are looked up again. */
int dw_gc_stack_path(struct dw_ledger *ledger, uint64_t life, uint32_t limit, dw_gc_step *step,
                     void *context, dw_path_id *path);

#endif
