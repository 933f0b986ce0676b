/* SPDX-License-Identifier: MIT
 * All that is read of a thread, copied by one system call. */
#ifndef DW_ATTACH_SAMPLING_LIVE_COPY_H
#define DW_ATTACH_SAMPLING_LIVE_COPY_H

#include "attach/sampling/live_areas.h"

#define DW_LIVE_THREAD_BYTES 8192u /* dw_py_offsets_init allows no larger ones */
#define DW_LIVE_GIL_BYTES 24u

/* In the order in which it was read; the areas are in the reader's `copies`. */
struct dw_live_copy {
    uint64_t asked_cframe; /* 3.11 and 3.12: the one that was expected to be the innermost */
    uint8_t thread[DW_LIVE_THREAD_BYTES];
    uint64_t frame; /* of that cframe */
    struct {
        uint64_t frame, thread_frame; /* after the copy of the areas */
    } rounds[DW_LIVE_ROUNDS];
    uint8_t gil[DW_LIVE_GIL_BYTES];
};

static inline uint32_t dw_live_gil_start(const struct dw_py_offsets *offsets)
{
    return offsets->gil_locked < offsets->gil_holder ? offsets->gil_locked : offsets->gil_holder;
}

/* With `again`, of a single round, the frames of calls are copied once more right before, as the
 * next round. Areas that are gone are forgotten, and left out. False when what is left cannot be
 * read. */
bool dw_live_copy_take(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                       uint32_t rounds, bool again, struct dw_live_copy *copy,
                       struct dw_live_look *found);
/* The bytes of that memory; NULL when they were not copied. */
const uint8_t *dw_live_copy_find(const struct dw_live_reader *reader,
                                 const struct dw_live_thread *thread, uint32_t round,
                                 uint64_t address, size_t size);
/* Where the copy of an area is. */
const uint8_t *dw_live_copy_area(const struct dw_live_reader *reader,
                                 const struct dw_live_thread *thread,
                                 const struct dw_live_area *area);
/* The innermost frame a little before and after the copy of the areas; false when that was not
 * copied. */
bool dw_live_copy_before(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         const struct dw_live_copy *copy, uint64_t *frame);
bool dw_live_copy_after(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                        const struct dw_live_copy *copy, uint32_t round, uint64_t *frame);
/* The frame or cframe in the thread's state. */
uint64_t dw_live_copy_thread_frame(const struct dw_live_reader *reader,
                                   const struct dw_live_copy *copy);
/* Whether the state is still that thread's. */
bool dw_live_copy_is_of(const struct dw_live_reader *reader, const struct dw_live_thread *thread,
                        const struct dw_live_copy *copy);
uint64_t dw_live_copy_gil_holder(const struct dw_live_reader *reader,
                                 const struct dw_live_copy *copy);

#endif
