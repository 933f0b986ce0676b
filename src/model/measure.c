/* SPDX-License-Identifier: MIT
 * The table of measures: a new one is a line here, a number in measure.h, and the probe that
 * fills it. */
#include "model/measure.h"

#include <string.h>

const struct dw_measure_info dw_measures[DW_MEASURES] = {
    [DW_COUNT] = {"count", DW_UNIT_COUNT, DW_ADD_SUM, true, "entries of a region that ended"},
    [DW_TOTAL] = {"elapsed", DW_UNIT_NS, DW_ADD_SUM, true, "time from enter to exit"},
    [DW_SUSPENDED] = {"suspended", DW_UNIT_NS, DW_ADD_SUM, true,
                      "the part of it in which a generator or task slept"},
    [DW_CHILDREN] = {"children", DW_UNIT_NS, DW_ADD_SUM, true, "time of regions directly inside"},
    [DW_ENTRY_CPU] = {"entry_cpu", DW_UNIT_NS, DW_ADD_SUM, true,
                      "CPU time of the thread from enter to exit"},
    [DW_MIN] = {"min", DW_UNIT_NS, DW_ADD_MIN, true, "the shortest entry"},
    [DW_MAX] = {"max", DW_UNIT_NS, DW_ADD_MAX, true, "the longest entry"},
    [DW_OPEN] = {"open", DW_UNIT_COUNT, DW_ADD_SUM, true, "entries that had not ended"},
    [DW_OPEN_TOTAL] = {"open_total", DW_UNIT_NS, DW_ADD_SUM, true, "their part of the total"},
    [DW_CALLS] = {"calls", DW_UNIT_COUNT, DW_ADD_SUM, true, "exact calls"},
    [DW_CALL_TOTAL] = {"call_total", DW_UNIT_NS, DW_ADD_SUM, true, "time from call to return"},
    [DW_CALL_SUSPENDED] = {"call_suspended", DW_UNIT_NS, DW_ADD_SUM, true,
                           "time beside it in which a generator or task slept"},
    [DW_CALL_CHILDREN] = {"call_children", DW_UNIT_NS, DW_ADD_SUM, true,
                          "time of what was called directly"},
    [DW_SAMPLES] = {"samples", DW_UNIT_COUNT, DW_ADD_SUM, false, "samples that were taken"},
    [DW_CPU] = {"cpu", DW_UNIT_NS, DW_ADD_SUM, false, "CPU time, by samples"},
    [DW_WALL] = {"wall", DW_UNIT_NS, DW_ADD_SUM, false, "elapsed time, by samples"},
    [DW_PAGE_FAULTS] = {"page_faults", DW_UNIT_COUNT, DW_ADD_SUM, false,
                        "pages that the kernel had to map or read, up to the sample"},
    [DW_CONTEXT_SWITCHES] = {"context_switches", DW_UNIT_COUNT, DW_ADD_SUM, false,
                             "how often the thread left the CPU, up to the sample"},
    [DW_INVOLUNTARY_SWITCHES] = {"involuntary_switches", DW_UNIT_COUNT, DW_ADD_SUM, false,
                                 "how often it did so because another one had to run"},
    [DW_HITS] = {"hits", DW_UNIT_COUNT, DW_ADD_SUM, false, "times that a watched line began"},
    [DW_HIT_TIME] = {"line_time", DW_UNIT_NS, DW_ADD_SUM, true,
                     "time while a line was its function's innermost one"},
    [DW_HIT_SELF] = {"line_self", DW_UNIT_NS, DW_ADD_SUM, false,
                     "the part of it in no callee that was measured"},
    [DW_HIT_INCLUSIVE] = {"line_inclusive", DW_UNIT_NS, DW_ADD_SUM, true,
                          "time from the line's begin to its end, with what it recurses into"},
    [DW_HIT_SUSPENDED] = {"line_suspended", DW_UNIT_NS, DW_ADD_SUM, false,
                          "time in which a generator or task slept on the line"},
    [DW_LINE_RSS] = {"line_memory", DW_UNIT_BYTES, DW_ADD_MAX, false,
                     "the most memory that was resident after a line"},
    [DW_LINE_GROWN] = {"line_grown", DW_UNIT_BYTES, DW_ADD_SUM, false,
                       "by how much it grew while the line ran"},
    [DW_LINE_SHRUNK] = {"line_shrunk", DW_UNIT_BYTES, DW_ADD_SUM, false,
                        "by how much it shrank while the line ran"},
    [DW_LINE_HIGH] = {"line_peak", DW_UNIT_BYTES, DW_ADD_MAX, false,
                      "by how much live memory rose at most while the line ran"},
    [DW_LINE_CALLS] = {"line_calls", DW_UNIT_COUNT, DW_ADD_SUM, false,
                       "calls of functions whose lines are watched"},
    [DW_CALLEE_CALLS] = {"callee_calls", DW_UNIT_COUNT, DW_ADD_SUM, false,
                         "calls from lines that are watched"},
    [DW_CALLEE_TIME] = {"callee_time", DW_UNIT_NS, DW_ADD_SUM, true, "time of these calls"},
    [DW_ALLOCATIONS] = {"allocations", DW_UNIT_COUNT, DW_ADD_SUM, false,
                        "blocks of memory that were allocated"},
    [DW_ALLOC_BYTES] = {"alloc_bytes", DW_UNIT_BYTES, DW_ADD_SUM, false, "their bytes"},
    [DW_LIVE] = {"live", DW_UNIT_COUNT, DW_ADD_SUM, false,
                 "blocks that were still there at the end"},
    [DW_LIVE_BYTES] = {"live_bytes", DW_UNIT_BYTES, DW_ADD_SUM, false, "their bytes"},
    [DW_PEAK_BYTES] = {"peak_bytes", DW_UNIT_BYTES, DW_ADD_SUM, false,
                       "bytes that were there when the process had most"},
    [DW_TEMPORARY] = {"temporary", DW_UNIT_COUNT, DW_ADD_SUM, false,
                      "blocks that were freed before the next eight were allocated"},
    [DW_PEAK_TIME] =
        {"peak_time", DW_UNIT_NS, DW_ADD_MAX, false,
         "when the process had most: on the last allocation of each thread until then"},
    [DW_RESERVED_BYTES] = {"reserved_bytes", DW_UNIT_BYTES, DW_ADD_SUM, false,
                           "memory that was mapped, and not unmapped"},
    [DW_RESIDENT_BYTES] = {"resident_bytes", DW_UNIT_BYTES, DW_ADD_SUM, false,
                           "resident memory of the process, by what it is"},
    [DW_GC_TIME] = {"gc_time", DW_UNIT_NS, DW_ADD_SUM, false, "time in collections of garbage"},
    [DW_GC_COLLECTIONS] = {"gc_collections", DW_UNIT_COUNT, DW_ADD_SUM, false,
                           "collections of garbage"},
    [DW_GC_COLLECTED] = {"gc_collected", DW_UNIT_COUNT, DW_ADD_SUM, false,
                         "objects that they freed"},
    [DW_GC_UNCOLLECTABLE] = {"gc_uncollectable", DW_UNIT_COUNT, DW_ADD_SUM, false,
                             "objects that they could not free"},
    [DW_GC_LONGEST] = {"gc_longest", DW_UNIT_NS, DW_ADD_MAX, false, "the longest of them"},
    [DW_OBJECTS] = {"objects", DW_UNIT_COUNT, DW_ADD_SUM, false, "objects on the heap"},
    [DW_OBJECT_BYTES] = {"object_bytes", DW_UNIT_BYTES, DW_ADD_SUM, false,
                         "their bytes; in total, those that they retain"},
};

enum dw_measure dw_measure_find(const char *name)
{
    enum dw_measure measure = 0;
    while (measure < DW_MEASURES && strcmp(dw_measures[measure].name, name) != 0)
        measure++;
    return measure;
}

uint64_t dw_measure_add(enum dw_measure measure, uint64_t a, uint64_t b)
{
    switch (dw_measures[measure].adding) {
    case DW_ADD_MAX: return a > b ? a : b;
    case DW_ADD_MIN: return !a || (b && b < a) ? b : a;
    default: return a + b;
    }
}
