/* SPDX-License-Identifier: MIT
 * What makes the signals of a thread come: a timer of the kernel that counts its CPU time. The
 * one of perf_event_open comes at the rate that is asked for and is silent while the kernel works
 * for the thread, so that no system call is interrupted. Where the system refuses it, a timer of
 * POSIX takes its place: it comes with a tick of the kernel's clock, also in system calls. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_TIMER_H
#define DW_PROBE_SAMPLE_SAMPLE_TIMER_H

#include "probe/sample/sample_slot.h"

/* False when the system gives us none. */
bool dw_timer_start(struct dw_slot *slot, uint64_t period_ns, int signal);
void dw_timer_stop(struct dw_slot *slot);
/* Beside a timer that is silent while the kernel works, one that tells where that was: the handler
 * runs as soon as the system call is over. It comes with the ticks of the kernel's clock, and
 * costs next to nothing. */
void dw_timer_tick(struct dw_slot *slot, int signal);
/* Starts it again if the program has closed it. */
void dw_timer_renew(struct dw_slot *slot, uint64_t period_ns, int signal);
bool dw_timer_is_on(const struct dw_slot *slot);
void dw_timer_use_signal(struct dw_slot *slot, int signal);
/* At each signal: periods change, so that samples do not keep step with a program that does
 * something at the same pace; the first one was shorter anyway. [signal-safe] */
void dw_timer_vary(struct dw_slot *slot);
/* The thread's stack for signals has that size, and no room for ours beside a signal of the
 * program. Ours stop, and the thread's stack is read from outside. [signal-safe] */
void dw_timer_step_aside(struct dw_slot *slot, size_t size);
/* The same as dw_timer_vary when the first signal does not come, which the thread may block. */
void dw_timer_settle(struct dw_slot *slot);
/* Whether the kernel may hold back signals of that period: it allows only so many in each tick of
 * its clock, and fewer when they take long. */
bool dw_timer_may_be_held_back(uint64_t period_ns);
/* The CPU time of a thread that has ended, if the timer knows it; else 0. */
uint64_t dw_timer_end_ns(const struct dw_slot *slot);

/* CPU time of a thread; 0 when it has ended. */
uint64_t dw_thread_cpu_ns(pid_t tid);

#endif
