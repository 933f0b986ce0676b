/* SPDX-License-Identifier: MIT
 * The book is a sorted list of functions that do not overlap. Rows stay allocated until it is
 * released, because copies for handlers point to them. */
#include "native/unwind/code_rules.h"

#include "base/grow.h"

#include <string.h>

#define MAX_FUNCTIONS 4096

/* How many functions begin at the address or before. */
static uint32_t count_before(const struct dw_code_functions *functions, uint64_t address)
{
    uint32_t low = 0, high = functions->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (functions->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct dw_code_function *dw_code_function_at(const struct dw_code_functions *functions,
                                                   uint64_t address)
{
    uint32_t before = count_before(functions, address);
    const struct dw_code_function *function = before ? &functions->functions[before - 1] : NULL;
    return function && address < function->end ? function : NULL;
}

bool dw_code_rule_find(const struct dw_code_functions *functions, uint64_t address,
                       struct dw_cfi_rule *rule)
{
    const struct dw_code_function *function = dw_code_function_at(functions, address);
    uint32_t low = 0, high = function ? function->count : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (function->rows[middle].offset <= address - function->start)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !function->rows[low - 1].rule)
        return false;
    dw_cfi_unpack(function->rows[low - 1].rule, rule);
    return true;
}

static bool has_room(const struct dw_code_book *book, uint32_t at, uint64_t start, uint64_t end)
{
    bool is_after = !at || book->functions[at - 1].end <= start;
    return is_after && (at == book->count || book->functions[at].start >= end);
}

int dw_code_book_add(struct dw_code_book *book, uint64_t start, const uint8_t *code, size_t size)
{
    struct dw_code_functions functions = dw_code_book_functions(book);
    struct dw_code_function made = {.start = start, .end = start + size};
    struct dw_code_row *rows;
    uint32_t at = count_before(&functions, start);
    if (book->count == MAX_FUNCTIONS || !size || !has_room(book, at, start, made.end))
        return DW_ERR_ARGUMENT;
    if (DW_GROW(book->functions, book->count, book->capacity) ||
        DW_GROW(book->rows, book->row_count, book->row_capacity))
        return DW_ERR_MEMORY;
    int error = dw_code_rows_make(code, size, &rows, &made.count);
    if (error)
        return error;
    book->rows[book->row_count++] = rows;
    made.rows = rows;
    memmove(&book->functions[at + 1], &book->functions[at],
            (book->count - at) * sizeof *book->functions);
    book->functions[at] = made;
    book->count++;
    return 0;
}

struct dw_code_functions dw_code_book_functions(const struct dw_code_book *book)
{
    return (struct dw_code_functions){book->functions, book->count};
}

int dw_code_book_copy(const struct dw_code_book *book, struct dw_code_functions *functions)
{
    struct dw_code_function *copy = calloc(book->count + 1u, sizeof *copy);
    if (!copy)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < book->count; i++)
        copy[i] = book->functions[i];
    *functions = (struct dw_code_functions){copy, book->count};
    return 0;
}

void dw_code_book_forget(struct dw_code_book *book)
{
    book->count = 0;
}

void dw_code_book_release(struct dw_code_book *book)
{
    for (uint32_t i = 0; i < book->row_count; i++)
        free(book->rows[i]);
    free(book->rows);
    free(book->functions);
    *book = (struct dw_code_book){0};
}
