/* SPDX-License-Identifier: MIT
 * A file may come from anybody, and a small one can say that it is huge. What a command may
 * allocate follows from the sizes of the files that it reads, and the system enforces it; so does
 * what it may write. */
#ifndef DW_CLI_MEMORY_LIMIT_H
#define DW_CLI_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DW_MEMORY_OF_FILE 128                /* times its size: many processes pack well */
#define DW_MEMORY_BESIDES ((size_t)64 << 20) /* bytes more, whatever the size */

#define DW_OUTPUT_OF_FILE 1024
#define DW_OUTPUT_BESIDES ((uint64_t)256 << 20)

/* One more file of that size was read, or is about to be. DWELL_MEMORY_MB in the environment is
 * taken instead of what follows from the sizes. */
void dw_memory_allow(size_t file_size);
/* For work that depends on other files, such as debug information, and in children. What is
 * allocated meanwhile does not count after dw_memory_limit. */
void dw_memory_unlimit(void);
void dw_memory_limit(void);
/* Whether running out of memory may be due to this limit. */
bool dw_memory_is_limited(void);
/* Bytes that may be written of the files that were read, or what DWELL_OUTPUT_MB says; 0: no limit,
 * since no file was read. */
uint64_t dw_output_allowed(void);

#endif
