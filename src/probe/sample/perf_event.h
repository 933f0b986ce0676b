/* SPDX-License-Identifier: MIT
 * An event of the kernel that sends a thread our signal when it happens. The program does not know
 * its file, and may close it. */
#ifndef DW_PROBE_SAMPLE_PERF_EVENT_H
#define DW_PROBE_SAMPLE_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

struct dw_perf_event {
    int fd; /* -1: none */
    uint64_t id;
};

/* False when the system refuses it. */
bool dw_perf_event_open(struct dw_perf_event *event, struct perf_event_attr *attributes, pid_t tid,
                        int signal);
/* Whether its file is still what it was. */
bool dw_perf_event_is_open(const struct dw_perf_event *event);
void dw_perf_event_close(struct dw_perf_event *event);

#endif
