/* SPDX-License-Identifier: MIT
 * What was alive at earlier moments. A log has each change of what rises and falls, and a clock
 * behind those that came together: these are the moments of a process. */
#ifndef DW_MODEL_MOMENTS_H
#define DW_MODEL_MOMENTS_H

#include "model/profile.h"

/* The measures whose changes are kept. Where the resident memory is, recorders look up too rarely.
 */
#define DW_ALIVE_MASK (DW_MASK(DW_LIVE) | DW_MASK(DW_LIVE_BYTES) | DW_MASK(DW_RESERVED_BYTES))

/* Keeps what the row, which tells what is alive, is about to be changed to; 0 or DW_ERR_MEMORY.
 * `before` has what it was by measure, `numbers` are those of the mask. */
int dw_moments_note_row(struct dw_profile *profile, struct dw_thread *thread, uint32_t row,
                        dw_measure_mask mask, const uint64_t *before, const uint64_t *numbers);
/* All changes of the process since the one before were up to now. A clock that others wrote,
 * without rows of what is alive, is no moment. 0 or DW_ERR_MEMORY. */
int dw_moments_note_clock(struct dw_process *process, const struct dw_clock_pair *clock);

/* The time from which moments are counted, as plots do: the first reading of a gauge, or the begin
 * of the recording. */
uint64_t dw_moments_start_ns(const struct dw_profile *profile);
/* The profile becomes one of what was alive then, and of nothing else: at the last moment that is
 * not later, which profile->moment_ns tells. DW_ERR_NO_SAMPLES when there is none. */
int dw_profile_go_to(struct dw_profile *profile, uint64_t since_start_ns);

#endif
