/* SPDX-License-Identifier: MIT
 * Stacks that a program has registered for its signals. While a handler runs on one, the kernel
 * puts our signal there too, and kills the program if there is no room. A thread with such a stack
 * gets no more signals of ours: dw_timer_step_aside. */
#ifndef DW_PROBE_SAMPLE_STACK_WATCH_H
#define DW_PROBE_SAMPLE_STACK_WATCH_H

#include "probe/sample/sample_slot.h"

#include <ucontext.h>

/* From now on it is noticed when the program registers a stack by calling the C library, before it
 * is in use. Objects of code that are loaded later are added by dw_stack_watch_renew. */
void dw_stack_watch_start(void);
void dw_stack_watch_renew(void);
void dw_stack_watch_stop(void);
/* Looks at the stack of the thread that our signal has met: it may have been registered before, or
 * by a system call of the program's own. [signal-safe] */
void dw_stack_watch_look(struct dw_slot *slot, const ucontext_t *context);

#endif
