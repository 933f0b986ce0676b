/* SPDX-License-Identifier: MIT
 * What dwell does with a profile, numbered: each lens, report and comparison is a view. A fuzzer
 * takes an input through one of them, so that it can try many inputs; a replay through all. */
#ifndef DW_TESTS_VIEWS_H
#define DW_TESTS_VIEWS_H

#include "base/out.h"
#include "model/profile.h"

uint32_t view_count(void);
/* Makes what was read ready for views, once. 0 or an error. */
int view_prepare(struct dw_profile *profile);
/* 0 or an error; trouble with the output itself is sticky in `out`. The salt decides about
 * options. */
int view_write(const struct dw_profile *profile, uint32_t view, uint32_t salt, struct dw_out *out);
/* The same for a fuzzer, whose inputs differ in their salt: aborts when the view fails for a reason
 * that it cannot have. */
void view_profile(const struct dw_profile *profile, uint32_t view, uint32_t salt);

#endif
