/* SPDX-License-Identifier: MIT
 * Allocators that are linked into a library under names of its own, where what the library asks
 * them for can be seen: the memory pools of Arrow, which are called as virtual functions. */
#ifndef DW_PROBE_MEMORY_POOL_HOOKS_H
#define DW_PROBE_MEMORY_POOL_HOOKS_H

#include "probe/memory/alloc_sites.h"

/* As dw_got_apply. */
bool dw_pool_hooks_apply(bool is_on);
/* Whether blocks of that kind are seen, of the library that is loaded there. */
bool dw_pool_hooks_watch(enum dw_alloc_kind kind, uint64_t base);

#endif
