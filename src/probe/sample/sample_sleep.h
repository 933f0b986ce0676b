/* SPDX-License-Identifier: MIT
 * Time in which a thread takes no samples of itself: it waits, or the kernel works for it. The
 * sampler's thread reads its stack without touching it, so that no system call is interrupted. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_SLEEP_H
#define DW_PROBE_SAMPLE_SAMPLE_SLEEP_H

#include "probe/sample/sample_reader.h"

/* Wall mode: accounts for the time since the last look that the thread did not run. True when it
 * both ran and waited, so that looks should follow soon. */
bool dw_sleep_look(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns);
/* The thread is gone, or the recording ends. */
void dw_sleep_finish(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns);
/* Accounts for CPU time in which the thread's timer was silent. */
void dw_sleep_look_at_kernel(struct dw_sample_reader *reader, struct dw_slot *slot, int signal,
                             uint64_t now_ns);
/* Without timers: false when the thread runs, so that a signal would interrupt nothing. Else the
 * CPU time that nobody has accounted for goes to where it waits. */
bool dw_sleep_account(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t cpu_ns,
                      uint64_t now_ns);
/* Tells where the time in the kernel was spent that the slot has in `owed_ns`: where ticks met the
 * thread in a system call, as much as they say. What is left after a while, or at the `end`, is
 * there too if they explain most of it, else where the sample after it was: that is mostly memory
 * that the program touched. */
void dw_sleep_pay_kernel(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                         bool end);

#endif
