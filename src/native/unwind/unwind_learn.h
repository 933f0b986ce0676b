/* SPDX-License-Identifier: MIT
 * Makes rules for functions when samples were taken in them. Not for handlers. */
#ifndef DW_NATIVE_UNWIND_UNWIND_LEARN_H
#define DW_NATIVE_UNWIND_UNWIND_LEARN_H

#include "native/unwind/unwind.h"

/* Learns the function in [start, start + size) when nothing tells how to leave it from `address`, a
 * place in it. True when the book has new rules; the unwinder's own list does not change. */
bool dw_unwind_learn(const struct dw_unwinder *unwinder, struct dw_code_book *book, uint64_t start,
                     uint64_t size, uint64_t address);

#endif
