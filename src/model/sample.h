/* SPDX-License-Identifier: MIT
 * Samples: how long a thread stood on a stack, and what it did there. A stack is a path whose
 * frames are places: dw_path_tree with place ids in `frame`, outermost first. */
#ifndef DW_MODEL_SAMPLE_H
#define DW_MODEL_SAMPLE_H

#include "model/path_tree.h"
#include "model/place_table.h"

/* Numbers are part of the log format. */
enum dw_sample_state {
    DW_SAMPLE_PYTHON = 0,  /* the interpreter ran */
    DW_SAMPLE_NATIVE = 1,  /* code of another module ran */
    DW_SAMPLE_KERNEL = 2,  /* the kernel worked for the thread */
    DW_SAMPLE_WAITING = 3, /* it did not run */
    DW_SAMPLE_GIL = 4,     /* it did not run because another thread had the GIL */
    DW_SAMPLE_RUNNING = 5, /* it ran; Python, native and kernel are not told apart */
    DW_SAMPLE_STATES
};
#define DW_SAMPLE_STATE_MASK 7u
#define DW_SAMPLE_HOLDS_GIL 8u /* set in `state` beside the number */

/* "python", "native" and so on; NULL when it is none. */
const char *dw_sample_state_name(uint32_t state);

/* All samples of one thread on one stack in one state. */
struct dw_sample {
    dw_path_id stack; /* in the profile's `stacks` */
    uint32_t state;
    uint64_t count;
    uint64_t weight_ns; /* the time they stand for */
};

struct dw_sample_table {
    struct dw_sample *samples;
    uint32_t count, capacity;
    struct dw_map index;
};

void dw_sample_table_release(struct dw_sample_table *table);
/* The row of that key, made when absent; NULL when out of memory. Valid until the next call. */
struct dw_sample *dw_sample_get(struct dw_sample_table *table, dw_path_id stack, uint32_t state);

/* One sample: the `weight_ns` before `time_ns` on the wall clock. */
struct dw_timed_sample {
    uint64_t time_ns, weight_ns;
    dw_path_id stack;
    uint32_t state;
};

/* Numbers are part of the log format. */
enum dw_sample_mode {
    DW_SAMPLE_CPU = 0,    /* weights are CPU time: threads that wait are not seen */
    DW_SAMPLE_WALL = 1,   /* weights are elapsed time of every thread */
    DW_SAMPLE_COUNTS = 2, /* weights are numbers of samples: what they stand for is not known */
    DW_SAMPLE_MODES
};

/* How the samples of one process were taken. */
struct dw_sampling {
    enum dw_sample_mode mode;
    bool native;        /* native frames were asked for */
    uint64_t period_ns; /* asked; 0: as fast as it goes */
    uint64_t taken, missed;
    uint64_t guessed; /* of those taken: native frames were found by guessing */
    uint64_t cut;     /* the outermost frames are missing */
    uint64_t retried; /* had to be read again, or with the process stopped */
};

/* A file that a process had mapped, as native places name it. */
#define DW_BUILD_ID_MAX 32
struct dw_module {
    uint32_t process; /* index into the profile's processes */
    dw_string_id path;
    uint64_t start, end, file_offset; /* where it was mapped */
    uint64_t bias;                    /* address in memory less that in the file */
    uint8_t build_id[DW_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: it has none */
};

#endif
