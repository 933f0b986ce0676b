/* SPDX-License-Identifier: MIT
 * One pass over all objects of the interpreter, while the program waits. Nothing is collected
 * before, nothing is kept alive, no Python code is run, and of values only names are kept: those of
 * types, functions, files and variables. */
#ifndef DW_PROBE_HEAP_WALK_H
#define DW_PROBE_HEAP_WALK_H

#include "model/heap/heap_graph.h"
#include "model/string_table.h"

#include <stdbool.h>
#include <stdint.h>

#define DW_HEAP_IMMORTAL UINT32_MAX

struct dw_heap_type {
    uintptr_t address;
    dw_string_id module, name;
};

/* A function that ran; its node is its index plus 1. */
struct dw_heap_frame {
    dw_string_id function, file;
    int line;
    unsigned long thread; /* as threading counts */
    bool is_own;          /* it is dwell's, which took the picture */
};

struct dw_heap_module {
    dw_heap_node node, names; /* the module, and the dictionary of its globals */
};

/* A string, or bytes, by what is in it. */
struct dw_heap_text_hash {
    uint64_t hash;
    dw_heap_node node;
};

struct dw_heap {
    struct dw_heap_graph graph;
    uintptr_t *addresses; /* by node; 0 for what is no object */
    uint32_t *outside;    /* by node: references that no other node has, or DW_HEAP_IMMORTAL */
    struct dw_heap_type *types;
    struct dw_heap_frame *frames;
    uint32_t frame_count, frame_capacity;
    dw_string_id *variables; /* of the references of frames, which are the first ones; 0: none */
    uint32_t variable_count, variable_capacity;
    struct dw_heap_module *modules; /* those of sys.modules */
    uint32_t module_count;
    bool has_hashes;
    struct dw_heap_text_hash *hashes;
    uint32_t hash_count, hash_capacity;
    struct dw_string_table names;
};

/* With the GIL. 0 or an error, or 1 with an exception. */
int dw_heap_walk(struct dw_heap *heap, bool with_hashes);
void dw_heap_release(struct dw_heap *heap);
/* The node of an object, or 0. */
dw_heap_node dw_heap_find(const struct dw_heap *heap, uintptr_t address);

#endif
