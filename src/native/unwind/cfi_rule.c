/* SPDX-License-Identifier: MIT
 * Nearly all rules fit a word, so that the cache can hold them without locks. Those that do not are
 * looked up each time. */
#include "native/unwind/cfi_rule.h"

/* How a rule lies in a word: from which bit on, and how many of them. Offsets are in words. */
enum {
    IS_RULE_AT = 0,
    IS_INDIRECT_AT = 1,
    IS_END_AT = 2,
    IS_SIGNAL_AT = 3,
    IS_CONTEXT_AT = 4, /* the pc is in the word above that of the CFA, not in that below the CFA */
    FP_WHERE_AT = 6,
    RBX_WHERE_AT = 9,
    WHERE_BITS = 3,
    BASE_AT = 12,
    BASE_BITS = 4,
    OFFSET_AT = 16,
    OFFSET_BITS = 22,
    INDIRECT_BITS = 12, /* of them, when the others have how far the CFA is beyond what is there */
    BEYOND_AT = OFFSET_AT + INDIRECT_BITS,
    BEYOND_BITS = OFFSET_BITS - INDIRECT_BITS,
    FP_AT = 38,
    RBX_AT = 51,
    SLOT_BITS = 13,
};

static bool fits(int32_t offset, uint32_t bits)
{
    int32_t limit = 1 << (bits - 1);
    return offset % DW_WORD_BYTES == 0 && offset / DW_WORD_BYTES >= -limit &&
           offset / DW_WORD_BYTES < limit;
}

static uint64_t put_flag(bool flag, uint32_t at)
{
    return (uint64_t)flag << at;
}

static uint64_t put_offset(int32_t offset, uint32_t at, uint32_t bits)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    return ((uint64_t)(offset / DW_WORD_BYTES) & mask) << at;
}

static bool get_flag(uint64_t word, uint32_t at)
{
    return word >> at & 1;
}

static int32_t get_offset(uint64_t word, uint32_t at, uint32_t bits)
{
    return (int32_t)((int64_t)(word << (64 - at - bits)) >> (64 - bits)) * DW_WORD_BYTES;
}

static bool is_packable(const struct dw_cfi_rule *rule)
{
    bool is_pc_usual = rule->pc.where == DW_CFI_AT_SP
                           ? rule->pc.offset == rule->offset + DW_WORD_BYTES
                           : rule->pc.offset == -DW_WORD_BYTES;
    return is_pc_usual && fits(rule->beyond, BEYOND_BITS) &&
           fits(rule->offset, rule->is_indirect ? INDIRECT_BITS : OFFSET_BITS) &&
           fits(rule->fp.offset, SLOT_BITS) && fits(rule->rbx.offset, SLOT_BITS);
}

static uint64_t put_base(const struct dw_cfi_rule *rule)
{
    uint64_t base = (uint64_t)rule->base << BASE_AT;
    return rule->is_indirect ? base | put_offset(rule->offset, OFFSET_AT, INDIRECT_BITS) |
                                   put_offset(rule->beyond, BEYOND_AT, BEYOND_BITS)
                             : base | put_offset(rule->offset, OFFSET_AT, OFFSET_BITS);
}

uint64_t dw_cfi_pack(const struct dw_cfi_rule *rule)
{
    if (rule->is_end)
        return put_flag(true, IS_RULE_AT) | put_flag(true, IS_END_AT);
    if (!is_packable(rule))
        return 0;
    return put_flag(true, IS_RULE_AT) | put_flag(rule->is_indirect, IS_INDIRECT_AT) |
           put_flag(rule->is_signal, IS_SIGNAL_AT) |
           put_flag(rule->pc.where == DW_CFI_AT_SP, IS_CONTEXT_AT) |
           (uint64_t)rule->fp.where << FP_WHERE_AT | (uint64_t)rule->rbx.where << RBX_WHERE_AT |
           put_base(rule) | put_offset(rule->fp.offset, FP_AT, SLOT_BITS) |
           put_offset(rule->rbx.offset, RBX_AT, SLOT_BITS);
}

static struct dw_cfi_slot get_slot(uint64_t word, uint32_t where_at, uint32_t offset_at)
{
    return (struct dw_cfi_slot){(enum dw_cfi_where)(word >> where_at & ((1u << WHERE_BITS) - 1)),
                                get_offset(word, offset_at, SLOT_BITS)};
}

void dw_cfi_unpack(uint64_t word, struct dw_cfi_rule *rule)
{
    rule->is_indirect = get_flag(word, IS_INDIRECT_AT);
    rule->is_end = get_flag(word, IS_END_AT);
    rule->is_signal = get_flag(word, IS_SIGNAL_AT);
    rule->beyond = rule->is_indirect ? get_offset(word, BEYOND_AT, BEYOND_BITS) : 0;
    rule->base = (uint8_t)(word >> BASE_AT & ((1u << BASE_BITS) - 1));
    rule->offset = get_offset(word, OFFSET_AT, rule->is_indirect ? INDIRECT_BITS : OFFSET_BITS);
    rule->fp = get_slot(word, FP_WHERE_AT, FP_AT);
    rule->rbx = get_slot(word, RBX_WHERE_AT, RBX_AT);
    rule->pc = get_flag(word, IS_CONTEXT_AT)
                   ? (struct dw_cfi_slot){DW_CFI_AT_SP, rule->offset + DW_WORD_BYTES}
                   : (struct dw_cfi_slot){DW_CFI_AT_CFA, -DW_WORD_BYTES};
}
