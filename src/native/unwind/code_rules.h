/* SPDX-License-Identifier: MIT
 * Rules of unwinding for functions that describe none, made from their instructions. Making them
 * allocates and takes up to milliseconds; searching is [signal-safe]. */
#ifndef DW_NATIVE_UNWIND_CODE_RULES_H
#define DW_NATIVE_UNWIND_CODE_RULES_H

#include "native/unwind/cfi_rule.h"

#include <stddef.h>

/* From that byte of the function on, to the next row. */
struct dw_code_row {
    uint32_t offset;
    uint64_t rule; /* dw_cfi_pack's; 0: none */
};

/* The rows of a function whose first byte and size are known; `rows` is on the heap. A function
 * that is not understood has 0 rows, which is not an error. */
int dw_code_rows_make(const uint8_t *code, size_t size, struct dw_code_row **rows, uint32_t *count);

struct dw_code_function {
    uint64_t start, end;
    const struct dw_code_row *rows;
    uint32_t count; /* 0: it was not understood */
};

/* Sorted by start, without overlaps. */
struct dw_code_functions {
    const struct dw_code_function *functions;
    uint32_t count;
};

/* [signal-safe] The function that holds the address, or NULL. */
const struct dw_code_function *dw_code_function_at(const struct dw_code_functions *functions,
                                                   uint64_t address);
/* [signal-safe] False when there is none. */
bool dw_code_rule_find(const struct dw_code_functions *functions, uint64_t address,
                       struct dw_cfi_rule *rule);

/* The functions of a process that rules were made for. */
struct dw_code_book {
    struct dw_code_function *functions; /* owned */
    uint32_t count, capacity;
    struct dw_code_row **rows; /* owned, with what they point to: all that were ever made */
    uint32_t row_count, row_capacity;
};

/* Makes the rules of the function in [start, start + size), whose bytes are at `code`. */
int dw_code_book_add(struct dw_code_book *book, uint64_t start, const uint8_t *code, size_t size);
/* The book's list as it is now; the next change to the book makes it invalid. */
struct dw_code_functions dw_code_book_functions(const struct dw_code_book *book);
/* A copy that stays valid when the book changes, until the book is released. The caller frees
 * it. */
int dw_code_book_copy(const struct dw_code_book *book, struct dw_code_functions *functions);
/* Forgets all functions: other code may be there now. Copies stay valid. */
void dw_code_book_forget(struct dw_code_book *book);
void dw_code_book_release(struct dw_code_book *book);

#endif
