/* SPDX-License-Identifier: MIT
 * A block counts for every line that is on the stack that allocated it, once in recursion. */
#include "model/prepare/line_blocks.h"

#include "base/error.h"
#include "model/outermost.h"

#include <stdlib.h>

enum { ALLOCATED, LIVE, PEAK, SUMS };

struct folding {
    struct dw_profile *profile;
    const struct dw_path *paths;
    uint32_t count;
    uint64_t (*sums)[SUMS]; /* by path: with what is under it */
    uint32_t *rows;         /* by path: 1 + the row of its line; 0: none */
    bool *outermost;
};

static void add_up(struct folding *folding)
{
    static const enum dw_measure measures[SUMS] = {DW_ALLOC_BYTES, DW_LIVE_BYTES, DW_PEAK_BYTES};
    for (uint32_t t = 0; t < folding->profile->thread_count; t++) {
        const struct dw_value_table *values = &folding->profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++)
            for (int s = 0; s < SUMS; s++)
                folding->sums[values->rows[i].path][s] +=
                    dw_value_get(values, &values->rows[i], measures[s]);
    }
    for (dw_path_id path = folding->count; path-- > 1;)
        for (int s = 0; s < SUMS; s++)
            folding->sums[folding->paths[path].parent][s] += folding->sums[path][s];
}

/* Only lines that were watched have one. */
static void find_rows(struct folding *folding)
{
    const struct dw_line_table *lines = &folding->profile->lines;
    for (dw_path_id path = 1; path < folding->count; path++) {
        const struct dw_place *place = &folding->profile->places.places[folding->paths[path].step];
        const struct dw_line *row = place->line && folding->sums[path][ALLOCATED]
                                        ? dw_line_find(lines, place->frame, place->line)
                                        : NULL;
        folding->rows[path] = row ? 1 + (uint32_t)(row - lines->lines) : 0;
    }
}

static int add_to_lines(struct folding *folding)
{
    struct dw_line_table *lines = &folding->profile->lines;
    int error = dw_outermost_find(folding->paths, sizeof *folding->paths, folding->count,
                                  folding->rows, lines->count + 1, folding->outermost);
    for (dw_path_id path = 1; path < folding->count && !error; path++) {
        const uint64_t *sums = folding->sums[path];
        if (!folding->rows[path] || !folding->outermost[path])
            continue;
        uint64_t *values = lines->lines[folding->rows[path] - 1].values;
        values[DW_LINE_ALLOCATED] += sums[ALLOCATED];
        values[DW_LINE_FREED] += sums[ALLOCATED] > sums[LIVE] ? sums[ALLOCATED] - sums[LIVE] : 0;
        values[DW_LINE_KEPT] += sums[LIVE];
        values[DW_LINE_PEAK] += sums[PEAK];
    }
    return error;
}

int dw_blocks_fold_lines(struct dw_profile *profile)
{
    struct folding folding = {
        .profile = profile, .paths = profile->paths.paths, .count = profile->paths.count};
    folding.sums = calloc(folding.count, sizeof *folding.sums);
    folding.rows = calloc(folding.count, sizeof *folding.rows);
    folding.outermost = calloc(folding.count, sizeof *folding.outermost);
    int error = folding.sums && folding.rows && folding.outermost ? 0 : DW_ERR_MEMORY;
    if (!error) {
        add_up(&folding);
        find_rows(&folding);
        error = add_to_lines(&folding);
    }
    free(folding.sums);
    free(folding.rows);
    free(folding.outermost);
    return error;
}
