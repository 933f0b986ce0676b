/* SPDX-License-Identifier: MIT
 * What rows are called, and what their shares are of. */
#include "lens/view/column.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

#define PATH_FRAMES_MAX 256 /* of a path in one cell */
#define JOINED_MAX 2        /* names before that of the row; of more, only the first */

struct dw_string dw_row_name(const struct dw_rows *rows, const struct dw_row *row)
{
    struct dw_string label = dw_row_tree(rows, row)->label;
    bool has_label = label.bytes && row->path == DW_PATH_ROOT;
    return has_label ? label : dw_profile_path_name(rows->profile, row->path);
}

void dw_row_put_name(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    struct dw_string name = dw_row_name(rows, row);
    if (rows->by == DW_BY_PATH)
        dw_row_put_path(out, rows, row);
    else
        dw_out_write(out, name.bytes, name.size);
}

/* The name of a frame on the row's path, and which "<module>" it is. */
static void put_frame(struct dw_out *out, const struct dw_rows *rows, dw_path_id path,
                      struct dw_string name)
{
    const struct dw_frame *frame = dw_profile_frame(rows->profile, path);
    dw_out_write(out, name.bytes, name.size);
    if (!frame->file || frame->kind != DW_FRAME_FUNCTION || strcmp(name.bytes, "<module>") != 0)
        return;
    struct dw_string file = dw_file_short(dw_profile_string(rows->profile, frame->file));
    dw_out_printf(out, " (%.*s)", (int)file.size, file.bytes);
}

static dw_path_id ancestor(const struct dw_rows *rows, dw_path_id path, uint32_t steps)
{
    while (steps--)
        path = rows->profile->functions.paths[path].parent;
    return path;
}

static void put_joined(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    uint32_t shown = row->joined > JOINED_MAX ? 1 : row->joined;
    for (uint32_t i = 0; i < shown; i++) {
        dw_path_id path = ancestor(rows, row->path, row->joined - i);
        put_frame(out, rows, path, dw_profile_path_name(rows->profile, path));
        dw_out_text(out, " > ");
    }
    dw_out_text(out, shown < row->joined ? "… > " : "");
}

static bool is_idle(const struct dw_rows *rows, const struct dw_row *row)
{
    uint32_t thread = dw_row_tree(rows, row)->thread;
    return row->parent == DW_ROW_NONE && thread != DW_ROW_NONE &&
           dw_roster_is_idle(rows->profile, thread);
}

void dw_row_put_label(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    if (rows->by == DW_BY_PATH) {
        dw_row_put_path(out, rows, row);
        return;
    }
    put_joined(out, rows, row);
    put_frame(out, rows, row->path, dw_row_name(rows, row));
    dw_out_text(out, is_idle(rows, row) ? " (idle)" : "");
}

void dw_row_put_path(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    struct dw_spelling spelling;
    dw_speller_spell(&rows->speller, row->path, PATH_FRAMES_MAX, &spelling);
    for (uint32_t i = 0; i < spelling.count; i++) {
        struct dw_string name = dw_profile_path_name(rows->profile, spelling.paths[i]);
        dw_out_text(out, i ? " > " : "");
        if (spelling.cut && i == spelling.cut_at) {
            dw_spelling_put_cut(out, &spelling);
            dw_out_text(out, " > ");
        }
        dw_out_write(out, name.bytes, name.size);
    }
}

void dw_rows_put_whole(struct dw_out *out, const struct dw_rows *rows)
{
    bool has_trees = rows->by == DW_BY_THREAD || rows->by == DW_BY_PROCESS;
    if (!rows->count || rows->are_counts)
        return;
    if (has_trees && !rows->is_flat) {
        dw_out_printf(out, "percentages are of each %s's own time\n",
                      rows->by == DW_BY_THREAD ? "thread" : "process");
    } else if (rows->are_samples) {
        dw_notes_put_whole(out, rows->profile, "");
    } else if (rows->is_flat && has_trees) {
        dw_out_text(out, "percentages are of ");
        dw_out_duration(out, rows->trees[0].total);
        dw_out_text(out, ", the sum of the rows\n");
    } else if (rows->overlaps) {
        dw_out_text(out, "percentages are of ");
        dw_out_duration(out, rows->trees[0].total);
        dw_out_text(out, ", the time that passed; threads ran side by side, so they can be more "
                         "than 100\n");
    }
}
