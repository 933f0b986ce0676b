/* SPDX-License-Identifier: MIT
 * Paths as people read them: inlined functions are steps of their own, and the functions of the
 * interpreter itself are left out, so that their time is that of the Python function that they
 * work for. */
#ifndef DW_MODEL_PREPARE_SHOWN_PATHS_H
#define DW_MODEL_PREPARE_SHOWN_PATHS_H

#include "model/profile.h"

/* Builds the tree of paths anew, and moves rows, single samples and events to it. With `internals`
 * nothing is left out. Samples without frames get "[no frames]" for one: their time is part of the
 * whole, and most formats have no place for what is in no function. */
int dw_profile_show_paths(struct dw_profile *profile, bool internals);

#endif
