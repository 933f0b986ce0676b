/* SPDX-License-Identifier: MIT
 * Where signals come in. The stack that a signal meets may have no more room than the kernel took
 * for it: one for signals that is small, that of a coroutine, the end of a deep recursion. So the
 * handler has a stack of its own, in its thread's slot. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_ENTRY_H
#define DW_PROBE_SAMPLE_SAMPLE_ENTRY_H

#include "probe/sample/sample_slot.h"

#include <signal.h>

/* Calls dw_handler_run on the stack of the thread's slot, which is not freed before that returns.
 * Does nothing in a thread without a slot. [signal-safe] */
void dw_handler_entry(int signal, siginfo_t *info, void *context);
void dw_handler_run(int signal, siginfo_t *info, void *context, struct dw_slot *slot);

#endif
