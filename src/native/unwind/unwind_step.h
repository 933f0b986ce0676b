/* SPDX-License-Identifier: MIT
 * One frame of a walk: the parts that walking by tables and guessing share. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_UNWIND_STEP_H
#define DW_NATIVE_UNWIND_UNWIND_STEP_H

#include "native/unwind/cfi_rule.h"
#include "native/unwind/unwind.h"

struct dw_unwind_walk {
    const struct dw_unwinder *with;
    uint32_t effort_left; /* a read that asks the kernel is one of it */
    bool has_guessed;
};

/* Spends that much; false when less is left. That ends the guesses of the walk: its stack is
 * cut. */
static inline bool dw_unwind_spend(struct dw_unwind_walk *walk, uint32_t effort)
{
    bool may = walk->effort_left >= effort;
    walk->effort_left -= may ? effort : walk->effort_left;
    return may;
}

struct dw_unwind_at {
    uint64_t pc, sp, fp, rbx;
    const uint64_t *others; /* by DWARF's numbers; NULL but for the first frame */
    bool after_call;        /* the pc is that of a return: the call is before it */
    bool is_guessed;        /* some frame up to here was guessed */
};

/* The module that holds the address, or NULL. */
const struct dw_unwind_module *dw_unwind_module_at(const struct dw_unwind_modules *modules,
                                                   uint64_t address);
/* False when nothing describes the address. */
bool dw_unwind_find_rule(struct dw_unwind_walk *walk, const struct dw_unwind_at *at,
                         struct dw_cfi_rule *rule);
/* Moves to the caller; false, and *at as it was, when the rule does not fit the stack. The
 * return address was in the word at *slot. */
bool dw_unwind_follow(struct dw_unwind_walk *walk, const struct dw_cfi_rule *rule,
                      struct dw_unwind_at *at, uint64_t *slot);
/* Memory of the stack, which after a guess may end before `stack_end`. */
bool dw_unwind_read_stack(struct dw_unwind_walk *walk, uint64_t address, void *to, size_t size);
/* A word of the stack, not below `lowest`. */
bool dw_unwind_read_word(struct dw_unwind_walk *walk, uint64_t lowest, uint64_t address,
                         uint64_t *word);

#endif
