/* SPDX-License-Identifier: MIT
 * Positions are percentages, so that the picture fits any window; each box is a small
 * <svg>, which cuts off what sticks out of it. */
#include "lens/flame/flame_svg.h"

#include "base/order.h"
#include "base/room.h"
#include "flame_page.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 1200            /* pixels, until a script fits it to the window */
#define MARGIN 10             /* pixels */
#define ROW 18                /* pixels from box to box */
#define TEXT_LINE 16          /* pixels */
#define LETTER 6.7            /* pixels a letter takes in a box */
#define LINE_LETTERS 180      /* of the lines below the heading */
#define SMALLEST (1.0 / 4000) /* width of a box, of the whole */
#define DEPTH_MAX 500
#define BOXES_MAX 12000 /* that a browser still zooms at ease; there may be as many rests */

struct place {
    uint32_t parent, box;
    double weight;
};

struct layout {
    const struct dw_flame *flame;
    struct place *order; /* parents first, then the heaviest */
    double *left;        /* where the box starts, from 0 to 1 */
    double *used;        /* by the children so far */
    double *rest;        /* width of the children that are not drawn: the last ones */
    uint32_t *hidden;    /* how many those are, with what is inside */
    uint32_t *depth;
    uint32_t *drawn; /* the box itself or, when it is not drawn, the first one up that is */
    double whole;
    double smallest; /* width of a box that is drawn */
    uint32_t left_out;
    struct dw_out *out;
    struct dw_out text;
    struct dw_out heading, lines; /* strings */
    struct dw_room room;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return dw_ascending(a->parent, b->parent) ?: dw_descending(a->weight, b->weight)
           ?: dw_ascending(a->box, b->box);
}

static bool is_root(const struct dw_flame *flame, uint32_t box)
{
    return flame->boxes[box].parent == box;
}

static double width_of(const struct layout *layout, uint32_t box)
{
    return layout->whole > 0 ? layout->flame->boxes[box].weight / layout->whole : 1;
}

static void sort_boxes(struct layout *layout)
{
    const struct dw_flame *flame = layout->flame;
    for (uint32_t i = 0; i < flame->count; i++) {
        layout->order[i] = (struct place){flame->boxes[i].parent, i, flame->boxes[i].weight};
        if (is_root(flame, i))
            layout->whole = fmax(layout->whole, flame->boxes[i].weight);
    }
    if (flame->count)
        qsort(layout->order, flame->count, sizeof *layout->order, compare_places);
}

static void place_boxes(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->flame->count; i++) {
        uint32_t box = layout->order[i].box, parent = layout->order[i].parent;
        if (box == parent)
            continue;
        layout->depth[box] = layout->depth[parent] + 1;
        layout->left[box] = layout->left[parent] + layout->used[parent];
        layout->used[parent] += width_of(layout, box);
    }
}

struct rank {
    double width;
    uint32_t depth, box;
};

static int compare_ranks(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    return dw_descending(a->width, b->width) ?: dw_ascending(a->depth, b->depth)
           ?: dw_ascending(a->box, b->box);
}

/* Marks the widest as drawn. A parent ranks before its children, so these are never alone, and
 * those left out are the last of their parent. */
static int choose_boxes(struct layout *layout)
{
    struct rank *ranks = malloc((layout->flame->count + 1u) * sizeof *ranks);
    uint32_t count = 0;
    if (!ranks)
        return DW_ERR_MEMORY;
    layout->smallest = SMALLEST;
    for (uint32_t i = 0; i < layout->flame->count; i++) {
        double width = width_of(layout, i);
        if (is_root(layout->flame, i))
            layout->drawn[i] = i;
        else if (width >= SMALLEST && layout->depth[i] < DEPTH_MAX)
            ranks[count++] = (struct rank){width, layout->depth[i], i};
    }
    if (count > BOXES_MAX) {
        qsort(ranks, count, sizeof *ranks, compare_ranks);
        count = BOXES_MAX;
        layout->smallest = ranks[count - 1].width;
    }
    for (uint32_t i = 0; i < count; i++)
        layout->drawn[ranks[i].box] = ranks[i].box;
    free(ranks);
    return 0;
}

