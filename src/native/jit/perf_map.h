/* SPDX-License-Identifier: MIT
 * What JITs write for profilers: perf's map, a text that names code, and jitdump, which has the
 * code too. Both grow at their end while they are read, and may hold anything. */
#ifndef DW_NATIVE_JIT_PERF_MAP_H
#define DW_NATIVE_JIT_PERF_MAP_H

#include "native/jit/jit_names.h"

/* Takes the whole lines of a map. `used` tells how many bytes need not be shown again. */
int dw_perf_map_parse(const uint8_t *bytes, size_t size, struct dw_jit_names *names,
                      uint64_t *used);

/* The same for jitdump's records, from the start of the file when `is_first`. `used` may be more
 * than `size`: the rest is code, to be skipped. DW_ERR_DAMAGED when it is not a jitdump. */
int dw_jit_dump_parse(const uint8_t *bytes, size_t size, bool is_first, struct dw_jit_names *names,
                      uint64_t *used);

#endif
