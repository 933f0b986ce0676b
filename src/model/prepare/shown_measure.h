/* SPDX-License-Identifier: MIT
 * One measure of stacks, as bytes at the peak, in place of samples: whatever shows samples that
 * stand for no known time shows it. */
#ifndef DW_MODEL_PREPARE_SHOWN_MEASURE_H
#define DW_MODEL_PREPARE_SHOWN_MEASURE_H

#include "model/profile.h"

/* Before the profile is prepared. Rows without the measure are left out; those with it keep what
 * else they have. 0 or an error. */
int dw_profile_show_measure(struct dw_profile *profile, enum dw_measure measure);

#endif
