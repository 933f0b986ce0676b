/* SPDX-License-Identifier: MIT
 * For where unwind information ends: in assembler, in code that was made at run time, after a call
 * to a bad address. Looks for the return address on the stack. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_UNWIND_GUESS_H
#define DW_NATIVE_UNWIND_UNWIND_GUESS_H

#include "native/unwind/unwind_step.h"

/* Moves to the likely caller; false when nothing on the stack looks like one. */
bool dw_unwind_guess(struct dw_unwind_walk *walk, struct dw_unwind_at *at, enum dw_unwind_how *how);

#endif
