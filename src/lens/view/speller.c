/* SPDX-License-Identifier: MIT
 * Each path has a jump to some ancestor, so the outer end of a long path is found in a few steps.
 * Only the frames that are printed are visited. */
#include "lens/view/speller.h"

/* A jump is as long as the two before it when those are equal (a skew-binary
 * number of steps), so that any ancestor is O(log depth) jumps away. */
static void fill(struct dw_speller *speller, dw_path_id path)
{
    const uint32_t *depths = speller->depths;
    const dw_path_id *jumps = speller->jumps;
    dw_path_id parent = speller->paths[path].parent;
    dw_path_id once = jumps[parent], twice = jumps[once];
    speller->depths[path] = depths[parent] + 1;
    bool equal = depths[parent] - depths[once] == depths[once] - depths[twice];
    speller->jumps[path] = equal ? twice : parent;
}

int dw_speller_init(struct dw_speller *speller, const struct dw_path *paths, uint32_t count)
{
    *speller = (struct dw_speller){.paths = paths};
    DW_ROOM_GET(&speller->room, speller->depths, count);
    DW_ROOM_GET(&speller->room, speller->jumps, count);
    if (speller->room.failed) {
        dw_speller_release(speller);
        return DW_ERR_MEMORY;
    }
    for (dw_path_id path = DW_PATH_ROOT + 1; path < count; path++)
        fill(speller, path);
    return 0;
}

void dw_speller_release(struct dw_speller *speller)
{
    dw_room_release(&speller->room);
}

static dw_path_id ancestor(const struct dw_speller *speller, dw_path_id path, uint32_t depth)
{
    while (speller->depths[path] > depth) {
        dw_path_id jump = speller->jumps[path];
        path = speller->depths[jump] >= depth ? jump : speller->paths[path].parent;
    }
    return path;
}

/* Writes the `count` innermost frames of the path, ending before `end`. */
static void spell_back(const struct dw_speller *speller, dw_path_id path, uint32_t count,
                       dw_path_id *end)
{
    while (count--) {
        *--end = path;
        path = speller->paths[path].parent;
    }
}

void dw_speller_spell(const struct dw_speller *speller, dw_path_id path, uint32_t max,
                      struct dw_spelling *spelling)
{
    uint32_t depth = speller->depths[path];
    uint32_t outer = depth > max ? max / 2 : 0;
    spelling->count = depth > max ? max : depth;
    spelling->cut_at = outer;
    spelling->cut = depth - spelling->count;
    spell_back(speller, ancestor(speller, path, outer), outer, spelling->paths + outer);
    spell_back(speller, path, spelling->count - outer, spelling->paths + spelling->count);
}

void dw_spelling_put_cut(struct dw_out *out, const struct dw_spelling *spelling)
{
    dw_out_text(out, "[… ");
    dw_out_u64(out, spelling->cut);
    dw_out_text(out, " frames …]");
}
