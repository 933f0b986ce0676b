/* SPDX-License-Identifier: MIT
 * Samples: how long a thread stood on a path, and what it did there. The state is part of the
 * labels of a row, the number of samples and their time are measures. */
#ifndef DW_MODEL_SAMPLE_H
#define DW_MODEL_SAMPLE_H

#include "model/place_table.h"
#include "model/value_table.h"

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

/* "python", "native" and so on; NULL for a number that is not a state. */
const char *dw_sample_state_name(uint32_t state);

/* All samples of one thread on one path under one set of labels. */
struct dw_sample {
    dw_path_id path;
    dw_labels_id labels;
    uint32_t state;
    uint64_t count;
    uint64_t weight; /* the time they stand for, in ns; their number when that is not known */
};

/* The state that a set of labels says, GIL bit included; running when it says none. */
uint32_t dw_labels_state(const struct dw_label_table *labels, dw_labels_id set);

/* The samples among the rows, one after the other: `*at` begins at 0. False when there are no
 * more. */
bool dw_sample_next(const struct dw_value_table *values, const struct dw_label_table *labels,
                    uint32_t *at, struct dw_sample *sample);

/* One sample: the `weight_ns` before `time_ns` on the wall clock. */
struct dw_timed_sample {
    uint64_t time_ns, weight_ns;
    dw_path_id path;
    dw_labels_id labels;
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
