/* SPDX-License-Identifier: MIT
 * Turns what is known at each instruction into rules. A rule is made only where some register holds
 * a place on the stack, from which the CFA can be counted. */
#include "base/grow.h"
#include "native/unwind/cfi_x86_64.h"
#include "native/unwind/code_flow_x86_64.h"
#include "native/unwind/code_rules.h"

struct rows {
    struct dw_code_row *rows;
    uint32_t count, capacity;
};

static struct dw_cfi_slot slot_of(const struct dw_code_state *state, uint32_t reg)
{
    int32_t sp = state->values[DW_RSP], saved = state->saved[reg];
    if (state->values[reg] == DW_VALUE_AT_ENTRY(reg))
        return (struct dw_cfi_slot){DW_CFI_SAME, 0};
    /* A saved value below the stack pointer is gone. */
    if (saved == DW_VALUE_UNKNOWN || (dw_value_is_place(sp) && saved < sp))
        return (struct dw_cfi_slot){DW_CFI_LOST, 0};
    return (struct dw_cfi_slot){DW_CFI_AT_CFA, saved};
}

static uint64_t make_rule(const struct dw_code_state *state, struct dw_cfi_rule rule)
{
    rule.fp = slot_of(state, DW_RBP);
    rule.rbx = slot_of(state, DW_RBX);
    rule.pc = (struct dw_cfi_slot){DW_CFI_AT_CFA, -DW_WORD_BYTES};
    return dw_cfi_pack(&rule);
}

/* Kernels that use all registers keep where their frame is above the stack pointer. */
static uint64_t rule_by_kept(const struct dw_code_state *state)
{
    int32_t sp = state->values[DW_RSP];
    if (!dw_value_is_by_floor(sp) || !dw_value_is_by_floor(state->kept_at) ||
        !dw_value_is_place(state->kept))
        return 0;
    return make_rule(state, (struct dw_cfi_rule){.base = DW_REGISTER_SP,
                                                 .is_indirect = true,
                                                 .offset = state->kept_at - sp,
                                                 .beyond = -state->kept});
}

/* Registers that callees keep come first: what others hold is known in the innermost frame only. */
static uint64_t rule_of(const struct dw_code_state *state)
{
    static const struct {
        uint8_t reg, number;
    } bases[] = {{DW_RSP, DW_REGISTER_SP},
                 {DW_RBP, DW_REGISTER_FP},
                 {DW_RBX, DW_REGISTER_RBX},
                 {12, 12},
                 {13, 13},
                 {14, 14},
                 {15, 15},
                 {8, 8},
                 {9, 9},
                 {10, 10},
                 {11, 11},
                 {DW_RAX, 0},
                 {DW_RDX, 1},
                 {DW_RCX, 2},
                 {DW_RSI, 4},
                 {DW_RDI, 5}};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        int32_t value = state->values[bases[i].reg];
        if (dw_value_is_place(value))
            return make_rule(state,
                             (struct dw_cfi_rule){.base = bases[i].number, .offset = -value});
    }
    return rule_by_kept(state);
}

static int put_row(void *context, uint32_t offset, const struct dw_code_state *state)
{
    struct rows *rows = context;
    uint64_t rule = state ? rule_of(state) : 0;
    if (rows->count && rows->rows[rows->count - 1].rule == rule)
        return 0;
    int error = DW_GROW(rows->rows, rows->count, rows->capacity);
    if (!error)
        rows->rows[rows->count++] = (struct dw_code_row){offset, rule};
    return error;
}

int dw_code_rows_make(const uint8_t *code, size_t size, struct dw_code_row **rows, uint32_t *count)
{
    struct rows made = {0};
    bool is_understood;
    int error = dw_code_flow(code, size, put_row, &made, &is_understood);
    if (error) {
        free(made.rows);
        return error;
    }
    *rows = made.rows;
    *count = made.count;
    return 0;
}
