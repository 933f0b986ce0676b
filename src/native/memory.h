/* SPDX-License-Identifier: MIT
 * Memory of this process as a dw_memory. [signal-safe] */
#ifndef DW_NATIVE_MEMORY_H
#define DW_NATIVE_MEMORY_H

#include "native/unwind.h"

/* Faults where nothing is mapped. */
extern const struct dw_memory dw_memory_own;
/* Asks the kernel, so that any address may be tried; some 0.5 us a read. */
extern const struct dw_memory dw_memory_own_checked;

#endif
