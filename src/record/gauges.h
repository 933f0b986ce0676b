/* SPDX-License-Identifier: MIT
 * The probe of gauges: what the process holds and has used, read by the flusher every tenth of a
 * second. It needs no Python, and less than a thousandth of a CPU. */
#ifndef DW_RECORD_GAUGES_H
#define DW_RECORD_GAUGES_H

#include "base/buffer.h"
#include "record/probes.h"

#define DW_GAUGES_INTERVAL_NS 100000000u

struct dw_gauges_options {
    const char *log_file; /* NULL: in memory */
    uint64_t interval_ns;
    bool pss; /* too: the kernel has to look at every page of the process for it */
};

extern struct dw_probe dw_gauges_probe;

/* 0 or an error; DW_ERR_ARGUMENT when they are read already. */
int dw_gauges_start(const struct dw_gauges_options *options);
/* Reads them a last time and closes the log. A recording in memory is appended to `memory`, if that
 * is given. */
int dw_gauges_stop(struct dw_buffer *memory);
bool dw_gauges_are_on(void);
/* For the flusher: reads them if that is due. When it is due again, on the monotonic clock;
 * UINT64_MAX: never. */
uint64_t dw_gauges_work(uint64_t now_ns);

#endif
