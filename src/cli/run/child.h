/* SPDX-License-Identifier: MIT
 * A child process that stands in for us: signals reach it, and we end as it does. */
#ifndef DW_CLI_RUN_CHILD_H
#define DW_CLI_RUN_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct dw_child_times {
    uint64_t elapsed_ns;
    uint64_t cpu_ns;          /* of all its threads */
    uint64_t delay_ns;        /* its first thread was ready to run, but had no CPU */
    uint64_t children_cpu_ns; /* of the processes that it started and waited for */
};

/* Runs `program` with the arguments and waits. It is stopped when it has more memory than that;
 * 0: any. Its wait status, or -1 with errno. */
int dw_child_run(const char *program, char *const *arguments, uint64_t most_bytes,
                 struct dw_child_times *times);
/* Starts it and leaves signals alone; it gets these as its standard input, output and errors, or
 * those that we have where one is -1. Its id, or -1 with errno. */
pid_t dw_child_start(const char *program, char *const *arguments, const int files[3]);
/* Waits for it; its wait status, or -1 with errno. */
int dw_child_wait(pid_t child);
/* An exit status for us; a child killed by a signal kills us with the same one. */
int dw_child_exit(int status);

#endif
