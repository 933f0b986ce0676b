/* SPDX-License-Identifier: MIT
 * Folded stacks, "<main>;a;b 123", as flamegraph.pl and its kin take them: one
 * line for each path with its self time in microseconds, or its number of samples where
 * nothing says how long these were. */
#include "base/error.h"
#include "lens/lens.h"
#include "lens/view/functions.h"
#include "lens/view/line_stacks.h"
#include "lens/view/row.h"

#include <inttypes.h>

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

/* Numbers of samples stay what they are. What a line lacks of a microsecond, or has beyond it, is
 * left to the next one in *rest_ns, so that the lines add up to the whole. */
static uint64_t weight_of(bool is_count, uint64_t ns, int64_t *rest_ns)
{
    if (is_count)
        return ns;
    int64_t due_ns = (int64_t)(ns % 1000) + *rest_ns;
    bool is_more = due_ns >= 500;
    *rest_ns = due_ns - (is_more ? 1000 : 0);
    return ns / 1000 + is_more;
}

static void put_line(struct dw_out *out, const struct dw_profile *profile,
                     const struct dw_place *place)
{
    struct dw_string source = dw_place_source(profile, place);
    struct dw_string file =
        dw_file_without_dirs(source.size ? source : dw_place_module(profile, place));
    put_name(out, dw_profile_string(profile, dw_place_frame(profile, place)->name));
    if (!file.size)
        return;
    dw_out_text(out, " (");
    put_name(out, file);
    if (source.size && place->line)
        dw_out_printf(out, ":%" PRIu32, place->line);
    dw_out_char(out, ')');
}

static void put_line_stack(struct dw_out *out, const struct dw_profile *profile,
                           const struct dw_line_stacks *stacks, const struct dw_speller *speller,
                           dw_path_id path)
{
    struct dw_spelling spelling;
    dw_speller_spell(speller, path, FRAMES_MAX, &spelling);
    put_name(out, dw_profile_path_name(profile, DW_PATH_ROOT));
    for (uint32_t i = 0; i < spelling.count; i++) {
        dw_out_char(out, ';');
        if (spelling.cut && i == spelling.cut_at) {
            dw_spelling_put_cut(out, &spelling);
            dw_out_char(out, ';');
        }
        uint32_t spot = stacks->paths.paths[spelling.paths[i]].step;
        if (spot)
            put_line(out, profile, stacks->spots.first[spot]);
    }
}

static int write_lines(const struct dw_profile *profile, struct dw_out *out)
{
    struct dw_line_stacks stacks = {0};
    struct dw_speller speller = {0};
    bool are_counts = dw_samples_are_counts(profile);
    int64_t rest_ns = 0;
    int error = dw_line_stacks_make(profile, &stacks);
    if (!error)
        error = dw_speller_init(&speller, stacks.paths.paths, stacks.paths.count);
    for (dw_path_id path = 0; !error && path < stacks.paths.count && !out->error; path++) {
        uint64_t weight = weight_of(are_counts, stacks.self[path].weight, &rest_ns);
        if (!weight)
            continue;
        put_line_stack(out, profile, &stacks, &speller, path);
        dw_out_char(out, ' ');
        dw_out_u64(out, weight);
        dw_out_char(out, '\n');
    }
    dw_line_stacks_release(&stacks);
    dw_speller_release(&speller);
    return error;
}

static int write_collapsed(const struct dw_profile *profile, const struct dw_lens_options *options,
                           struct dw_out *out)
{
    if (options->with_lines && dw_shows_samples(profile, options->family))
        return write_lines(profile, out);
    bool is_tree = options->by == DW_BY_THREAD || options->by == DW_BY_PROCESS;
    struct dw_rows rows;
    struct dw_lens_options wanted = {.family = options->family,
                                     .by = is_tree ? options->by : DW_BY_REGION};
    int error = dw_rows_make(profile, &wanted, &rows);
    if (error)
        return error;
    struct dw_string root = {"", 0};
    int64_t rest_ns = 0;
    for (uint32_t i = 0; i < rows.count && !out->error; i++) {
        const struct dw_row *row = &rows.rows[i];
        uint64_t weight = weight_of(rows.are_counts, row->self, &rest_ns);
        if (row->parent == DW_ROW_NONE)
            root = row->name;
        if (!weight)
            continue;
        put_stack(out, &rows, row, root);
        dw_out_char(out, ' ');
        dw_out_u64(out, weight);
        dw_out_char(out, '\n');
    }
    dw_rows_release(&rows);
    return 0;
}

const struct dw_lens dw_lens_collapsed = {
    .name = "collapsed",
    .summary = "folded stacks with self times, for flamegraph.pl and its kin",
    .extension = ".folded",
    .lacks_notes = true,
    .write = write_collapsed,
};
