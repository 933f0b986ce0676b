/* SPDX-License-Identifier: MIT
 * What can be measured. One table lists every measure: its name, its unit, how values of it add up,
 * and a sentence about it. A row carries the measures that it has, by mask; different measures live
 * side by side in one profile. */
#ifndef DW_MODEL_MEASURE_H
#define DW_MODEL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum dw_unit {
    DW_UNIT_COUNT = 0,
    DW_UNIT_NS = 1,
    DW_UNIT_BYTES = 2,
    DW_UNIT_TICKS = 3, /* in logs only: of the clock of the process; the reader scales them */
    DW_UNITS
};

enum dw_adding {
    DW_ADD_SUM = 0,
    DW_ADD_MAX = 1,
    DW_ADD_MIN = 2, /* of those that are not 0 */
    DW_ADDINGS
};

/* A log names the measures that it uses, so these numbers are free to change. */
enum dw_measure {
    /* Entries of regions, from enter to exit. */
    DW_COUNT,     /* entries that have ended */
    DW_TOTAL,     /* their wall time, and that of those still open */
    DW_SUSPENDED, /* the part of it in which a generator or task slept */
    DW_CHILDREN,  /* active time of entries directly inside, which have ended */
    DW_ENTRY_CPU, /* CPU time of ended entries, when it was asked for */
    DW_MIN,       /* of ended entries */
    DW_MAX,
    DW_OPEN,       /* entries that had not ended when the log was last written */
    DW_OPEN_TOTAL, /* the part of the total that belongs to them */
    /* Exact calls. */
    DW_CALLS,
    DW_CALL_TOTAL,
    DW_CALL_SUSPENDED,
    DW_CALL_CHILDREN,
    /* Samples: how many, and the time that they stand for. */
    DW_SAMPLES,
    DW_CPU,
    DW_WALL,
    DW_PAGE_FAULTS, /* of the thread, since its sample before, as what follows */
    DW_CONTEXT_SWITCHES,
    DW_INVOLUNTARY_SWITCHES,
    /* Lines that are watched. A line is a place under the root, what it calls a place under it. */
    DW_HITS,          /* times that the line began */
    DW_HIT_TIME,      /* while it was its function's innermost line: these add up to the function's
                         time, in recursion too */
    DW_HIT_SELF,      /* in none of the callees that were measured */
    DW_HIT_INCLUSIVE, /* from its begin to its end, what it recurses into included, once */
    DW_HIT_SUSPENDED, /* in which a generator or task slept on it */
    DW_LINE_RSS,      /* memory of the process that is resident: the most after the line; of a
                         function as a whole: before its first one */
    DW_LINE_GROWN,    /* by how much it grew from the begin of the line to its end */
    DW_LINE_SHRUNK,
    DW_LINE_HIGH,    /* by how much its thread's live memory rose at most while it ran */
    DW_LINE_CALLS,   /* of a function whose lines are watched, which is a place without a line */
    DW_CALLEE_CALLS, /* of what the line calls */
    DW_CALLEE_TIME,
    /* Memory. */
    DW_ALLOCATIONS,
    DW_ALLOC_BYTES,
    DW_LIVE,
    DW_LIVE_BYTES,
    DW_PEAK_BYTES,
    DW_TEMPORARY,
    DW_PEAK_TIME, /* where a thread was when the process had most, by its last allocation until
                     then: since the recording began */
    DW_RESERVED_BYTES,
    DW_RESIDENT_BYTES, /* model/resident.h */
    /* Collections of garbage, on the stacks that set them off. */
    DW_GC_TIME,
    DW_GC_COLLECTIONS,
    DW_GC_COLLECTED,
    DW_GC_UNCOLLECTABLE,
    DW_GC_LONGEST,
    /* Objects on the heap, at the end of the types of those that dominate them. */
    DW_OBJECTS,
    DW_OBJECT_BYTES,
    DW_MEASURES
};
#define DW_MEASURES_MAX 64 /* those of a log that this build does not know included */

typedef uint64_t dw_measure_mask;
#define DW_MASK(measure) (UINT64_C(1) << (measure))
#define DW_ENTRY_MASK                                                                              \
    (DW_MASK(DW_COUNT) | DW_MASK(DW_TOTAL) | DW_MASK(DW_SUSPENDED) | DW_MASK(DW_CHILDREN) |        \
     DW_MASK(DW_ENTRY_CPU) | DW_MASK(DW_MIN) | DW_MASK(DW_MAX) | DW_MASK(DW_OPEN) |                \
     DW_MASK(DW_OPEN_TOTAL))
