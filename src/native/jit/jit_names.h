/* SPDX-License-Identifier: MIT
 * Names of code that was made at run time, by address. Memory of code is used again: what was
 * added last counts, and what it lies upon is gone. */
#ifndef DW_NATIVE_JIT_JIT_NAMES_H
#define DW_NATIVE_JIT_JIT_NAMES_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct dw_jit_name {
    uint64_t start, end;
    uint32_t text;   /* in `texts`, ends in 0 */
    uint32_t number; /* later ones are larger */
};

struct dw_jit_names {
    struct dw_jit_name *names; /* owned; by start, and apart, once they are settled */
    uint32_t count, capacity;
    uint32_t last_number;
    bool is_settled;
    struct dw_buffer texts;
};

#define DW_JIT_NAMES_MAX (1u << 20)
#define DW_JIT_TEXTS_MAX (128u << 20)

/* The name is cut at its first 0. An empty or overflowing range, or one too many, is left out. */
int dw_jit_names_add(struct dw_jit_names *names, uint64_t start, uint64_t size, const char *text,
                     size_t text_size);
/* Valid until the next is added; NULL when the address has none. */
const struct dw_jit_name *dw_jit_names_find(struct dw_jit_names *names, uint64_t address);
const char *dw_jit_name_text(const struct dw_jit_names *names, const struct dw_jit_name *name);
/* Sorts the names and cuts those that overlap. */
void dw_jit_names_settle(struct dw_jit_names *names);
void dw_jit_names_release(struct dw_jit_names *names);

#endif
