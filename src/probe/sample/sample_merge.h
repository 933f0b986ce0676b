/* SPDX-License-Identifier: MIT
 * Python functions and native frames as one stack. The frame of a call of the interpreter's loop
 * gives way to the Python functions that the call runs: it is the one whose part of the C stack
 * has the boundary, so no symbols are needed to know it. [signal-safe] */
#ifndef DW_PROBE_SAMPLE_SAMPLE_MERGE_H
#define DW_PROBE_SAMPLE_SAMPLE_MERGE_H

#include "probe/sample/sample_slot.h"

struct dw_merge {
    const struct dw_native_frame *native; /* innermost first, as all of these are */
    uint32_t native_count;
    const uint64_t *python; /* tokens */
    const struct dw_segment *segments;
    uint32_t segment_count;
    bool collects; /* garbage is collected inside of the innermost Python function */
    uint64_t *tokens;
    uint32_t count, capacity;
    bool is_cut;     /* there was no room for all */
    bool is_guessed; /* native frames were guessed */
};

void dw_merge_put(struct dw_merge *merge, uint64_t token);
/* An unknown stack becomes a mark that says so. */
void dw_merge_run(struct dw_merge *merge);

#endif
