/* SPDX-License-Identifier: MIT
 * Flame graphs as one SVG file: boxes as wide as their weight, each under its parent,
 * to zoom into and to search in a browser. What the boxes mean is the caller's. Boxes
 * too narrow to be seen are drawn as one for each parent: any tree makes a file of a few
 * megabytes at most. */
#ifndef DW_LENS_FLAME_FLAME_SVG_H
#define DW_LENS_FLAME_FLAME_SVG_H

#include "base/out.h"

struct dw_flame_box {
    uint32_t parent;  /* a box before it. One that is its own parent starts another tree, which
                         is drawn below the last, on the same scale */
    double weight;    /* at least the sum of those of its children */
    const char *look; /* a class of viewer/flame.css */
};

/* Writes a text of the box as it is; the file's escapes are not the caller's concern. */
typedef void dw_flame_put(struct dw_out *out, const void *context, uint32_t box);

/* The same of a weight, as it is told to people. */
typedef void dw_flame_put_weight(struct dw_out *out, const void *context, double weight);

struct dw_flame_key {
    const char *look, *text; /* what a colour means */
};

struct dw_flame {
    const struct dw_flame_box *boxes;
    uint32_t count;
    const void *context;
    dw_flame_put *put_name;    /* on the box, on one line */
    dw_flame_put *put_details; /* under the name in its tooltip, on as many lines as it likes */
    dw_flame_put_weight *put_weight;
    void (*put_heading)(struct dw_out *out, const void *context);
    void (*put_lines)(struct dw_out *out, const void *context); /* below it, with newlines */
    const struct dw_flame_key *keys;
    size_t key_count;
};

int dw_flame_write(const struct dw_flame *flame, struct dw_out *out);

#endif
