/* SPDX-License-Identifier: MIT
 * A flame graph: boxes as wide as the time in a path with what is inside, coloured by
 * file. The colour hangs on the name alone, so that it is the same in every picture. */
#include "base/error.h"
#include "lens/flame/flame_svg.h"
#include "lens/view/column.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

#include <inttypes.h>
#include <stdlib.h>

#define HUES 8
#define SHADES 3
#define KEYS 4

static const struct dw_flame_key keys[KEYS] = {{"builtin", "function in C"},
                                               {"native", "native code"},
                                               {"kernel", "kernel"},
                                               {"mark", "no function"}};

struct drawing {
    const struct dw_profile *profile;
    struct dw_rows rows;
    struct dw_flame_box *boxes; /* one for each row */
    double whole;               /* time of all trees */
    bool has[KEYS];             /* what the colours of the key stand for */
};

/* "json/decoder.py": where it is installed does not matter, but there are many __init__.py. */
static struct dw_string last_two_parts(struct dw_string file)
{
    struct dw_string base = dw_file_without_dirs(file);
    size_t dirs = file.size - base.size;
    if (!dirs)
        return base;
    struct dw_string dir = dw_file_without_dirs((struct dw_string){file.bytes, dirs - 1});
    return (struct dw_string){dir.bytes, dir.size + 1 + base.size};
}

static bool is_kernel(struct dw_string file)
{
    return file.size > 7 && !memcmp(file.bytes, "[kernel", 7);
}

/* The file gives the hue, the name a shade of it; what is in no file has a hue by its name. */
static const char *look_of(const struct dw_profile *profile, const struct dw_frame *frame)
{
    static const char *const looks[HUES][SHADES] = {
        {"hue0", "hue0 pale", "hue0 paler"}, {"hue1", "hue1 pale", "hue1 paler"},
        {"hue2", "hue2 pale", "hue2 paler"}, {"hue3", "hue3 pale", "hue3 paler"},
        {"hue4", "hue4 pale", "hue4 paler"}, {"hue5", "hue5 pale", "hue5 paler"},
        {"hue6", "hue6 pale", "hue6 paler"}, {"hue7", "hue7 pale", "hue7 paler"}};
    static const char *const native_looks[SHADES] = {"native", "native pale", "native paler"};
    struct dw_string name = dw_profile_string(profile, frame->name);
    struct dw_string file = last_two_parts(dw_profile_string(profile, frame->file));
    uint64_t shade = dw_hash_name(name.bytes, name.size);
    uint64_t hue = file.size ? dw_hash_name(file.bytes, file.size) : shade >> 32;
    if (frame->kind == DW_FRAME_ROOT)
        return "other";
    if (frame->kind == DW_FRAME_MARK || frame->kind == DW_FRAME_NATIVE)
        return frame->kind == DW_FRAME_MARK ? "mark"
               : is_kernel(file)            ? "kernel"
                                            : native_looks[hue % SHADES];
    return frame->kind == DW_FRAME_BUILTIN ? "builtin" : looks[hue % HUES][shade % SHADES];
}

/* Own times added up: recorded totals may be less than what is inside, where a log is cut. */
static void make_boxes(struct drawing *drawing)
{
    const struct dw_rows *rows = &drawing->rows;
    for (uint32_t i = rows->count; i-- > 0;) {
        const struct dw_row *row = &rows->rows[i];
        const struct dw_frame *frame = dw_profile_frame(drawing->profile, row->path);
        struct dw_flame_box *box = &drawing->boxes[i];
        box->parent = row->parent == DW_ROW_NONE ? i : row->parent;
        box->weight += (double)row->self;
        box->look = look_of(drawing->profile, frame);
        for (size_t key = 0; key < KEYS; key++)
            drawing->has[key] |= !strncmp(box->look, keys[key].look, strlen(keys[key].look));
        if (box->parent == i)
            drawing->whole += box->weight;
        else
            drawing->boxes[box->parent].weight += box->weight;
    }
}

/* The name first: a narrow box shows no more than that. */
static void put_name(struct dw_out *out, const void *context, uint32_t box)
{
    const struct drawing *drawing = context;
    const struct dw_row *row = &drawing->rows.rows[box];
    const struct dw_frame *frame = dw_profile_frame(drawing->profile, row->path);
    struct dw_string name = dw_row_name(&drawing->rows, row);
    dw_out_printable(out, name.bytes, name.size);
    if ((frame->kind != DW_FRAME_FUNCTION && frame->kind != DW_FRAME_NATIVE) || !frame->file)
        return;
    struct dw_string file = dw_file_without_dirs(dw_profile_string(drawing->profile, frame->file));
    dw_out_text(out, "  ");
    dw_out_printable(out, file.bytes, file.size);
    if (frame->line)
        dw_out_printf(out, ":%" PRIu32, frame->line);
}

