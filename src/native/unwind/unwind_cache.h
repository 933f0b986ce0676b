/* SPDX-License-Identifier: MIT
 * What was found out about addresses of code: a value of 64 bits for a key. It never waits, and
 * forgets whenever room is needed. [signal-safe] but for what unwind.h says. */
#ifndef DW_NATIVE_UNWIND_UNWIND_CACHE_H
#define DW_NATIVE_UNWIND_UNWIND_CACHE_H

#include "native/unwind/unwind.h"

/* The cache's own form of the key, in the epoch of the unwinder. */
uint64_t dw_unwind_cache_key(const struct dw_unwinder *unwinder, uint64_t key);
bool dw_unwind_cache_get(const struct dw_unwind_cache *cache, uint64_t key, uint64_t *value);
void dw_unwind_cache_put(struct dw_unwind_cache *cache, uint64_t key, uint64_t value);

#endif
