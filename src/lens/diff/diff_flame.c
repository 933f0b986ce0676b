/* SPDX-License-Identifier: MIT
 * The differential flame graph: as wide as the time of one side, coloured by how much
 * of the change is in a path with what is inside. Paths that only the other side has
 * have no width there; they are a second tree below. */
#include "base/room.h"
#include "lens/diff/diff.h"
#include "lens/flame/flame_svg.h"
#include "lens/view/column.h"
#include "lens/view/functions.h"

#include <inttypes.h>
#include <math.h>

#define LEVELS 6

struct drawing {
    const struct dw_diff *diff;
    enum dw_side width;         /* boxes are as wide as the time of this side */
    double *weights[DW_SIDES];  /* of each node: its time with what is inside */
    struct dw_flame_box *boxes; /* the tree, then what only the other side has */
    uint32_t *node_of;          /* of each box; DW_DIFF_NONE for the root of the second tree */
    uint32_t *box_of;           /* of each node */
    uint32_t count;
    double largest; /* change of a node */
    struct dw_room room;
};

static enum dw_side other(enum dw_side side)
{
    return side == DW_OLD ? DW_NEW : DW_OLD;
}

/* Own times added up: recorded totals may be less than what is inside, where a log is cut. */
static void weigh(struct drawing *drawing)
{
    const struct dw_diff *diff = drawing->diff;
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        double scale = side == DW_OLD ? diff->scale : 1, *weights = drawing->weights[side];
        for (uint32_t i = diff->tree.count; i-- > 0;) {
            weights[i] += (double)diff->tree.nodes[i].at[side].self * scale;
            if (i)
                weights[diff->tree.nodes[i].parent] += weights[i];
        }
    }
}

static double change_of(const struct drawing *drawing, uint32_t node)
{
    return drawing->weights[DW_NEW][node] - drawing->weights[DW_OLD][node];
}

static const char *look_of(const struct drawing *drawing, uint32_t node)
{
    static const char *const slower[] = {"same",  "slow1", "slow2", "slow3",
                                         "slow4", "slow5", "slow6"};
    static const char *const faster[] = {"same",  "fast1", "fast2", "fast3",
                                         "fast4", "fast5", "fast6"};
    double change = change_of(drawing, node);
    double share = drawing->largest > 0 ? fabs(change) / drawing->largest : 0;
    size_t level = (size_t)ceil(share * LEVELS - 0.1);
    return (change > 0 ? slower : faster)[level < LEVELS ? level : LEVELS];
}

static void add_box(struct drawing *drawing, uint32_t node, uint32_t parent, enum dw_side side)
{
    uint32_t box = drawing->count++;
    drawing->node_of[box] = node;
    drawing->box_of[node] = box;
    drawing->boxes[box] = (struct dw_flame_box){
        .parent = parent, .weight = drawing->weights[side][node], .look = look_of(drawing, node)};
}

static void add_tree(struct drawing *drawing)
{
    const struct dw_diff_tree *tree = &drawing->diff->tree;
    for (uint32_t i = 0; i < tree->count; i++)
        if (!i || drawing->weights[drawing->width][i] > 0)
            add_box(drawing, i, drawing->box_of[tree->nodes[i].parent], drawing->width);
}

/* What is only on the other side, below a root of its own. */
static void add_others(struct drawing *drawing)
{
    const struct dw_diff_tree *tree = &drawing->diff->tree;
    const double *here = drawing->weights[drawing->width];
    const double *there = drawing->weights[other(drawing->width)];
    uint32_t root = drawing->count;
    drawing->boxes[root] = (struct dw_flame_box){.parent = root, .look = "other"};
    drawing->node_of[root] = DW_DIFF_NONE;
    drawing->count++;
    for (uint32_t i = 1; i < tree->count; i++) {
        if (here[i] > 0 || there[i] <= 0)
            continue;
        bool is_top = here[tree->nodes[i].parent] > 0;
        add_box(drawing, i, is_top ? root : drawing->box_of[tree->nodes[i].parent],
                other(drawing->width));
        if (is_top)
            drawing->boxes[root].weight += there[i];
    }
    if (drawing->boxes[root].weight <= 0)
        drawing->count = root;
}

/* The name first: a narrow box shows no more than that. */
static void put_place(struct dw_out *out, const struct dw_diff_place *place)
{
    dw_out_printable(out, place->name.bytes, place->name.size);
    if (place->kind != DW_FRAME_FUNCTION || !place->file.size)
        return;
    struct dw_string file = place->shown;
    dw_out_text(out, "  ");
    dw_out_printable(out, file.bytes, file.size);
    dw_out_printf(out, ":%u", place->line);
}

