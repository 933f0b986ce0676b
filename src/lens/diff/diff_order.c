/* SPDX-License-Identifier: MIT
 * Dynamic programming over all pairs; what is too long for that is paired in order. */
#include "lens/diff/diff_order.h"

#include "base/grow.h"
#include "base/order.h"

#define PAIRS_MAX (1u << 22) /* cells of the table of partial results */

int dw_diff_anchor_add(struct dw_diff_anchors *anchors, uint32_t file, uint32_t old_line,
                       uint32_t new_line)
{
    int error = DW_GROW(anchors->anchors, anchors->count, anchors->capacity);
    if (!error)
        anchors->anchors[anchors->count++] = (struct dw_diff_anchor){file, old_line, new_line};
    return error;
}

static int compare_anchors(const void *left, const void *right)
{
    const struct dw_diff_anchor *a = left, *b = right;
    return dw_ascending(a->file, b->file) ?: dw_ascending(a->old_line, b->old_line);
}

void dw_diff_anchors_sort(struct dw_diff_anchors *anchors)
{
    if (anchors->count)
        qsort(anchors->anchors, anchors->count, sizeof *anchors->anchors, compare_anchors);
}

void dw_diff_anchors_release(struct dw_diff_anchors *anchors)
{
    free(anchors->anchors);
    *anchors = (struct dw_diff_anchors){0};
}

/* How far the last anchor above the line moved; 0 when there is none. */
static int64_t shift_at(const struct dw_diff_anchors *anchors, uint32_t file, uint32_t line)
{
    struct dw_diff_anchor key = {.file = file, .old_line = line};
    uint32_t low = 0, high = anchors->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_anchors(&anchors->anchors[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || anchors->anchors[low - 1].file != file)
        return 0;
    return (int64_t)anchors->anchors[low - 1].new_line - anchors->anchors[low - 1].old_line;
}

static bool is_too_much(uint32_t old_count, uint32_t new_count)
{
    return ((uint64_t)old_count + 1) * ((uint64_t)new_count + 1) > PAIRS_MAX;
}

static void pair_straight(uint32_t old_count, uint32_t new_count, uint32_t *mates)
{
    for (uint32_t i = 0; i < old_count; i++)
        mates[i] = i < new_count ? i : DW_DIFF_NONE;
}

/* A table of the best result for the first i of the few among the first j of the many. */
struct board {
    uint64_t *cells;
    uint32_t width;
};

static uint64_t *cell(const struct board *board, uint32_t i, uint32_t j)
{
    return &board->cells[(size_t)i * board->width + j];
}

static uint64_t distance(int64_t few, int64_t many)
{
    return (uint64_t)(few > many ? few - many : many - few);
}

/* Each of the few has a mate among the many; wanted are the lines where those should be. */
static void fill_distances(const struct board *board, const int64_t *few, uint32_t few_count,
                           const int64_t *many, uint32_t many_count)
{
    for (uint32_t i = 0; i <= few_count; i++) {
        for (uint32_t j = 0; j <= many_count; j++) {
            uint64_t best = i ? UINT64_MAX / 2 : 0;
            if (i && j)
                best = *cell(board, i - 1, j - 1) + distance(few[i - 1], many[j - 1]);
            if (i && j > i && *cell(board, i, j - 1) < best)
                best = *cell(board, i, j - 1);
            *cell(board, i, j) = best;
        }
    }
}

static void trace_distances(const struct board *board, uint32_t few_count, uint32_t many_count,
                            bool few_are_old, uint32_t *mates)
{
    for (uint32_t i = few_count, j = many_count; i; j--) {
        if (j > i && *cell(board, i, j) == *cell(board, i, j - 1))
            continue;
        i--;
        if (few_are_old)
            mates[i] = j - 1;
        else
            mates[j - 1] = i;
    }
}

int dw_diff_pair_lines(const struct dw_diff_anchors *anchors, uint32_t file, const uint32_t *old,
                       uint32_t old_count, const uint32_t *new, uint32_t new_count, uint32_t *mates)
{
    pair_straight(old_count, new_count, mates);
    if (old_count == new_count || is_too_much(old_count, new_count))
        return 0;
    struct board board = {.width = (old_count > new_count ? old_count : new_count) + 1};
    uint32_t few_count = old_count < new_count ? old_count : new_count;
    int64_t *wanted = malloc((old_count + new_count) * sizeof *wanted), *there = wanted + old_count;
    board.cells = malloc((few_count + 1u) * (size_t)board.width * sizeof *board.cells);
    int error = wanted && board.cells ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 0; i < old_count && !error; i++) {
        wanted[i] = old[i] + shift_at(anchors, file, old[i]);
        mates[i] = DW_DIFF_NONE;
    }
    for (uint32_t i = 0; i < new_count && !error; i++)
        there[i] = new[i];
    if (!error && old_count < new_count)
        fill_distances(&board, wanted, old_count, there, new_count);
    else if (!error)
        fill_distances(&board, there, new_count, wanted, old_count);
    if (!error)
        trace_distances(&board, few_count, board.width - 1, old_count < new_count, mates);
    free(wanted);
    free(board.cells);
    return error;
}

/* The longest common subsequence of the texts from i and from j on. */
static void fill_common(const struct board *board, const struct dw_string *old, uint32_t old_count,
                        const struct dw_string *new, uint32_t new_count)
{
    for (uint32_t i = old_count + 1; i-- > 0;) {
        for (uint32_t j = new_count + 1; j-- > 0;) {
            uint64_t best = 0;
            if (i < old_count && j < new_count) {
                uint64_t without = *cell(board, i + 1, j), other = *cell(board, i, j + 1);
                best = without > other ? without : other;
                if (!dw_string_compare(old[i], new[j]))
                    best = 1 + *cell(board, i + 1, j + 1);
            }
            *cell(board, i, j) = best;
        }
    }
}

static void trace_common(const struct board *board, const struct dw_string *old, uint32_t old_count,
                         const struct dw_string *new, uint32_t new_count, uint32_t *mates)
{
    for (uint32_t i = 0, j = 0; i < old_count && j < new_count;) {
        if (!dw_string_compare(old[i], new[j]))
            mates[i++] = j++;
        else if (*cell(board, i + 1, j) >= *cell(board, i, j + 1))
            i++;
        else
            j++;
    }
}

/* Between two pairs, as many old as new ones are lines that were edited. */
static void pair_edited(uint32_t *mates, uint32_t old_count, uint32_t new_count)
{
    uint32_t new_start = 0;
    for (uint32_t start = 0, end; start < old_count; start = end + 1) {
        end = start;
        while (end < old_count && mates[end] == DW_DIFF_NONE)
            end++;
        uint32_t new_end = end < old_count ? mates[end] : new_count;
        if (end - start == new_end - new_start)
            for (uint32_t i = start; i < end; i++)
                mates[i] = new_start + i - start;
        new_start = new_end + 1;
    }
}

int dw_diff_pair_texts(const struct dw_string *old, uint32_t old_count, const struct dw_string *new,
                       uint32_t new_count, uint32_t *mates)
{
    if (is_too_much(old_count, new_count)) {
        pair_straight(old_count, new_count, mates);
        return 0;
    }
    struct board board = {.width = new_count + 1};
    board.cells = malloc((old_count + 1u) * (size_t)board.width * sizeof *board.cells);
    if (!board.cells)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < old_count; i++)
        mates[i] = DW_DIFF_NONE;
    fill_common(&board, old, old_count, new, new_count);
    trace_common(&board, old, old_count, new, new_count, mates);
    pair_edited(mates, old_count, new_count);
    free(board.cells);
    return 0;
}