static void sum_rests(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->flame->count; i++) {
        uint32_t box = layout->order[i].box, parent = layout->order[i].parent;
        uint32_t above = layout->drawn[parent];
        if (layout->drawn[box] == box)
            continue;
        layout->drawn[box] = above;
        if (layout->flame->boxes[box].weight <= 0)
            continue;
        layout->left_out++;
        layout->hidden[above]++;
        if (above == parent)
            layout->rest[parent] += width_of(layout, box);
    }
}

static bool has_rest(const struct layout *layout, uint32_t box)
{
    return layout->hidden[box] && layout->rest[box] >= layout->smallest;
}

static void put_name(struct layout *layout, uint32_t box)
{
    dw_buffer_clear(&layout->text.buffer);
    layout->flame->put_name(&layout->text, layout->flame->context, box);
}

/* As much of the name as fits into the box. */
static void put_label(struct layout *layout, uint32_t box)
{
    double room = (width_of(layout, box) * (WIDTH - 2 * MARGIN) - 6) / LETTER;
    const uint8_t *start = layout->text.buffer.data, *at = start;
    const uint8_t *end = start + layout->text.buffer.size;
    size_t letters = 0, fitting = 0;
    while (at < end) {
        size_t length = dw_utf8_length(at, end);
        letters++;
        at += length ? length : 1;
        if ((double)letters + 1 <= room)
            fitting = (size_t)(at - start);
    }
    if (room < 3)
        return;
    bool cut = (double)letters > room;
    dw_out_xml(layout->out, start, cut ? fitting : layout->text.buffer.size);
    dw_out_text(layout->out, cut ? "…" : "");
}

/* Escapes the lines one by one: between them stays a newline. */
static void put_lines(struct dw_out *out, const char *text, size_t size)
{
    const char *end = text + size, *newline;
    for (; text < end && (newline = memchr(text, '\n', (size_t)(end - text))); text = newline + 1) {
        dw_out_xml(out, text, (size_t)(newline - text));
        dw_out_char(out, '\n');
    }
    dw_out_xml(out, text, (size_t)(end - text));
}

struct shape {
    const char *look;
    double left, width; /* from 0 to 1 */
    double top;         /* pixels */
};

static void open_box(struct dw_out *out, const struct shape *shape)
{
    dw_out_printf(out, "<svg class=\"box %s\" x=\"%.4f%%\" y=\"%.0f\" width=\"%.4f%%\" ",
                  shape->look, 100 * shape->left, shape->top, 100 * shape->width);
    dw_out_printf(out, "height=\"%d\"><title>", ROW - 1);
}

static void put_details(struct layout *layout, uint32_t box)
{
    dw_buffer_clear(&layout->text.buffer);
    dw_out_char(&layout->text, '\n');
    layout->flame->put_details(&layout->text, layout->flame->context, box);
    put_lines(layout->out, (const char *)layout->text.buffer.data, layout->text.buffer.size);
}

static const char title_end[] =
    "</title><rect width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"13\">";

static void put_box(struct layout *layout, uint32_t box, double top)
{
    struct dw_out *out = layout->out;
    open_box(out, &(struct shape){layout->flame->boxes[box].look, layout->left[box],
                                  width_of(layout, box), top + ROW * layout->depth[box]});
    put_name(layout, box);
    dw_out_xml(out, layout->text.buffer.data, layout->text.buffer.size);
    put_details(layout, box);
    dw_out_text(out, title_end);
    put_name(layout, box);
    put_label(layout, box);
    dw_out_text(out, "</text></svg>\n");
}

