/* SPDX-License-Identifier: MIT
 * A page of bytes: what its numbers are called, and how many objects or blocks they are of. */
#ifndef DW_LENS_PAGE_HTML_MEMORY_H
#define DW_LENS_PAGE_HTML_MEMORY_H

#include "lens/view/row.h"

struct dw_memory_words {
    enum dw_measure bytes;
    enum dw_measure count; /* of what the bytes are of; DW_COUNT: it is not known */
    const char *whole;     /* what shares are of */
    const char *root;      /* the name of the tree's root; NULL: it is a function, too */
    const char *within;    /* between a box and those around it */
    const char *name, *total, *self, *counted;                         /* columns */
    const char *about_name, *about_total, *about_self, *about_counted; /* and what they are */
};

/* Of the measure that the profile shows; NULL when it is not bytes. */
const struct dw_memory_words *dw_memory_words(const struct dw_profile *profile);

/* How many objects or blocks each row of a tree has, what is under it included. To be freed; NULL
 * without memory. */
uint64_t *dw_memory_count(const struct dw_profile *profile, const struct dw_memory_words *words,
                          const struct dw_row_tree *tree, const struct dw_row *rows,
                          uint32_t count);

#endif
