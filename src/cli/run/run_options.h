/* SPDX-License-Identifier: MIT
 * What a command line of `dwell run` asks for. */
#ifndef DW_CLI_RUN_RUN_OPTIONS_H
#define DW_CLI_RUN_RUN_OPTIONS_H

#include "base/out.h"

struct dw_run_options {
    bool sample, calls, regions, lines, memory; /* the probes: any of them together */
    bool names_regions;                         /* they were asked for by name */
    bool heap;                                  /* snapshots of it */
    char more[512];                             /* other probes, each with a comma behind it */
    bool exact_memory;                          /* every allocation, not a sample of them */
    bool sampled_memory;                        /* as was asked for by name */
    bool pss;                                   /* beside RSS */
    double interval_ns;                         /* between two looks at RSS and the like */
    double pdb_above, stop_above;               /* bytes; 0: never */
    bool timeline, cpu, wall, no_native, signatures, callees, quiet, help;
    bool merge_ranks;     /* rank 0 makes one recording of all */
    bool no_follow, keep; /* children are not recorded; their files stay after the merge */
    bool subprocesses;    /* which is the default */
    const char *out;
    const char *python;
    const char *only;  /* a pattern of names of processes; NULL: all */
    const char *ranks; /* those of an MPI job that are recorded: "0,7"; NULL: all */
    double rate_hz;
    struct dw_out functions; /* of -f, one a line */
    char **given;            /* the command line behind "run" */
    char **words;            /* NULL-terminated: options of Python, then the program. Owned */
    int word_count;
    char **program; /* in them: script, -m module, -c code or -, and arguments */
};

/* 0, or the status after saying what is wrong; release it in any case. After 0 there is a program,
 * unless help is asked for. */
int dw_run_options_init(struct dw_run_options *run, int argc, char **argv);
void dw_run_options_release(struct dw_run_options *run);
/* Prints the lines of the help on probes that have no options of their own. */
void dw_run_print_more_probes(void);

#endif
