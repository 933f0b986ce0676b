/* SPDX-License-Identifier: MIT
 * When samples are taken: to sleep until then, and to have a CPU when the time has come. */
#ifndef DW_ATTACH_SAMPLING_PACE_H
#define DW_ATTACH_SAMPLING_PACE_H

#include <stdint.h>

/* Asks the kernel for a CPU as soon as each sleep ends, as far as it lets us. On a machine without
 * a CPU to spare we would else mostly run when some other thread has begun to wait, so that
 * samples would show what the program does at such moments. */
void dw_pace_begin(uint64_t period_ns);
/* Periods too short to sleep are waited for without. */
void dw_pace_wait(uint64_t then_ns, uint64_t period_ns);

#endif
