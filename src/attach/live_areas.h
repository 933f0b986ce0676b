/* SPDX-License-Identifier: MIT
 * Where the frames of a thread lie, so that all are copied at once. */
#ifndef DW_ATTACH_LIVE_AREAS_H
#define DW_ATTACH_LIVE_AREAS_H

#include "attach/live_stack.h"

#define DW_LIVE_COPY_BYTES (128u << 10) /* the areas of a thread have no more than half of it */

/* Walks from that frame outwards, each by a system call, and adds where they are. The area that
 * grows and shrinks with calls is the first. */
void dw_live_areas_learn(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t address);
/* When the innermost frame was not in the copy: the first area grows with the stack; everything
 * else is learnt anew. */
void dw_live_areas_adapt(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t frame);

#endif
