/* SPDX-License-Identifier: MIT
 * The trampolines of CPython's support for perf: copies of a few instructions that call the
 * interpreter's loop, one for each Python function. Memory is filled with them before it is used,
 * so they are known by their code. They are named py::FUNCTION:FILE, but not always in time. */
#ifndef DW_NATIVE_UNWIND_TRAMPOLINES_H
#define DW_NATIVE_UNWIND_TRAMPOLINES_H

#include "native/unwind/eh_index.h"

#include <stdbool.h>

#define DW_TRAMPOLINE_BYTES 16 /* room for one, which begins at a multiple of it */

struct dw_trampolines {
    struct dw_eh_index unwinding; /* without bytes: there are none */
    uint32_t count;
};

bool dw_trampoline_is_name(const char *name);
/* Finds the trampolines in the code, `size` bytes that lie at the address. */
int dw_trampolines_find(const uint8_t *code, size_t size, uint64_t address,
                        struct dw_trampolines *found);

#endif
