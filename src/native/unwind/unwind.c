/* SPDX-License-Identifier: MIT
 * The loop of a walk: a rule where there is one, else a guess. It stops at the first frame without
 * a caller, and says whether that is the end of the stack. */
#include "native/unwind/unwind.h"

#include "native/unwind/unwind_guess.h"
#include "native/unwind/unwind_step.h"

/* Moves to the caller; false when there is none, and *ended tells whether the stack ends here. */
static bool step(struct dw_unwind_walk *walk, struct dw_unwind_at *at, enum dw_unwind_how *how,
                 bool *ended)
{
    struct dw_cfi_rule rule;
    uint64_t slot;
    *how = DW_UNWIND_TABLE;
    if (dw_unwind_find_rule(walk, at, &rule)) {
        *ended = rule.is_end;
        if (rule.is_end)
            return false;
        if (dw_unwind_follow(walk, &rule, at, &slot))
            return true;
    }
    return dw_unwind_guess(walk, at, how);
}

bool dw_unwind_has_rule(const struct dw_unwinder *unwinder, uint64_t address)
{
    struct dw_unwind_walk walk = {.with = unwinder, .effort_left = unwinder->effort};
    struct dw_unwind_at at = {.pc = address};
    struct dw_cfi_rule rule;
    return dw_unwind_find_rule(&walk, &at, &rule);
}

uint32_t dw_unwind(const struct dw_unwinder *unwinder, const struct dw_registers *start,
                   struct dw_native_frame *frames, uint32_t capacity, bool *complete)
{
    struct dw_unwind_at at = {.pc = start->pc,
                              .sp = start->sp,
                              .fp = start->fp,
                              .rbx = start->rbx,
                              .others = start->others};
    enum dw_unwind_how how = DW_UNWIND_FIRST;
    uint32_t count = 0;
    struct dw_unwind_walk walk = {.with = unwinder, .effort_left = unwinder->effort};
    bool ended = false;
    while (count < capacity) {
        frames[count++] = (struct dw_native_frame){at.pc, at.sp, how};
        if (!step(&walk, &at, &how, &ended))
            break;
        ended = !at.pc; /* some runtimes put a 0 below their outermost frame */
        if (ended)
            break;
    }
    *complete = ended;
    return count;
}
