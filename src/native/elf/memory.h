/* SPDX-License-Identifier: MIT
 * Memory of this process as a dw_memory. [signal-safe] */
#ifndef DW_NATIVE_ELF_MEMORY_H
#define DW_NATIVE_ELF_MEMORY_H

#include "native/unwind/unwind.h"

/* Faults where nothing is mapped. */
extern const struct dw_memory dw_memory_own;
/* Asks the kernel, so that any address may be tried; some 0.5 us a read. */
extern const struct dw_memory dw_memory_own_checked;

/* The number of the page that was read last, plus 1; starts as 0. */
struct dw_checked_page {
    uint64_t number;
};
/* Asks the kernel when a read is not in the page that `context`, a dw_checked_page, has. */
bool dw_memory_read_paged(void *context, uint64_t address, void *to, size_t size);

/* Memory of this process that may go away at any time, as another thread's stack, a page at a time.
 * What is read is a copy of the page, made when it was first asked for. */
struct dw_copied_page {
    uint64_t start; /* 0: none is copied */
    uint8_t bytes[4096];
};
bool dw_memory_read_copied(void *context, uint64_t address, void *to, size_t size);

#endif
