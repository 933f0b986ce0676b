/* SPDX-License-Identifier: MIT
 * malloc and its family, and mmap, as all objects of the process call them, with dw_allocs told of
 * what they do. Our own calls are left out. */
#ifndef DW_PROBE_MEMORY_MALLOC_HOOKS_H
#define DW_PROBE_MEMORY_MALLOC_HOOKS_H

#include <stdbool.h>

/* False when the allocator of the process cannot be told; then only Python's are watched. */
bool dw_malloc_hooks_install(void);
void dw_malloc_hooks_remove(void);
/* Objects that were loaded since are seen too. */
void dw_malloc_hooks_renew(void);

#endif
