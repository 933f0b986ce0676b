/* SPDX-License-Identifier: MIT
 * Which frames of a copy were live at its moment, and whether none is missing. A stack is whole
 * when the chain from the innermost frame, as the thread's state has it, lies in the copy to its
 * end. A frame that runs and has all its callers need not be the innermost: it may be in C code
 * that called others, which lie elsewhere. */
#ifndef DW_ATTACH_SAMPLING_LIVE_CHAIN_H
#define DW_ATTACH_SAMPLING_LIVE_CHAIN_H

#include "attach/sampling/live_copy.h"

enum dw_live_chain {
    DW_CHAIN_WHOLE,
    DW_CHAIN_MENDED, /* it left the copy, and the rest was read a moment later */
    DW_CHAIN_LEAVES, /* to where nothing was copied */
    DW_CHAIN_BROKEN, /* the frames do not form a chain: some are not live any more */
};

/* The chain from that frame outwards, within a copy. The address is that of the frame at which it
 * ended then: 0, or where nothing was copied. */
enum dw_live_chain dw_live_chain_walk(const struct dw_live_reader *reader,
                                      struct dw_live_thread *thread, uint32_t round,
                                      uint64_t *address, struct dw_raw_stack *stack);
/* Drops the frames that have returned already; false when there are none. */
bool dw_live_chain_drop_returned(struct dw_raw_stack *stack);
/* Makes a whole chain, which was the thread's a little before or after the copy, the one at the
 * moment of the copy. */
void dw_live_chain_refine(struct dw_live_reader *reader, struct dw_live_thread *thread,
                          struct dw_raw_stack *stack);
/* The stack at the moment of the copy when no chain is whole in it, but all frames lie in the
 * areas. It has the outermost frame given. */
bool dw_live_chain_find(struct dw_live_reader *reader, struct dw_live_thread *thread,
                        uint64_t outermost, struct dw_raw_stack *stack);

#endif
