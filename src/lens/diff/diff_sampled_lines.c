/* SPDX-License-Identifier: MIT
 * A sample is its innermost line's own: native code of which no line is known counts for the line
 * that called it. */
#include "base/error.h"
#include "lens/diff/diff_lines.h"
#include "lens/view/place_spots.h"
#include "lens/view/stack_tree.h"
#include "model/outermost.h"

#include <stdlib.h>

struct sampled {
    struct dw_stack_tree tree;
    struct dw_place_spots spots;
    /* Of each path: */
    uint32_t *spot_of;
    dw_path_id *line_of; /* the innermost on the way to it that has a line; the root: none has */
    bool *outermost;
    struct dw_room room;
};

static int sampled_init(struct sampled *sampled, const struct dw_profile *profile)
{
    int error = dw_stack_tree_make(profile, DW_FAMILY_SAMPLES, &sampled->tree);
    if (!error)
        error = dw_place_spots_make(&sampled->tree, DW_KEY_LINE, &sampled->spots);
    if (error)
        return error;
    uint32_t count = sampled->tree.count;
    DW_ROOM_GET(&sampled->room, sampled->spot_of, count);
    DW_ROOM_GET(&sampled->room, sampled->line_of, count);
    DW_ROOM_GET(&sampled->room, sampled->outermost, count);
    if (sampled->room.failed)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 1; path < count; path++) {
        const struct dw_path *at = &sampled->tree.paths[path];
        bool has_line = profile->places.places[at->step].line;
        sampled->spot_of[path] = sampled->spots.of[at->step];
        sampled->line_of[path] = has_line ? path : sampled->line_of[at->parent];
    }
    return dw_outermost_find(sampled->tree.paths, sizeof *sampled->tree.paths, count,
                             sampled->spot_of, sampled->spots.count, sampled->outermost);
}

static void add_up(const struct sampled *sampled, struct dw_diff_sums *sums)
{
    const struct dw_stack_tree *tree = &sampled->tree;
    for (dw_path_id path = 0; path < tree->count; path++) {
        dw_path_id line = sampled->line_of[path] ? sampled->line_of[path] : path;
        sums[sampled->spot_of[line]].self += tree->self[path].weight;
        if (!sampled->outermost[path])
            continue;
        sums[sampled->spot_of[path]].total += tree->total[path].weight;
        sums[sampled->spot_of[path]].count += tree->total[path].count;
    }
}

int dw_diff_lines_of_samples(const struct dw_profile *profile, const uint32_t *place_of,
                             struct dw_diff_lines *lines)
{
    struct sampled sampled = {0};
    int error = sampled_init(&sampled, profile);
    struct dw_diff_sums *sums = dw_room_get(&sampled.room, sampled.spots.count, sizeof *sums);
    lines->lines = malloc((sampled.spots.count + 1u) * sizeof *lines->lines);
    if (!error && !(sums && lines->lines))
        error = DW_ERR_MEMORY;
    if (!error)
        add_up(&sampled, sums);
    for (uint32_t spot = 0; !error && spot < sampled.spots.count; spot++) {
        const struct dw_place *place = sampled.spots.first[spot];
        bool is_line = place && place->line && place_of[place->frame] != DW_DIFF_NONE;
        if (sums[spot].self || (is_line && sums[spot].total))
            lines->lines[lines->count++] =
                (struct dw_diff_line){.place = place_of[place ? place->frame : 0],
                                      .line = place ? place->line : 0,
                                      .sums = sums[spot]};
    }
    dw_stack_tree_release(&sampled.tree);
    dw_place_spots_release(&sampled.spots);
    dw_room_release(&sampled.room);
    return error;
}
