/* SPDX-License-Identifier: MIT
 * Which line allocated a block that is still there, while allocations are recorded. */
#ifndef DW_PROBE_MEMORY_MEMORY_MAKERS_H
#define DW_PROBE_MEMORY_MEMORY_MAKERS_H

#include "model/string_table.h"

#include <stdbool.h>
#include <stdint.h>

struct dw_memory_maker {
    struct dw_string function, file; /* they stay as long as the recording */
    uint32_t line;
};

/* Brings what is known up to date; false when nothing is recorded. Until the end nothing is brought
 * to the file. The caller has the GIL. */
bool dw_memory_makers_begin(void);
void dw_memory_makers_end(void);
/* The number of what allocated the block, or 0. Only some blocks are known when samples are taken.
 */
uint32_t dw_memory_maker_of(uintptr_t block);
/* The innermost Python function on its stack; false when there is none. */
bool dw_memory_maker_at(uint32_t number, struct dw_memory_maker *maker);

#endif