/* Bytes have their unit with them. */
static bool says_samples(const struct drawing *drawing)
{
    return drawing->rows.are_counts && !drawing->rows.are_bytes;
}

static void put_weight(struct dw_out *out, const void *context, double ns)
{
    const struct drawing *drawing = context;
    dw_rows_put_time(out, &drawing->rows, dw_whole_ns(ns));
    dw_out_text(out, says_samples(drawing) ? " samples" : "");
    dw_out_printf(out, ", %.2f %%", drawing->whole > 0 ? 100 * ns / drawing->whole : 0);
}

static void put_details(struct dw_out *out, const void *context, uint32_t box)
{
    const struct drawing *drawing = context;
    const struct dw_row *row = &drawing->rows.rows[box];
    struct dw_metric metric = dw_row_metric(&drawing->rows, row);
    put_weight(out, context, drawing->boxes[box].weight);
    dw_out_text(out, drawing->rows.are_bytes ? "\nown " : "\nown time ");
    put_weight(out, context, (double)row->self);
    if (row->path != DW_PATH_ROOT && !drawing->rows.are_bytes)
        dw_out_printf(out, "\n%s %" PRIu64, drawing->rows.are_samples ? "samples" : "count",
                      metric.count + metric.open);
}

static void put_heading(struct dw_out *out, const void *context)
{
    const struct dw_profile *profile = ((const struct drawing *)context)->profile;
    if (profile->process_count)
        dw_roster_put_process(out, profile, 0);
    if (profile->process_count > 1)
        dw_out_printf(out, " and %" PRIu32 " more", profile->process_count - 1);
}

static void put_lines(struct dw_out *out, const void *context)
{
    const struct drawing *drawing = context;
    dw_rows_put_time(out, &drawing->rows, dw_whole_ns(drawing->whole));
    dw_out_text(out, says_samples(drawing) ? " samples" : "");
    uint32_t threads = dw_family_thread_count(drawing->profile, drawing->rows.family);
    if (threads > 1)
        dw_out_printf(out, " in %" PRIu32 " threads", threads);
    dw_out_printf(out, "; widths are %s with what is inside",
                  drawing->rows.are_counts ? dw_counts_unit(drawing->profile) : "times");
    dw_out_text(out, drawing->rows.family != DW_FAMILY_REGIONS
                         ? ", and functions of one file have one colour\n"
                         : "\n");
    if (drawing->rows.are_samples)
        dw_notes_put_sampling(out, drawing->profile, "");
    dw_notes_put_losses(out, drawing->profile, "");
}

static int draw(const struct drawing *drawing, struct dw_out *out)
{
    struct dw_flame_key used[KEYS];
    size_t key_count = 0;
    for (size_t i = 0; i < KEYS; i++)
        if (drawing->has[i])
            used[key_count++] = keys[i];
    const struct dw_flame flame = {.boxes = drawing->boxes,
                                   .count = drawing->rows.count,
                                   .context = drawing,
                                   .put_name = put_name,
                                   .put_details = put_details,
                                   .put_weight = put_weight,
                                   .put_heading = put_heading,
                                   .put_lines = put_lines,
                                   .keys = used,
                                   .key_count = key_count};
    return dw_flame_write(&flame, out);
}

static int write_svg(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    bool has_trees = options->by == DW_BY_THREAD || options->by == DW_BY_PROCESS;
    struct drawing drawing = {.profile = profile};
    struct dw_lens_options wanted = {.family = options->family,
                                     .by = has_trees ? options->by : DW_BY_REGION};
    int error = dw_rows_make(profile, &wanted, &drawing.rows);
    if (error)
        return error;
    drawing.boxes = calloc(drawing.rows.count + 1u, sizeof *drawing.boxes);
    if (drawing.boxes)
        make_boxes(&drawing);
    error = drawing.boxes ? draw(&drawing, out) : DW_ERR_MEMORY;
    free(drawing.boxes);
    dw_rows_release(&drawing.rows);
    return error;
}

const struct dw_lens dw_lens_svg = {
    .name = "svg",
    .summary = "a flame graph as one picture, to zoom into and to search in a browser",
    .extension = ".svg",
    .write = write_svg,
};
