/* SPDX-License-Identifier: MIT
 * Positions are percentages, so that the picture fits any window; each box is a small
 * <svg>, which cuts off what sticks out of it. */
#include "lens/flame_svg.h"

#include "base/error.h"
#include "flame_page.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 1200       /* pixels, until a script fits it to the window */
#define MARGIN 10        /* pixels */
#define ROW 18           /* pixels from box to box */
#define TEXT_LINE 16     /* pixels */
#define LETTER 6.7       /* pixels a letter takes in a box */
#define LINE_LETTERS 180 /* of the lines below the heading */
#define SMALLEST (1.0 / 4000)
#define DEPTH_MAX 500

struct place {
    uint32_t parent, box;
    double weight;
};

struct layout {
    const struct dw_flame *flame;
    struct place *order; /* parents first, then the heaviest */
    double *left;        /* where the box starts, from 0 to 1 */
    double *used;        /* by the children so far */
    uint32_t *depth;
    bool *drawn;
    double whole;
    uint32_t left_out;
    struct dw_out *out;
    struct dw_out text;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->box > b->box) - (a->box < b->box);
}

static bool is_root(const struct dw_flame *flame, uint32_t box)
{
    return flame->boxes[box].parent == box;
}

static double width_of(const struct layout *layout, uint32_t box)
{
    return layout->whole > 0 ? layout->flame->boxes[box].weight / layout->whole : 1;
}

static void lay_out(struct layout *layout)
{
    const struct dw_flame *flame = layout->flame;
    for (uint32_t i = 0; i < flame->count; i++) {
        layout->order[i] = (struct place){flame->boxes[i].parent, i, flame->boxes[i].weight};
        if (is_root(flame, i))
            layout->whole = fmax(layout->whole, flame->boxes[i].weight);
    }
    if (flame->count)
        qsort(layout->order, flame->count, sizeof *layout->order, compare_places);
    for (uint32_t i = 0; i < flame->count; i++) {
        uint32_t box = layout->order[i].box, parent = layout->order[i].parent;
        bool root = box == parent;
        layout->depth[box] = root ? 0 : layout->depth[parent] + 1;
        layout->left[box] = root ? 0 : layout->left[parent] + layout->used[parent];
        layout->drawn[box] = root || (layout->drawn[parent] && layout->depth[box] < DEPTH_MAX &&
                                      width_of(layout, box) >= SMALLEST);
        if (!root)
            layout->used[parent] += width_of(layout, box);
        layout->left_out += !layout->drawn[box] && flame->boxes[box].weight > 0;
    }
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
    for (; (newline = memchr(text, '\n', (size_t)(end - text))); text = newline + 1) {
        dw_out_xml(out, text, (size_t)(newline - text));
        dw_out_char(out, '\n');
    }
    dw_out_xml(out, text, (size_t)(end - text));
}

static void put_box(struct layout *layout, uint32_t box, double top)
{
    struct dw_out *out = layout->out;
    dw_out_printf(out, "<svg class=\"box %s\" x=\"%.4f%%\" y=\"%.0f\" width=\"%.4f%%\" ",
                  layout->flame->boxes[box].look, 100 * layout->left[box],
                  top + ROW * layout->depth[box], 100 * width_of(layout, box));
    dw_out_printf(out, "height=\"%d\"><title>", ROW - 1);
    put_name(layout, box);
    dw_out_xml(out, layout->text.buffer.data, layout->text.buffer.size);
    dw_buffer_clear(&layout->text.buffer);
    dw_out_char(&layout->text, '\n');
    layout->flame->put_details(&layout->text, layout->flame->context, box);
    put_lines(out, (const char *)layout->text.buffer.data, layout->text.buffer.size);
    dw_out_text(out, "</title><rect width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"13\">");
    put_name(layout, box);
    put_label(layout, box);
    dw_out_text(out, "</text></svg>\n");
}

/* Rows of the trees that start at each box which is a root. */
static void count_rows(const struct layout *layout, uint32_t *root, uint32_t *rows)
{
    const struct dw_flame *flame = layout->flame;
    for (uint32_t i = 0; i < flame->count; i++) {
        root[i] = is_root(flame, i) ? i : root[flame->boxes[i].parent];
        if (layout->drawn[i] && layout->depth[i] >= rows[root[i]])
            rows[root[i]] = layout->depth[i] + 1;
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
    for (uint32_t i = 0; i < layout->flame->count && !layout->out->error; i++)
        if (root[i] == tree && layout->drawn[i])
            put_box(layout, i, top);
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
static double put_text(struct dw_out *out, const struct dw_flame *flame, double top)
{
    for (const char *at = flame->lines; *at; at += *at == '\n' || *at == ' ') {
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
    if (layout->left_out)
        dw_out_printf(layout->out,
                      "<text class=\"line\" x=\"%d\" y=\"%.0f\">%u boxes are too narrow or too "
                      "deep to be drawn</text>\n",
                      MARGIN, top, layout->left_out);
}

static int put_picture(struct layout *layout, uint32_t *root, uint32_t *rows)
{
    const struct dw_flame *flame = layout->flame;
    struct dw_out *out = layout->out;
    double keys = put_text(NULL, flame, 30), top = keys + TEXT_LINE, height = top;
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
    dw_out_xml(out, flame->heading, strlen(flame->heading));
    dw_out_text(out, "</text>\n");
    put_text(out, flame, 30);
    put_keys(out, flame, keys);
    for (uint32_t i = 0; i < flame->count; i++)
        if (is_root(flame, i))
            top = put_tree(layout, i, root, rows[i], top);
    put_left_out(layout, top);
    dw_out_write(out, flame_page_tail, sizeof flame_page_tail);
    return out->error;
}

int dw_flame_write(const struct dw_flame *flame, struct dw_out *out)
{
    size_t count = flame->count + 1u;
    struct layout layout = {.flame = flame,
                            .out = out,
                            .order = malloc(count * sizeof *layout.order),
                            .left = calloc(count, sizeof *layout.left),
                            .used = calloc(count, sizeof *layout.used),
                            .depth = calloc(count, sizeof *layout.depth),
                            .drawn = calloc(count, sizeof *layout.drawn)};
    uint32_t *root = calloc(count, sizeof *root), *rows = calloc(count, sizeof *rows);
    bool whole =
        layout.order && layout.left && layout.used && layout.depth && layout.drawn && root && rows;
    dw_out_init_memory(&layout.text);
    if (whole) {
        lay_out(&layout);
        put_picture(&layout, root, rows);
    }
    int error = dw_out_close(&layout.text);
    free(layout.order);
    free(layout.left);
    free(layout.used);
    free(layout.depth);
    free(layout.drawn);
    free(root);
    free(rows);
    return whole ? error : DW_ERR_MEMORY;
}
