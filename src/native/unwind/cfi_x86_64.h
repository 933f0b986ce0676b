/* SPDX-License-Identifier: MIT
 * DWARF's numbers of the registers that unwinding follows. */
#ifndef DW_NATIVE_UNWIND_CFI_X86_64_H
#define DW_NATIVE_UNWIND_CFI_X86_64_H

enum {
    DW_REGISTER_RBX = 3,
    DW_REGISTER_FP = 6,
    DW_REGISTER_SP = 7,
    DW_REGISTER_RETURN = 16, /* a column of the table, not a register */
};

#endif
