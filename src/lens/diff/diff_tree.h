/* SPDX-License-Identifier: MIT
 * The call paths of two profiles as one tree, with the numbers of both. */
#ifndef DW_LENS_DIFF_DIFF_TREE_H
#define DW_LENS_DIFF_DIFF_TREE_H

#include "lens/diff/diff_places.h"
#include "lens/lens.h"

struct dw_diff_sums {
    uint64_t count;
    uint64_t total; /* nanoseconds, with what is inside */
    uint64_t self;
};

struct dw_diff_node {
    uint32_t parent; /* before its children; the root's is itself */
    uint32_t place;
    struct dw_diff_sums at[DW_SIDES];
    bool is_in[DW_SIDES];
};

struct dw_diff_tree {
    struct dw_diff_node *nodes; /* node 0 is the root */
    uint32_t count, capacity;
    struct dw_map index;
};

/* A bit for each kind of frame that is a node. The time of others is that of the node around. */
static inline unsigned dw_diff_kind(uint32_t kind)
{
    return kind < 32 ? 1u << kind : 0; /* a log may hold any kind */
}

int dw_diff_tree_make(const struct dw_profile *const profiles[DW_SIDES],
                      const struct dw_diff_places *places, unsigned kinds, enum dw_family family,
                      struct dw_diff_tree *tree);
void dw_diff_tree_release(struct dw_diff_tree *tree);

#endif
