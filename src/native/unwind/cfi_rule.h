/* SPDX-License-Identifier: MIT
 * How to get from a frame to the one that called it. The CFA is the caller's stack pointer.
 * [signal-safe] */
#ifndef DW_NATIVE_UNWIND_CFI_RULE_H
#define DW_NATIVE_UNWIND_CFI_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define DW_WORD_BYTES 8

enum dw_cfi_where {
    DW_CFI_SAME,   /* still in the register */
    DW_CFI_AT_CFA, /* in memory at the CFA + offset */
    DW_CFI_AT_SP,  /* the same from the stack pointer */
    DW_CFI_AT_FP,  /* the same from the frame pointer */
    DW_CFI_LOST,
};

struct dw_cfi_slot {
    enum dw_cfi_where where;
    int32_t offset;
};

struct dw_cfi_rule {
    uint8_t base;     /* DWARF's number of the register that the CFA counts from */
    bool is_indirect; /* the CFA is in memory there */
    bool is_end;      /* nobody called it */
    bool is_signal;   /* it was interrupted: the next pc is not after a call */
    int32_t offset;   /* from the base */
    int32_t beyond;   /* added to what was in memory */
    struct dw_cfi_slot fp, rbx, pc;
};

/* Packs a rule into a word that is not 0; returns 0 when it does not fit, which hardly happens. */
uint64_t dw_cfi_pack(const struct dw_cfi_rule *rule);
void dw_cfi_unpack(uint64_t word, struct dw_cfi_rule *rule);

#endif
