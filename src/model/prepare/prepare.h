/* SPDX-License-Identifier: MIT
 * What everyone does who has read a profile and wants to show it. */
#ifndef DW_MODEL_PREPARE_PREPARE_H
#define DW_MODEL_PREPARE_PREPARE_H

#include "model/profile.h"

/* Makes paths as people read them (shown_paths.h), the tree of functions, and the times of lines
 * that samples stand on. Once, after everything was read; with `internals` the functions of the
 * interpreter itself stay. Events then name paths of functions. */
int dw_profile_prepare(struct dw_profile *profile, bool internals);
/* The same for who shows no lines: without the times of lines, unless lines were watched too. */
int dw_profile_prepare_functions(struct dw_profile *profile, bool internals);

#endif
