/* SPDX-License-Identifier: MIT
 * The parts of a picture of a heap, as they follow each other in a log. Each is a table that is cut
 * into chunks; docs/format.md has their entries. */
#ifndef DW_LOG_HEAP_PARTS_H
#define DW_LOG_HEAP_PARTS_H

#include "model/heap/heap_picture.h"

/* Numbers are part of the format. */
enum dw_heap_part {
    DW_HEAP_HEAD = 0,
    DW_HEAP_NAMES = 1,
    DW_HEAP_TYPES = 2,
    DW_HEAP_FRAMES = 3,
    DW_HEAP_VARIABLES = 4,
    DW_HEAP_MODULES = 5,
    DW_HEAP_NODES = 6, /* their types */
    DW_HEAP_SIZES = 7,
    DW_HEAP_DEGREES = 8, /* how many references each node has */
    DW_HEAP_TARGETS = 9,
    DW_HEAP_ROOTS = 10,
    DW_HEAP_STEPS_PART = 11,
    DW_HEAP_NOTES = 12,
    DW_HEAP_SITES = 13,
    DW_HEAP_NODE_SITES = 14,
    DW_HEAP_PARTS
};

/* What a target is most likely, told by those before it. Targets are numbers of nodes in the order
 * in which they are met, so one that is met for the first time follows the largest. Others are like
 * those at the same place of the last node of the type, or like the one before. */
struct dw_heap_guess {
    const struct dw_heap_graph *graph;
    dw_heap_node *last_of_type; /* by type; 0: none yet */
    dw_heap_node node;          /* whose references come now */
    dw_heap_node largest;
};

/* For a graph that has its types and the first reference of each node. */
int dw_heap_guess_init(struct dw_heap_guess *guess, const struct dw_heap_graph *graph);
void dw_heap_guess_release(struct dw_heap_guess *guess);
/* Before each reference: goes on to the node that has it, and gives what its target may be like. */
dw_heap_node dw_heap_guess_next(struct dw_heap_guess *guess, uint32_t edge);

#endif