/* One box for all inside this one that have none. */
static void put_rest(struct layout *layout, uint32_t box, double top)
{
    struct dw_out *out = layout->out;
    double width = layout->rest[box];
    open_box(out, &(struct shape){"rest", layout->left[box] + layout->used[box] - width, width,
                                  top + ROW * (layout->depth[box] + 1.0)});
    dw_out_printf(out, "%u more that %s not drawn\n", layout->hidden[box],
                  layout->hidden[box] == 1 ? "is" : "are");
    dw_buffer_clear(&layout->text.buffer);
    layout->flame->put_weight(&layout->text, layout->flame->context, width * layout->whole);
    put_lines(out, (const char *)layout->text.buffer.data, layout->text.buffer.size);
    dw_out_text(out, title_end);
    dw_out_text(out, "</text></svg>\n");
}

/* Rows of the trees that start at each box which is a root. */
static void count_rows(const struct layout *layout, uint32_t *root, uint32_t *rows)
{
    const struct dw_flame *flame = layout->flame;
    for (uint32_t i = 0; i < flame->count; i++) {
        root[i] = is_root(flame, i) ? i : root[flame->boxes[i].parent];
        uint32_t end = layout->depth[i] + 1 + has_rest(layout, i);
        if (layout->drawn[i] == i && end > rows[root[i]])
            rows[root[i]] = end;
    }
}

/* Trees after the first are headed by their name: their roots may be too narrow for it. */
static void put_tree_name(struct layout *layout, uint32_t tree, double top)
{
    dw_out_printf(layout->out, "<text class=\"line\" x=\"%d\" y=\"%.0f\">", MARGIN, top - 4);
    put_name(layout, tree);
    dw_out_xml(layout->out, layout->text.buffer.data, layout->text.buffer.size);
    dw_out_text(layout->out, "</text>\n");
}

static double put_tree(struct layout *layout, uint32_t tree, const uint32_t *root, uint32_t rows,
                       double top)
{
    if (tree)
        put_tree_name(layout, tree, top);
    dw_out_printf(layout->out, "<svg class=\"tree\" x=\"%d\" width=\"%d\">\n", MARGIN,
                  WIDTH - 2 * MARGIN);
    for (uint32_t i = 0; i < layout->flame->count && !layout->out->error; i++) {
        if (root[i] != tree || layout->drawn[i] != i)
            continue;
        put_box(layout, i, top);
        if (has_rest(layout, i))
            put_rest(layout, i, top);
    }
    dw_out_text(layout->out, "</svg>\n");
    return top + ROW * (rows + 1.0);
}

/* The next line of at most LINE_LETTERS letters, cut between words where it can be. */
static size_t line_size(const char *text)
{
    size_t size = strcspn(text, "\n"), at = 0, word = 0;
    for (unsigned letters = 0; at < size && letters < LINE_LETTERS; letters++) {
        size_t length = dw_utf8_length((const uint8_t *)text + at, (const uint8_t *)text + size);
        if (text[at] == ' ')
            word = at;
        at += length ? length : 1;
    }
    return at == size ? size : word ? word : at;
}

/* Returns where the next thing goes. With no output it only measures. */
static double put_text(struct dw_out *out, const struct layout *layout, double top)
{
    for (const char *at = (const char *)layout->lines.buffer.data; *at;
         at += *at == '\n' || *at == ' ') {
        size_t size = line_size(at);
        top += TEXT_LINE;
        if (out) {
            dw_out_printf(out, "<text class=\"line\" x=\"%d\" y=\"%.0f\">", MARGIN, top);
            dw_out_xml(out, at, size);
            dw_out_text(out, "</text>\n");
        }
        at += size;
    }
    return top + TEXT_LINE;
}

static void put_keys(struct dw_out *out, const struct dw_flame *flame, double top)
{
    double left = MARGIN;
    for (size_t i = 0; i < flame->key_count; i++) {
        const struct dw_flame_key *key = &flame->keys[i];
        dw_out_printf(out,
                      "<g class=\"key %s\"><rect x=\"%.0f\" y=\"%.0f\" width=\"14\" "
                      "height=\"12\"/><text x=\"%.0f\" y=\"%.0f\">",
                      key->look, left, top - 10, left + 18, top);
        dw_out_xml(out, key->text, strlen(key->text));
        dw_out_text(out, "</text></g>\n");
        left += 32 + 6.0 * (double)strlen(key->text);
    }
}

