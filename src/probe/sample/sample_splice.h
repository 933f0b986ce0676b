/* SPDX-License-Identifier: MIT
 * A thread that is read from outside while it is ready to run shows its Python functions, but no
 * registers to unwind from. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_SPLICE_H
#define DW_PROBE_SAMPLE_SAMPLE_SPLICE_H

#include "probe/sample/sample_places.h"

/* The outermost functions that also were in the thread's last sample keep their place there, with
 * the native frames around them. `tokens` are innermost first; returns how many of them are left,
 * inside of *path. */
uint32_t dw_splice_outer(struct dw_sample_places *places, const struct dw_slot *slot,
                         const uint64_t *tokens, uint32_t count, dw_path_id *path);

#endif
