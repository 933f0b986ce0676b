/* SPDX-License-Identifier: MIT
 * Python's allocators, of all three domains, with dw_allocs told of what they do. */
#ifndef DW_PROBE_MEMORY_PYTHON_HOOKS_H
#define DW_PROBE_MEMORY_PYTHON_HOOKS_H

#include <stdbool.h>

/* With the GIL. Allocators that others have put over these since then stay; these go on below them
 * and tell nothing while nothing is recorded. */
void dw_python_hooks_install(bool is_exact);
void dw_python_hooks_remove(void);

#endif
