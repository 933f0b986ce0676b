/* SPDX-License-Identifier: MIT
 * Who was recorded: the processes and threads of a profile in an order that
 * does not depend on the order of the logs, and a name for each. */
#ifndef DW_LENS_VIEW_ROSTER_H
#define DW_LENS_VIEW_ROSTER_H

#include "base/out.h"
#include "model/profile.h"

/* Indices of all threads, by start of the process, pid, then tid; free() it. */
int dw_roster_threads(const struct dw_profile *profile, uint32_t **threads);
/* Likewise of all processes. */
int dw_roster_processes(const struct dw_profile *profile, uint32_t **processes);
/* For each process the thread that began the recording, or UINT32_MAX; free() it. */
int dw_roster_first_threads(const struct dw_profile *profile, uint32_t **first);

/* "train.py 1234", "@host" behind it when there are several processes, and " rank 3" in MPI jobs.
 */
void dw_roster_put_process(struct dw_out *out, const struct dw_profile *profile, uint32_t process);
/* The same with the host, where it is known, or without. */
void dw_roster_put_program(struct dw_out *out, const struct dw_profile *profile, uint32_t process,
                           bool with_host);
/* Whether the processes ran on several hosts; this looks at all of them. */
bool dw_roster_has_hosts(const struct dw_profile *profile);
/* Properties as a JSON object. */
void dw_roster_put_properties(struct dw_out *out, const struct dw_profile *profile,
                              const struct dw_property *properties, uint32_t count);
/* The thread's name, or "thread 1234". */
void dw_roster_put_thread(struct dw_out *out, const struct dw_profile *profile, uint32_t thread);
/* The same, and of which program when there are several. */
void dw_roster_put_thread_of(struct dw_out *out, const struct dw_profile *profile, uint32_t thread,
                             bool with_host);

/* An idle thread runs, or would run if it had a CPU, for one part in so many of its time at most.
 */
#define DW_IDLE_RUNS 20
/* Whether the thread did next to nothing but wait, as far as its samples tell. */
bool dw_roster_is_idle(const struct dw_profile *profile, uint32_t thread);

/* The earliest start of a process, in wall-clock nanoseconds. */
uint64_t dw_roster_epoch_ns(const struct dw_profile *profile);

#endif
