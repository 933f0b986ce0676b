/* SPDX-License-Identifier: MIT
 * Memory that the program mapped and has not unmapped. The lock of dw_allocs is held. */
#ifndef DW_PROBE_MEMORY_MAPPINGS_H
#define DW_PROBE_MEMORY_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

/* What was there before is unmapped, as the system does it. */
void dw_mapping_put(uintptr_t start, uint64_t size, uint32_t site);
/* A part of a mapping may go, at either end or in the middle, and one call may unmap several. */
void dw_mapping_remove(uintptr_t start, uint64_t size);
/* Bytes of them that are in memory: of Python's arenas, or of all others. */
uint64_t dw_mappings_resident(bool are_arenas);
void dw_mappings_release(void);

#endif