#define DW_CALL_MASK                                                                               \
    (DW_MASK(DW_CALLS) | DW_MASK(DW_CALL_TOTAL) | DW_MASK(DW_CALL_SUSPENDED) |                     \
     DW_MASK(DW_CALL_CHILDREN))
/* Times of regions, which recorders count in ticks. */
#define DW_TICK_MASK                                                                               \
    (DW_MASK(DW_TOTAL) | DW_MASK(DW_SUSPENDED) | DW_MASK(DW_CHILDREN) | DW_MASK(DW_MIN) |          \
     DW_MASK(DW_MAX) | DW_MASK(DW_OPEN_TOTAL))
#define DW_SAMPLE_MASK                                                                             \
    (DW_MASK(DW_SAMPLES) | DW_MASK(DW_CPU) | DW_MASK(DW_WALL) | DW_MASK(DW_PAGE_FAULTS) |          \
     DW_MASK(DW_CONTEXT_SWITCHES) | DW_MASK(DW_INVOLUNTARY_SWITCHES))
#define DW_HIT_MASK                                                                                \
    (DW_MASK(DW_HITS) | DW_MASK(DW_HIT_TIME) | DW_MASK(DW_HIT_SELF) | DW_MASK(DW_HIT_INCLUSIVE) |  \
     DW_MASK(DW_HIT_SUSPENDED))
#define DW_CALLEE_MASK (DW_MASK(DW_CALLEE_CALLS) | DW_MASK(DW_CALLEE_TIME))
#define DW_LINE_MEMORY_MASK                                                                        \
    (DW_MASK(DW_LINE_RSS) | DW_MASK(DW_LINE_GROWN) | DW_MASK(DW_LINE_SHRUNK) |                     \
     DW_MASK(DW_LINE_HIGH))
#define DW_LINE_MASK (DW_HIT_MASK | DW_LINE_MEMORY_MASK | DW_CALLEE_MASK | DW_MASK(DW_LINE_CALLS))
/* How often something happened: no part of it is what happened inside. */
#define DW_OFTEN_MASK                                                                              \
    (DW_MASK(DW_COUNT) | DW_MASK(DW_CALLS) | DW_MASK(DW_HITS) | DW_MASK(DW_LINE_CALLS) |           \
     DW_MASK(DW_CALLEE_CALLS) | DW_MASK(DW_OBJECTS))
#define DW_MEMORY_MASK                                                                             \
    (DW_MASK(DW_ALLOCATIONS) | DW_MASK(DW_ALLOC_BYTES) | DW_MASK(DW_LIVE) |                        \
     DW_MASK(DW_LIVE_BYTES) | DW_MASK(DW_PEAK_BYTES) | DW_MASK(DW_TEMPORARY))
/* What stands at the end of a stack, and not for all under it. */
#define DW_STACK_MASK                                                                              \
    (DW_SAMPLE_MASK | DW_MEMORY_MASK | DW_MASK(DW_RESERVED_BYTES) | DW_MASK(DW_RESIDENT_BYTES))
#define DW_HEAP_MASK (DW_MASK(DW_OBJECTS) | DW_MASK(DW_OBJECT_BYTES))
#define DW_GC_MASK                                                                                 \
    (DW_MASK(DW_GC_TIME) | DW_MASK(DW_GC_COLLECTIONS) | DW_MASK(DW_GC_COLLECTED) |                 \
     DW_MASK(DW_GC_UNCOLLECTABLE) | DW_MASK(DW_GC_LONGEST))

struct dw_measure_info {
    const char *name; /* as users and logs call it */
    enum dw_unit unit;
    enum dw_adding adding;
    bool is_inclusive; /* of a path and all under it; else of the path itself */
    const char *meaning;
};

extern const struct dw_measure_info dw_measures[DW_MEASURES];

/* The measure of that name, or DW_MEASURES. */
enum dw_measure dw_measure_find(const char *name);
/* Two values of one measure as one. */
uint64_t dw_measure_add(enum dw_measure measure, uint64_t a, uint64_t b);

#endif
