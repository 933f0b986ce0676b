/* SPDX-License-Identifier: MIT
 * Samples in callgrind's format: with objects, files, and costs by line. */
#ifndef DW_LENS_EXPORT_CALLGRIND_STACKS_H
#define DW_LENS_EXPORT_CALLGRIND_STACKS_H

#include "base/out.h"
#include "model/profile.h"

int dw_callgrind_put_stacks(struct dw_out *out, const struct dw_profile *profile);

/* What files of both kinds begin with. */
void dw_callgrind_put_header(struct dw_out *out, const struct dw_profile *profile, bool are_samples,
                             const char *event, uint64_t total);

#endif
