/* SPDX-License-Identifier: MIT
 * DWARF expressions, as far as they come to "a register + a number", or the word in memory
 * there + a number. The pc is known, so tests of it (as in a PLT) are decided. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_CFI_EXPRESSION_H
#define DW_NATIVE_UNWIND_CFI_EXPRESSION_H

#include "native/unwind/cfi_cursor.h"

enum {
    DW_BASE_CFA = 32, /* beside the numbers of registers */
    DW_BASE_NONE,     /* a mere number */
};

struct dw_cfi_value {
    uint8_t base;
    bool is_indirect;
    uint64_t offset; /* from the base */
    uint64_t beyond; /* added to what is in memory there */
};

/* The expression at the cursor, with its size before it; the cursor moves behind it, even when it
 * cannot be followed. With `on_cfa` it starts from the CFA. */
bool dw_cfi_evaluate(struct dw_cfi_cursor *cursor, uint64_t pc, bool on_cfa,
                     struct dw_cfi_value *value);

#endif
