/* SPDX-License-Identifier: MIT
 * Samples for speedscope: a profile for each thread, in order of time where that is known. */
#ifndef DW_LENS_EXPORT_SPEEDSCOPE_STACKS_H
#define DW_LENS_EXPORT_SPEEDSCOPE_STACKS_H

#include "base/out.h"
#include "model/profile.h"

/* What follows `"frames":[`, up to the end of the list of profiles. */
int dw_speedscope_put_stacks(struct dw_out *out, const struct dw_profile *profile);

#endif
