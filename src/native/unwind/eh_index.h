/* SPDX-License-Identifier: MIT
 * The table that an .eh_frame lacks when no linker has seen it: that of code made at run time. */
#ifndef DW_NATIVE_UNWIND_EH_INDEX_H
#define DW_NATIVE_UNWIND_EH_INDEX_H

#include <stddef.h>
#include <stdint.h>

/* An .eh_frame_hdr and the .eh_frame behind it, as they would lie in memory from `hdr` to `end`. */
struct dw_eh_index {
    uint8_t *bytes; /* owned */
    uint64_t hdr, hdr_size, end;
};

/* Makes the index of records that are meant for that address. DW_ERR_EMPTY when none can be
 * used. */
int dw_eh_index_make(const uint8_t *frame, size_t size, uint64_t address,
                     struct dw_eh_index *index);

#endif
