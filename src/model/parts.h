/* SPDX-License-Identifier: MIT
 * A recording may hold samples and what was entered and left beside them: regions, or calls.
 * Their times are no sum, so what adds up times looks at one or the other. */
#ifndef DW_MODEL_PARTS_H
#define DW_MODEL_PARTS_H

#include "model/profile.h"

enum dw_part {
    DW_PART_BOTH,
    DW_PART_SAMPLES,
    DW_PART_ENTRIES,
};

bool dw_samples_are_in(const struct dw_profile *profile);
/* Before samples are added to paths. A root alone is no entry. */
bool dw_entries_are_in(const struct dw_profile *profile);
bool dw_parts_are_two(const struct dw_profile *profile);
/* Forgets the other part, unless the profile has one only; before samples are added to paths. */
void dw_profile_keep(struct dw_profile *profile, enum dw_part part);

#endif
