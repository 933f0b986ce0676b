/* SPDX-License-Identifier: MIT
 * Spells a path out as its frames. A path may be 100,000 frames deep, so all
 * that print whole paths cut the middle out of a long one; skip pointers find
 * the outer end without walking the length of the path. */
#ifndef DW_LENS_VIEW_SPELLER_H
#define DW_LENS_VIEW_SPELLER_H

#include "base/out.h"
#include "base/room.h"
#include "model/path_tree.h"

struct dw_speller {
    const struct dw_path *paths;
    uint32_t *depths;  /* of each path; the root's is 0 */
    dw_path_id *jumps; /* of each path: an ancestor some way up */
    struct dw_room room;
};

#define DW_SPELL_MAX 1024 /* frames of one path that are ever printed */

/* The paths from below the root down to a path. When `cut` is not 0, that many
 * frames are missing before paths[cut_at]. */
struct dw_spelling {
    dw_path_id paths[DW_SPELL_MAX];
    uint32_t count;
    uint32_t cut_at;
    uint32_t cut;
};

/* The paths are borrowed. */
int dw_speller_init(struct dw_speller *speller, const struct dw_path *paths, uint32_t count);
void dw_speller_release(struct dw_speller *speller);
/* At most `max` frames (up to DW_SPELL_MAX). */
void dw_speller_spell(const struct dw_speller *speller, dw_path_id path, uint32_t max,
                      struct dw_spelling *spelling);
/* What stands for the frames that were cut out: "[… 12 frames …]". */
void dw_spelling_put_cut(struct dw_out *out, const struct dw_spelling *spelling);

#endif
