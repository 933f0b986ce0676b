/* SPDX-License-Identifier: MIT
 * Folded stacks, "<main>;a;b 123", as flamegraph.pl and its kin take them: one
 * line for each path with its self time in microseconds. */
#include "lens/lens.h"
#include "lens/row.h"

#define FRAMES_MAX DW_SPELL_MAX

/* `;` separates frames, so a name must not hold one. */
static void put_name(struct dw_out *out, struct dw_string name)
{
    const char *at = name.bytes, *end = at + name.size, *mark;
    while ((mark = memchr(at, ';', (size_t)(end - at)))) {
        dw_out_printable(out, at, (size_t)(mark - at));
        dw_out_char(out, ':');
        at = mark + 1;
    }
    dw_out_printable(out, at, (size_t)(end - at));
}

static void put_stack(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row,
                      struct dw_string root)
{
    struct dw_spelling spelling;
    dw_speller_spell(&rows->speller, row->path, FRAMES_MAX, &spelling);
    put_name(out, root);
    for (uint32_t i = 0; i < spelling.count; i++) {
        dw_out_char(out, ';');
        if (spelling.cut && i == spelling.cut_at) {
            dw_spelling_put_cut(out, &spelling);
            dw_out_char(out, ';');
        }
        put_name(out, dw_profile_path_name(rows->profile, spelling.paths[i]));
    }
}

static int write_collapsed(const struct dw_profile *profile, const struct dw_lens_options *options,
                           struct dw_out *out)
{
    bool is_tree = options->by == DW_BY_THREAD || options->by == DW_BY_PROCESS;
    struct dw_rows rows;
    int error = dw_rows_make(
        profile, &(struct dw_lens_options){.by = is_tree ? options->by : DW_BY_REGION}, &rows);
    if (error)
        return error;
    struct dw_string root = {"", 0};
    for (uint32_t i = 0; i < rows.count && !out->error; i++) {
        const struct dw_row *row = &rows.rows[i];
        uint64_t weight_us = row->self / 1000 + (row->self % 1000 >= 500);
        if (row->parent == DW_ROW_NONE)
            root = row->name;
        if (!weight_us)
            continue;
        put_stack(out, &rows, row, root);
        dw_out_char(out, ' ');
        dw_out_u64(out, weight_us);
        dw_out_char(out, '\n');
    }
    dw_rows_release(&rows);
    return 0;
}

const struct dw_lens dw_lens_collapsed = {
    .name = "collapsed",
    .summary = "folded stacks with self times, for flamegraph.pl and its kin",
    .extension = ".folded",
    .write = write_collapsed,
};
