/* SPDX-License-Identifier: MIT
 * An ELF object that a JIT made in memory and announced to debuggers: names of its functions, and
 * how to unwind them. Its sections say where their content was put. */
#ifndef DW_NATIVE_JIT_JIT_OBJECT_H
#define DW_NATIVE_JIT_JIT_OBJECT_H

#include "native/jit/jit_names.h"
#include "native/unwind/eh_index.h"
#include "native/unwind/unwind.h"

#define DW_JIT_SECTIONS_MAX 32 /* of code, in one object */
#define DW_JIT_OBJECT_MAX (64u << 20)

struct dw_jit_range {
    uint64_t start, end;
};

struct dw_jit_object {
    struct dw_jit_names names;
    struct dw_jit_range code[DW_JIT_SECTIONS_MAX];
    uint32_t code_count;
    struct dw_eh_index unwinding; /* without bytes: there is none */
};

/* `bytes` may be anything. Sections that are not finished in the object are read from where they
 * are, by `memory`. DW_ERR_DAMAGED when it is not an ELF object. */
int dw_jit_object_read(const uint8_t *bytes, size_t size, const struct dw_memory *memory,
                       struct dw_jit_object *object);
void dw_jit_object_release(struct dw_jit_object *object);

#endif
