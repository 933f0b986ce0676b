/* SPDX-License-Identifier: MIT
 * What the forms of a diff have in common: names, words, signed numbers, losses. */
#include "lens/diff/diff.h"
#include "lens/view/column.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"

#include <math.h>
#include <stdio.h>

const char *const dw_diff_by_names[DW_DIFF_BYS + 1] = {"function", "line", "path", "region", NULL};

#define SHORT_MAX 80       /* characters of a name in a sentence */
#define PATH_FRAMES_MAX 32 /* of a path in a table */

void dw_diff_put_short(struct dw_out *out, struct dw_string text)
{
    const uint8_t *start = (const uint8_t *)text.bytes, *at = start, *end = start + text.size;
    for (unsigned characters = 0; at < end && characters < SHORT_MAX; characters++) {
        size_t length = dw_utf8_length(at, end);
        at += length ? length : 1;
    }
    dw_out_printable(out, start, (size_t)(at - start));
    if (at < end)
        dw_out_text(out, "…");
}

const char *dw_diff_word(const struct dw_diff *diff, bool is_more)
{
    if (diff->are_bytes)
        return is_more ? "larger" : "smaller";
    return is_more ? "slower" : "faster";
}

const char *dw_diff_unit(const struct dw_diff *diff)
{
    return diff->are_bytes ? "bytes" : "ns";
}

void dw_diff_put_amount(struct dw_out *out, const struct dw_diff *diff, double amount)
{
    (diff->are_bytes ? dw_out_bytes : dw_out_duration)(out, dw_whole_ns(amount));
}

void dw_diff_put_change(struct dw_out *out, const struct dw_diff *diff, double ns)
{
    double whole = dw_diff_whole(diff);
    if (diff->options.normalise) {
        dw_out_printf(out, "%+.2f %%", whole > 0 ? 100 * ns / whole : 0);
        return;
    }
    double rounded = round(fabs(ns));
    dw_out_char(out, ns < 0 && rounded > 0 ? '-' : '+');
    dw_diff_put_amount(out, diff, rounded);
}

static void put_place(struct dw_out *out, const struct dw_diff *diff, uint32_t index)
{
    const struct dw_diff_place *place = &diff->places.places[index];
    if (place->kind != DW_FRAME_FUNCTION) {
        dw_out_printable(out, place->name.bytes, place->name.size);
        return;
    }
    struct dw_out label;
    dw_out_init_memory(&label);
    dw_function_put_label(
        &label,
        &(struct dw_function){.file = place->shown, .line = place->line, .name = place->name});
    dw_out_printable(out, label.buffer.data, label.buffer.size);
    dw_out_close_into(&label, out);
}

uint32_t dw_diff_spell(const struct dw_diff *diff, uint32_t node, uint32_t max, uint32_t *nodes)
{
    uint32_t count = 0;
    for (uint32_t at = node; at && count < max; at = diff->tree.nodes[at].parent)
        count++;
    for (uint32_t i = count; i-- > 0; node = diff->tree.nodes[node].parent)
        nodes[i] = node;
    return count;
}

/* The root is only named when it is all there is. */
static void put_path(struct dw_out *out, const struct dw_diff *diff, uint32_t node)
{
    uint32_t nodes[PATH_FRAMES_MAX];
    uint32_t count = dw_diff_spell(diff, node, PATH_FRAMES_MAX, nodes);
    uint32_t outermost = count ? diff->tree.nodes[nodes[0]].parent : 0;
    if (!count)
        put_place(out, diff, diff->tree.nodes[node].place);
    if (outermost)
        dw_out_text(out, "… > ");
    for (uint32_t i = 0; i < count; i++) {
        struct dw_string name = diff->places.places[diff->tree.nodes[nodes[i]].place].name;
        dw_out_text(out, i ? " > " : "");
        dw_out_printable(out, name.bytes, name.size);
    }
}

static void put_line(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    enum dw_side side = row->is_in[DW_NEW] ? DW_NEW : DW_OLD;
    const struct dw_diff_place *place = &diff->places.places[row->place];
    if (!row->lines[side])
        return put_place(out, diff, row->place);
    dw_out_printable(out, place->shown.bytes, place->shown.size);
    dw_out_printf(out, ":%u ", row->lines[side]);
    if (row->texts[side].size) {
        dw_diff_put_short(out, row->texts[side]);
        return;
    }
    dw_out_char(out, '(');
    dw_out_printable(out, place->name.bytes, place->name.size);
    dw_out_char(out, ')');
}

void dw_diff_put_row_name(struct dw_out *out, const struct dw_diff *diff,
                          const struct dw_diff_row *row)
{
    if (diff->options.by == DW_DIFF_LINE)
        put_line(out, diff, row);
    else if (diff->options.by == DW_DIFF_FUNCTION)
        put_place(out, diff, row->place);
    else
        put_path(out, diff, row->node);
}

void dw_diff_put_losses(struct dw_out *out, const struct dw_diff *diff, const char *prefix)
{
    static const char *const names[DW_SIDES] = {"old: ", "new: "};
    char start[64];
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        snprintf(start, sizeof start, "%s%s", prefix, names[side]);
        dw_notes_put_losses(out, diff->profiles[side], start);
    }
}
