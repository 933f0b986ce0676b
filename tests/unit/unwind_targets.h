/* SPDX-License-Identifier: MIT
 * Chains of calls to stand in: each ends in a call of `then`. Compiled with and without frame
 * pointers, and without the sanitizers of the build. */
#ifndef DW_TESTS_UNWIND_TARGETS_H
#define DW_TESTS_UNWIND_TARGETS_H

typedef void (*dw_then)(void);

/* outer -> middle -> inner -> then, with a variable frame, a huge and an aligned one. */
int dw_chain_outer(dw_then then);
int dw_chain_outer_fp(dw_then then);
/* Through qsort: the comparison calls `then` once. */
void dw_chain_sort(dw_then then);
/* Through assembler without unwind information, which keeps its frame in no register. */
void dw_chain_assembler(dw_then then);
void dw_chain_undescribed(dw_then then); /* the assembler */
/* Through a long function without unwind information, whose frame is in rbx below huge buffers. */
void dw_chain_matrix(dw_then then);
void dw_chain_kernel(dw_then then); /* the long function */
extern const char dw_chain_kernel_end[];
/* The same with the frame in no register. */
void dw_chain_dense_matrix(dw_then then);
void dw_chain_dense_kernel(dw_then then);
extern const char dw_chain_dense_kernel_end[];
/* Calls a function of its own. */
void dw_chain_call(dw_then then);

#endif
