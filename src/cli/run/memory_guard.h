/* SPDX-License-Identifier: MIT
 * A child that must not have more memory than that. */
#ifndef DW_CLI_RUN_MEMORY_GUARD_H
#define DW_CLI_RUN_MEMORY_GUARD_H

#include <stdint.h>
#include <sys/types.h>

/* Returns when the child has ended, but was not waited for. One that has more resident memory is
 * sent SIGTERM, so that its recording is completed, and is killed if that does not end it. */
void dw_memory_guard(pid_t process, uint64_t most_bytes);

#endif
