/* SPDX-License-Identifier: MIT
 * A diff as one JSON document. Times are nanoseconds, memory is bytes, and keys end with
 * which of them; in a normalised diff, changes are on the scale of the new profile. */
#include "lens/diff/diff.h"
#include "lens/view/notes.h"

#include <inttypes.h>

#define PATH_FRAMES_MAX 256

static void put_string(struct dw_out *out, const char *key, struct dw_string string)
{
    dw_out_printf(out, ", \"%s\": ", key);
    dw_out_json_string(out, string.bytes, string.size);
}

static void put_change(struct dw_out *out, const struct dw_diff *diff, const char *key, double by)
{
    dw_out_printf(out, ", \"%s_%s\": %.0f", key, dw_diff_unit(diff), by == 0 ? 0 : by);
}

static void put_sums(struct dw_out *out, const struct dw_diff *diff, const char *key,
                     const struct dw_diff_row *row, enum dw_side side)
{
    const struct dw_diff_sums *sums = &row->at[side];
    const char *unit = dw_diff_unit(diff);
    if (!row->is_in[side]) {
        dw_out_printf(out, ", \"%s\": null", key);
        return;
    }
    dw_out_printf(out, ", \"%s\": {", key);
    if (!diff->are_bytes)
        dw_out_printf(out, "\"%s\": %" PRIu64 ", ", diff->are_samples ? "samples" : "calls",
                      sums->count);
    dw_out_printf(out, "\"self_%s\": %" PRIu64 ", \"total_%s\": %" PRIu64 "}", unit, sums->self,
                  unit, sums->total);
}

static const char *status_of(const struct dw_diff *diff, const struct dw_diff_row *row)
{
    if (!row->is_in[DW_OLD] || !row->is_in[DW_NEW])
        return row->is_in[DW_NEW] ? "new" : "gone";
    return row->change == 0 ? "same" : dw_diff_word(diff, row->change > 0);
}

static void put_path(struct dw_out *out, const struct dw_diff *diff, uint32_t node)
{
    uint32_t nodes[PATH_FRAMES_MAX];
    uint32_t count = dw_diff_spell(diff, node, PATH_FRAMES_MAX, nodes);
    dw_out_text(out, ", \"path\": [");
    for (uint32_t i = 0; i < count; i++) {
        struct dw_string name = diff->places.places[diff->tree.nodes[nodes[i]].place].name;
        dw_out_text(out, i ? ", " : "");
        dw_out_json_string(out, name.bytes, name.size);
    }
    dw_out_char(out, ']');
}

static void put_lines(struct dw_out *out, const struct dw_diff_row *row)
{
    static const char *const keys[DW_SIDES] = {"old_line", "new_line"};
    static const char *const texts[DW_SIDES] = {"old_text", "new_text"};
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        if (!row->is_in[side])
            continue;
        dw_out_printf(out, ", \"%s\": %u", keys[side], row->lines[side]);
        if (row->texts[side].bytes)
            put_string(out, texts[side], row->texts[side]);
    }
}

static void put_ratio(struct dw_out *out, double old, double new)
{
    if (old > 0)
        dw_out_printf(out, ", \"ratio\": %.6g", new / old);
    else
        dw_out_text(out, ", \"ratio\": null");
}

static void put_row(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    const struct dw_diff_place *place = &diff->places.places[row->place];
    dw_out_printf(out, "{\"status\": \"%s\"", status_of(diff, row));
    put_string(out, "name", place->name);
    put_string(out, "file", place->file);
    dw_out_printf(out, ", \"line\": %u", place->line);
    if (place->moved.size)
        put_string(out, "moved_from", place->moved);
    if (row->node == DW_DIFF_NONE)
        put_lines(out, row);
    else
        put_path(out, diff, row->node);
    put_sums(out, diff, "old", row, DW_OLD);
    put_sums(out, diff, "new", row, DW_NEW);
    put_ratio(out, dw_diff_self(diff, row, DW_OLD), dw_diff_self(diff, row, DW_NEW));
    put_change(out, diff, "change", row->change);
    if (!diff->are_samples) {
        put_change(out, diff, "from_calls", row->from_calls);
        put_change(out, diff, "from_speed", row->from_speed);
    }
    put_change(out, diff, "change_total", row->change_total);
    dw_out_char(out, '}');
}

