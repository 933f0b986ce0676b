/* SPDX-License-Identifier: MIT
 * What is known at each instruction of a function: which registers hold what they held at its
 * entry, or a place of its stack, and where registers were saved. All ways through the function are
 * followed; where they meet, only what is the same on both stays known. */
#ifndef DW_NATIVE_UNWIND_CODE_FLOW_X86_64_H
#define DW_NATIVE_UNWIND_CODE_FLOW_X86_64_H

#include "native/unwind/decode_x86_64.h"

/* A value is a place, as its distance from the CFA, or one of these. The floor is where the stack
 * pointer was when it was aligned or lowered by what is not known: places can be counted from there
 * too, but nobody knows how far below the CFA it is. */
#define DW_VALUE_UNKNOWN INT32_MIN
#define DW_VALUE_FLOOR (1 << 26)
#define DW_VALUE_AT_ENTRY(register) ((1 << 28) + (int32_t)(register))

struct dw_code_state {
    int32_t values[DW_REGISTERS];
    int32_t saved[DW_REGISTERS]; /* where their values at the entry are saved; or unknown */
    int32_t kept, kept_at; /* a place that was put on the stack, and where, maybe by the floor */
};

static inline bool dw_value_is_place(int32_t value)
{
    return value > -(1 << 24) && value < 1 << 24;
}

static inline bool dw_value_is_by_floor(int32_t value)
{
    return value > DW_VALUE_FLOOR - (1 << 24) && value < DW_VALUE_FLOOR + (1 << 24);
}

/* Called for each instruction in order, with what is known before it. NULL: no way that could be
 * followed leads there, from `offset` to the offset of the next call. A result other than 0 ends
 * it. */
typedef int (*dw_code_visit)(void *context, uint32_t offset, const struct dw_code_state *state);

/* The function is one of which the first byte and the size are known. *is_understood is false, and
 * nothing was visited, when an instruction is not known, or when not every way out of it leaves the
 * caller's registers as they were. An error is that of memory, or the visitor's. */
int dw_code_flow(const uint8_t *code, size_t size, dw_code_visit visit, void *context,
                 bool *is_understood);

#endif
