/* SPDX-License-Identifier: MIT
 * Where the frames of a thread lie, so that all are copied at once. A thread comes back to where it
 * was, so areas stay until there are too many, or until nothing was found in them for some looks.
 */
#ifndef DW_ATTACH_SAMPLING_LIVE_AREAS_H
#define DW_ATTACH_SAMPLING_LIVE_AREAS_H

#include "attach/sampling/live_stack.h"

#define DW_LIVE_COPY_BYTES (128u << 10) /* the areas of a thread take at most half of it */
#define DW_LIVE_CFRAME_BYTES 24u

/* Walks from that frame outwards, each by a system call, adds where they are, and puts them at the
 * end of the stack. `is_new` becomes true when one lay where nothing was copied. False when the
 * chain did not hold together to its end, or is too deep to be copied. */
bool dw_live_areas_learn(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t address, struct dw_raw_stack *stack, bool *is_new);
/* Adds memory; false when there is too much. */
bool dw_live_areas_add(struct dw_live_thread *thread, uint64_t start, uint64_t size,
                       enum dw_live_kind kind, bool *is_new);
void dw_live_areas_add_stack(const struct dw_py_offsets *offsets, struct dw_live_thread *thread,
                             const struct dw_raw_stack *stack);
/* The areas in which the stack is are needed. */
void dw_live_areas_use(struct dw_live_thread *thread, const struct dw_raw_stack *stack);
/* Forgets an area that is not there any more. */
void dw_live_areas_remove(struct dw_live_thread *thread, uint32_t index);
/* Forgets those that were not needed for some looks. */
void dw_live_areas_age(struct dw_live_thread *thread);

#endif