static void put_left_out(struct layout *layout, double top)
{
    bool is_one = layout->left_out == 1;
    if (layout->left_out)
        dw_out_printf(layout->out,
                      "<text class=\"line\" x=\"%d\" y=\"%.0f\">%u %s too narrow or too deep to be "
                      "drawn%s</text>\n",
                      MARGIN, top, layout->left_out, is_one ? "box is" : "boxes are",
                      is_one ? "" : "; grey ones stand for them");
}

static void put_picture(struct layout *layout, uint32_t *root, uint32_t *rows)
{
    const struct dw_flame *flame = layout->flame;
    struct dw_out *out = layout->out;
    const char *heading = (const char *)layout->heading.buffer.data;
    double keys = put_text(NULL, layout, 30), top = keys + TEXT_LINE, height = top;
    count_rows(layout, root, rows);
    for (uint32_t i = 0; i < flame->count; i++)
        if (is_root(flame, i))
            height += ROW * (rows[i] + 1.0);
    dw_out_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"dwell\" width=\"%d\" "
                  "height=\"%.0f\">\n",
                  WIDTH, height + TEXT_LINE);
    dw_out_write(out, flame_page_head, sizeof flame_page_head);
    dw_out_printf(out, "<text class=\"heading\" x=\"%d\" y=\"26\">", MARGIN);
    dw_out_xml(out, heading, strlen(heading));
    dw_out_text(out, "</text>\n");
    put_text(out, layout, 30);
    put_keys(out, flame, keys);
    for (uint32_t i = 0; i < flame->count; i++)
        if (is_root(flame, i))
            top = put_tree(layout, i, root, rows[i], top);
    put_left_out(layout, top);
    dw_out_write(out, flame_page_tail, sizeof flame_page_tail);
}

static void layout_init(struct layout *layout)
{
    size_t count = layout->flame->count;
    DW_ROOM_GET(&layout->room, layout->order, count);
    DW_ROOM_GET(&layout->room, layout->left, count);
    DW_ROOM_GET(&layout->room, layout->used, count);
    DW_ROOM_GET(&layout->room, layout->rest, count);
    DW_ROOM_GET(&layout->room, layout->hidden, count);
    DW_ROOM_GET(&layout->room, layout->depth, count);
    layout->drawn = dw_room_get_ids(&layout->room, count);
    dw_out_init_memory(&layout->text);
    dw_out_init_memory(&layout->heading);
    dw_out_init_memory(&layout->lines);
    layout->flame->put_heading(&layout->heading, layout->flame->context);
    layout->flame->put_lines(&layout->lines, layout->flame->context);
    dw_out_char(&layout->heading, '\0');
    dw_out_char(&layout->lines, '\0');
}

static int lay_out(struct layout *layout)
{
    sort_boxes(layout);
    place_boxes(layout);
    int error = choose_boxes(layout);
    if (!error)
        sum_rests(layout);
    return error;
}

int dw_flame_write(const struct dw_flame *flame, struct dw_out *out)
{
    struct layout layout = {.flame = flame, .out = out};
    uint32_t *root = dw_room_get(&layout.room, flame->count, sizeof *root);
    uint32_t *rows = dw_room_get(&layout.room, flame->count, sizeof *rows);
    layout_init(&layout);
    bool has_texts = !layout.heading.buffer.failed && !layout.lines.buffer.failed;
    int error = has_texts ? dw_room_error(&layout.room) : DW_ERR_MEMORY;
    if (!error)
        error = lay_out(&layout);
    if (!error)
        put_picture(&layout, root, rows);
    dw_out_close_into(&layout.heading, &layout.text);
    dw_out_close_into(&layout.lines, &layout.text);
    int text_error = dw_out_close(&layout.text);
    dw_room_release(&layout.room);
    return error ? error : text_error;
}