static void put_name(struct dw_out *out, const void *context, uint32_t box)
{
    const struct drawing *drawing = context;
    uint32_t node = drawing->node_of[box];
    if (node == DW_DIFF_NONE)
        dw_out_text(out, drawing->width == DW_NEW ? "only in the old one" : "only in the new one");
    else
        put_place(out, &drawing->diff->places.places[drawing->diff->tree.nodes[node].place]);
}

static void put_time(struct dw_out *out, const void *context, double ns)
{
    const struct drawing *drawing = context;
    double whole = dw_diff_whole(drawing->diff);
    if (drawing->diff->options.normalise)
        dw_out_printf(out, "%.2f %%", whole > 0 ? 100 * ns / whole : 0);
    else
        dw_diff_put_amount(out, drawing->diff, ns);
}

static void put_details(struct dw_out *out, const void *context, uint32_t box)
{
    const struct drawing *drawing = context;
    const struct dw_diff *diff = drawing->diff;
    uint32_t index = drawing->node_of[box];
    if (index == DW_DIFF_NONE) {
        put_time(out, drawing, drawing->boxes[box].weight);
        return;
    }
    const struct dw_diff_node *node = &diff->tree.nodes[index];
    double self = (double)node->at[DW_NEW].self - (double)node->at[DW_OLD].self * diff->scale;
    put_time(out, drawing, drawing->weights[DW_OLD][index]);
    dw_out_text(out, " → ");
    put_time(out, drawing, drawing->weights[DW_NEW][index]);
    dw_out_text(out, ": ");
    dw_diff_put_change(out, diff, change_of(drawing, index));
    dw_out_text(out, diff->are_bytes ? ", of its own " : ", own time ");
    dw_diff_put_change(out, diff, self);
    if (!diff->are_bytes)
        dw_out_printf(out, "\n%s %" PRIu64 " → %" PRIu64, diff->are_samples ? "samples" : "calls",
                      node->at[DW_OLD].count, node->at[DW_NEW].count);
}

static void put_heading(struct dw_out *out, const void *context)
{
    const struct dw_diff *diff = ((const struct drawing *)context)->diff;
    dw_out_text(out, diff->options.files[DW_OLD]);
    dw_out_text(out, " → ");
    dw_out_text(out, diff->options.files[DW_NEW]);
}

static void put_lines(struct dw_out *out, const void *context)
{
    const struct drawing *drawing = context;
    dw_diff_put_sentence(out, drawing->diff);
    dw_out_printf(out, "\nwidths are the %s of the %s recording\n",
                  drawing->diff->are_bytes ? "bytes" : "times",
                  drawing->width == DW_NEW ? "new" : "old");
    dw_diff_put_losses(out, drawing->diff, "");
}

static int draw(struct drawing *drawing, struct dw_out *out)
{
    static const struct dw_flame_key times[] = {{"slow6", "slower"},
                                                {"slow2", "a little slower"},
                                                {"same", "as before"},
                                                {"fast2", "a little faster"},
                                                {"fast6", "faster"}};
    static const struct dw_flame_key sizes[] = {{"slow6", "larger"},
                                                {"slow2", "a little larger"},
                                                {"same", "as before"},
                                                {"fast2", "a little smaller"},
                                                {"fast6", "smaller"}};
    const struct dw_flame flame = {.boxes = drawing->boxes,
                                   .count = drawing->count,
                                   .context = drawing,
                                   .put_name = put_name,
                                   .put_details = put_details,
                                   .put_weight = put_time,
                                   .put_heading = put_heading,
                                   .put_lines = put_lines,
                                   .keys = drawing->diff->are_bytes ? sizes : times,
                                   .key_count = sizeof times / sizeof *times};
    return dw_flame_write(&flame, out);
}

static int prepare(struct drawing *drawing)
{
    size_t count = drawing->diff->tree.count;
    for (enum dw_side side = 0; side < DW_SIDES; side++)
        DW_ROOM_GET(&drawing->room, drawing->weights[side], count);
    DW_ROOM_GET(&drawing->room, drawing->boxes, count + 1);
    DW_ROOM_GET(&drawing->room, drawing->node_of, count + 1);
    DW_ROOM_GET(&drawing->room, drawing->box_of, count);
    if (drawing->room.failed)
        return DW_ERR_MEMORY;
    weigh(drawing);
    for (uint32_t i = 0; i < count; i++)
        drawing->largest = fmax(drawing->largest, fabs(change_of(drawing, i)));
    add_tree(drawing);
    add_others(drawing);
    return 0;
}

int dw_diff_write_flame(const struct dw_diff *diff, struct dw_out *out)
{
    if (!diff->tree.count)
        return DW_ERR_ARGUMENT;
    struct drawing drawing = {.diff = diff, .width = diff->options.width};
    int error = prepare(&drawing);
    if (!error)
        error = draw(&drawing, out);
    dw_room_release(&drawing.room);
    return error;
}
