/* SPDX-License-Identifier: MIT
 * Sorted by their files read from the end, those that have most in common are neighbours. */
#include "lens/view/functions.h"

#include "base/error.h"
#include "base/order.h"

#include <stdlib.h>

static size_t common_end(struct dw_string a, struct dw_string b)
{
    size_t least = a.size < b.size ? a.size : b.size, common = 0;
    while (common < least && a.bytes[a.size - 1 - common] == b.bytes[b.size - 1 - common])
        common++;
    return common;
}

static int compare_from_end(struct dw_string a, struct dw_string b)
{
    size_t common = common_end(a, b);
    if (common == a.size || common == b.size)
        return dw_ascending(a.size, b.size);
    uint8_t left = (uint8_t)a.bytes[a.size - 1 - common];
    uint8_t right = (uint8_t)b.bytes[b.size - 1 - common];
    return left < right ? -1 : 1;
}

/* Whether nothing but the directories differs. */
static int compare_looks(const struct dw_function *a, const struct dw_function *b)
{
    return dw_string_compare(dw_file_without_dirs(a->file), dw_file_without_dirs(b->file))
           ?: dw_ascending(a->line, b->line) ?: dw_string_compare(a->name, b->name);
}

static int compare(const void *left, const void *right)
{
    const struct dw_function *a = *(struct dw_function *const *)left;
    const struct dw_function *b = *(struct dw_function *const *)right;
    return compare_looks(a, b) ?: compare_from_end(a->file, b->file);
}

static bool is_same(const struct dw_function *a, const struct dw_function *b)
{
    return !compare_looks(a, b) && !compare_from_end(a->file, b->file);
}

/* What the function's file has in common with that of the next other one that looks like it, in the
 * direction of `step`. */
static size_t shared_with(struct dw_function *const *functions, uint32_t count, uint32_t at,
                          int step)
{
    uint32_t other = at;
    while (other < count && is_same(functions[at], functions[other]))
        other += (uint32_t)step; /* before the first comes what is not below the count */
    bool looks_same = other < count && !compare_looks(functions[at], functions[other]);
    return looks_same ? common_end(functions[at]->file, functions[other]->file) : 0;
}

/* The end of the file from the directory on that has more than `shared` bytes. */
static struct dw_string end_of(struct dw_string file, size_t shared)
{
    if (!shared)
        return dw_file_without_dirs(file);
    if (shared == file.size)
        return file;
    const char *slash = memrchr(file.bytes, '/', file.size - shared - 1);
    size_t start = slash ? (size_t)(slash + 1 - file.bytes) : 0;
    return (struct dw_string){file.bytes + start, file.size - start};
}

int dw_functions_strip_dirs(void *functions, size_t stride, uint32_t count)
{
    struct dw_string *ends = malloc((count + 1u) * sizeof *ends);
    struct dw_function **order = malloc((count + 1u) * sizeof *order);
    bool has_room = ends && order;
    for (uint32_t i = 0; has_room && i < count; i++)
        order[i] = (struct dw_function *)((uint8_t *)functions + i * stride);
    if (has_room)
        qsort(order, count, sizeof *order, compare);
    for (uint32_t i = 0; has_room && i < count; i++) {
        size_t before = shared_with(order, count, i, -1);
        size_t after = shared_with(order, count, i, 1);
        ends[i] = end_of(order[i]->file, before > after ? before : after);
    }
    for (uint32_t i = 0; has_room && i < count; i++)
        order[i]->file = ends[i];
    free(ends);
    free(order);
    return has_room ? 0 : DW_ERR_MEMORY;
}
