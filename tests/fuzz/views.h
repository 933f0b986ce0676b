/* SPDX-License-Identifier: MIT
 * What dwell does with a profile, numbered: each lens, report and comparison is a view. A fuzzer
 * takes an input through one of them, so that it can try many inputs; a replay through all. */
#ifndef DW_TESTS_VIEWS_H
#define DW_TESTS_VIEWS_H

#include "model/profile.h"

uint32_t view_count(void);
/* Aborts when the view fails for a reason that it cannot have. Inputs differ in their salt, which
 * decides about options. */
void view_profile(const struct dw_profile *profile, uint32_t view, uint32_t salt);

#endif
