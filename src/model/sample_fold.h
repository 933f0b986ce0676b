/* SPDX-License-Identifier: MIT
 * From samples to what other lenses know: times of call paths, and times of lines. */
#ifndef DW_MODEL_SAMPLE_FOLD_H
#define DW_MODEL_SAMPLE_FOLD_H

#include "model/profile.h"

/* Adds the samples of all threads to the metrics of their paths (functions, inlined ones
 * included) and to the table of lines. Those without frames get "[no frames]" for one. Once, after
 * everything was read. Paths that have times of entries are left alone: dw_profile_keep comes
 * before. */
int dw_samples_fold(struct dw_profile *profile);

#endif
