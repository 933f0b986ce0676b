/* SPDX-License-Identifier: MIT
 * Where the frames of a thread lie, so that all are copied at once. A thread comes back to where it
 * was, and a function whose frame is not copied is missed each time. So areas stay until there are
 * too many, or until nothing was found in them for long. */
#ifndef DW_ATTACH_SAMPLING_LIVE_AREAS_H
#define DW_ATTACH_SAMPLING_LIVE_AREAS_H

#include "attach/sampling/live_stack.h"

#define DW_LIVE_COPY_BYTES (128u << 10) /* the areas of a thread take at most half of it */
#define DW_LIVE_CFRAME_BYTES 24u

enum dw_live_learnt {
    DW_LEARNT_NEW,    /* frames lay where nothing was copied */
    DW_LEARNT_SAME,   /* all lay in the areas */
    DW_LEARNT_BROKEN, /* the same, but the chain did not hold together */
};

/* Walks from that frame outwards, each by a system call, and adds where they are. The chain is in
 * the reader's spare stack then. */
enum dw_live_learnt dw_live_areas_learn(struct dw_live_reader *reader,
                                        struct dw_live_thread *thread, uint64_t address);
/* For a frame that was not in the copy. If it is right above an area of calls, that area grows;
 * everything else is learnt. */
enum dw_live_learnt dw_live_areas_adapt(struct dw_live_reader *reader,
                                        struct dw_live_thread *thread, uint64_t frame);
/* Adds memory; false when there is too much. */
bool dw_live_areas_add(struct dw_live_thread *thread, uint64_t start, uint64_t size,
                       enum dw_live_kind kind, bool *is_new);
void dw_live_areas_add_stack(const struct dw_py_offsets *offsets, struct dw_live_thread *thread,
                             const struct dw_raw_stack *stack);
/* Forgets an area that is not there any more. */
void dw_live_areas_remove(struct dw_live_thread *thread, uint32_t index);
/* Forgets those that were not needed for long. */
void dw_live_areas_age(struct dw_live_thread *thread);

#endif