static void put_profile(struct dw_out *out, const struct dw_diff *diff, enum dw_side side)
{
    const struct dw_profile *profile = diff->profiles[side];
    const char *file = diff->options.files[side];
    dw_out_text(out, side == DW_OLD ? ",\n  \"old\": {\"file\": " : ",\n  \"new\": {\"file\": ");
    dw_out_json_string(out, file, strlen(file));
    dw_out_printf(out,
                  ", \"total_%s\": %" PRIu64 ", \"losses\": {\"damaged_parts\": %" PRIu64
                  ", \"damaged_bytes\": %" PRIu64 ", \"cut_processes\": %" PRIu64
                  ", \"dropped_events\": %" PRIu64 "}}",
                  dw_diff_unit(diff), diff->totals[side], profile->losses.damaged_chunks,
                  profile->losses.damaged_bytes, profile->losses.cut_files,
                  dw_notes_dropped(profile));
}

typedef void put_words(struct dw_out *out, const struct dw_diff *diff,
                       const struct dw_diff_row *row);

static void put_quoted(struct dw_out *out, const char *key, put_words *put,
                       const struct dw_diff *diff, const struct dw_diff_row *row)
{
    struct dw_out words;
    dw_out_init_memory(&words);
    put(&words, diff, row);
    dw_out_printf(out, "\"%s\": ", key);
    dw_out_json_string(out, words.buffer.data ? words.buffer.data : (uint8_t *)"",
                       words.buffer.size);
    dw_out_close_into(&words, out);
}

static void put_sentence(struct dw_out *out, const struct dw_diff *diff,
                         const struct dw_diff_row *row)
{
    (void)row;
    dw_diff_put_sentence(out, diff);
}

static void put_causes(struct dw_out *out, const struct dw_diff *diff)
{
    uint32_t rows[DW_DIFF_CAUSES_MAX], count = dw_diff_causes(diff, rows);
    dw_out_text(out, ",\n  \"causes\": [");
    for (uint32_t i = 0; i < count; i++) {
        const struct dw_diff_row *row = &diff->rows[rows[i]];
        dw_out_text(out, i ? ",\n    {" : "\n    {");
        put_quoted(out, "where", dw_diff_put_where, diff, row);
        dw_out_text(out, ", ");
        put_quoted(out, "reason", dw_diff_put_reason, diff, row);
        put_change(out, diff, "change", row->change);
        dw_out_char(out, '}');
    }
    dw_out_char(out, ']');
}

int dw_diff_write_json(const struct dw_diff *diff, struct dw_out *out)
{
    dw_out_printf(out, "{\n  \"dwell\": \"" DW_VERSION "\",\n  \"by\": \"%s\"",
                  dw_diff_by_names[diff->options.by]);
    dw_out_printf(out, ",\n  \"normalised\": %s", diff->options.normalise ? "true" : "false");
    put_profile(out, diff, DW_OLD);
    put_profile(out, diff, DW_NEW);
    dw_out_printf(out, ",\n  \"change_%s\": %.0f", dw_diff_unit(diff),
                  (double)diff->totals[DW_NEW] - (double)diff->totals[DW_OLD]);
    put_ratio(out, (double)diff->totals[DW_OLD], (double)diff->totals[DW_NEW]);
    dw_out_text(out, ",\n  ");
    put_quoted(out, "sentence", put_sentence, diff, NULL);
    put_causes(out, diff);
    dw_out_text(out, ",\n  \"rows\": [");
    for (uint32_t i = 0; i < diff->shown && !out->error; i++) {
        dw_out_text(out, i ? ",\n    " : "\n    ");
        put_row(out, diff, &diff->rows[i]);
    }
    dw_out_printf(out, "],\n  \"rows_left_out\": %u\n}\n", diff->count - diff->shown);
    return 0;
}
