/* SPDX-License-Identifier: MIT
 * A gauge over time, of a process or of one of its threads: how much memory it holds, how much CPU
 * time it has used, a counter of the program. All times are on the wall clock, so that series of
 * several processes can be laid on each other. */
#ifndef DW_MODEL_SERIES_H
#define DW_MODEL_SERIES_H

#include "model/measure.h"
#include "model/string_table.h"

struct dw_profile;

struct dw_series_point {
    uint64_t time_ns;
    int64_t value;
};

struct dw_series {
    uint32_t process; /* index into the profile's processes */
    uint32_t thread;  /* 1 + index into its threads; 0: of the process */
    dw_string_id name;
    enum dw_unit unit;
    bool is_total; /* it only grows, as CPU time does: by how much is what counts */
    struct dw_series_point *points; /* in order of time */
    uint32_t count, capacity;
};

/* A gauge as recorders read it and logs have it: its values are multiples of the quantum. */
struct dw_gauge {
    const char *name;
    enum dw_unit unit;
    bool is_total;
    uint64_t quantum;
};
#define DW_GAUGES_MAX 64 /* that are read together */

/* Names of the gauges of a process that recorders write. The peak is the most that RSS has been so
 * far, also between two readings. */
#define DW_SERIES_RSS "rss"
#define DW_SERIES_PEAK "peak_rss"
#define DW_SERIES_PSS "pss"
#define DW_SERIES_CPU "cpu"
#define DW_SERIES_THREADS "threads"

void dw_series_release(struct dw_series *series);
/* Adds a point behind the others. 0, DW_ERR_MEMORY, or DW_ERR_DAMAGED when it is earlier. */
int dw_series_add(struct dw_series *series, uint64_t time_ns, int64_t value);
/* The index of the last point that is not later, or UINT32_MAX when all are. */
uint32_t dw_series_index(const struct dw_series *series, uint64_t time_ns);
/* The gauge of that name of a process, or NULL. */
const struct dw_series *dw_series_find(const struct dw_profile *profile, uint32_t process,
                                       const char *name);
/* The same of all processes at once: an array of them, which the caller has set to NULL. */
void dw_series_find_all(const struct dw_profile *profile, const char *name,
                        const struct dw_series **by_process);
/* Adds an empty series to the profile; NULL when out of memory. */
struct dw_series *dw_series_append(struct dw_profile *profile, const struct dw_series *like);
/* The sum of several at each time at which one of them changes. A gauge counts from its first to
 * its last point, a total from its first point on. The points are the sum's own. 0 or an error. */
int dw_series_sum(const struct dw_series *const *parts, size_t count, struct dw_series *sum);
/* Makes series of the counters in the timeline, one for each thread and counter. Recorders keep
 * counters as events, because each change matters and costs no more than an event; only who shows
 * them over time needs series. After dw_profile_prepare. 0 or an error. */
int dw_series_add_counters(struct dw_profile *profile);

#endif
