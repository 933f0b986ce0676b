/* SPDX-License-Identifier: MIT
 * When memory was highest, and where threads were then. */
#ifndef DW_LENS_TABLE_MEMORY_PEAK_H
#define DW_LENS_TABLE_MEMORY_PEAK_H

#include "base/out.h"
#include "model/profile.h"

/* " at 1.60 s", when there is one process and the time is known. */
void dw_memory_put_peak_time(struct dw_out *out, const struct dw_profile *profile);
/* The stack of each thread; nothing when none is known. `by`: what a stack is that of. */
void dw_memory_put_peak_stacks(struct dw_out *out, const struct dw_profile *profile,
                               const char *by);

#endif
