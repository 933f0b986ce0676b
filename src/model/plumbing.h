/* SPDX-License-Identifier: MIT
 * Stacks as a Python programmer thinks of them: without the functions of the interpreter
 * itself, whose time is then that of the Python function that they work for. */
#ifndef DW_MODEL_PLUMBING_H
#define DW_MODEL_PLUMBING_H

#include "model/profile.h"

/* Takes the native frames of python or libpython out of all stacks, those of libc and its kin that
 * they call, and those between the start of a thread and its first Python function. */
int dw_samples_hide_plumbing(struct dw_profile *profile);

#endif
