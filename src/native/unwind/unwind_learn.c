/* SPDX-License-Identifier: MIT
 * A function is tried once, when a sample in it shows that nothing describes it. */
#include "native/unwind/unwind_learn.h"

#include <stdlib.h>

#define MAX_BYTES (1u << 20)

/* What was tried is in the book, understood or not. */
static bool is_new(const struct dw_code_book *book, uint64_t address)
{
    struct dw_code_functions functions = dw_code_book_functions(book);
    return !dw_code_function_at(&functions, address);
}

bool dw_unwind_learn(const struct dw_unwinder *unwinder, struct dw_code_book *book, uint64_t start,
                     uint64_t size, uint64_t address)
{
    if (!size || size > MAX_BYTES || !is_new(book, address) ||
        dw_unwind_has_rule(unwinder, address))
        return false;
    uint8_t *code = malloc(size);
    bool is_added = code && unwinder->doubt.read(unwinder->doubt.context, start, code, size) &&
                    !dw_code_book_add(book, start, code, size);
    free(code);
    struct dw_code_functions functions = dw_code_book_functions(book);
    return is_added && dw_code_function_at(&functions, address)->count;
}
