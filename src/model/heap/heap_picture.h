/* SPDX-License-Identifier: MIT
 * A picture of a heap: the graph of its objects, and the names that go with it. No values of the
 * program are in it: names of types, functions, files, variables, and of keys and attributes that
 * are identifiers. Whoever looks at a heap fills one; it goes into logs as it is. */
#ifndef DW_MODEL_HEAP_HEAP_PICTURE_H
#define DW_MODEL_HEAP_HEAP_PICTURE_H

#include "model/heap/heap_graph.h"
#include "model/string_table.h"

#define DW_HEAP_IMMORTAL UINT32_MAX

struct dw_heap_type {
    uintptr_t address; /* 0 in a picture that was read */
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
struct dw_heap_hash {
    uint64_t hash;
    dw_heap_node node;
};

/* How the node before one on its way holds it. Numbers are part of the log format. */
enum dw_heap_step_kind {
    DW_HEAP_STEP_NONE = 0,
    DW_HEAP_STEP_ATTRIBUTE = 1, /* value: its name */
    DW_HEAP_STEP_KEY = 2,       /* value: the key, an identifier */
    DW_HEAP_STEP_SOME_KEY = 3,  /* value: the name of the key's type */
    DW_HEAP_STEP_INDEX = 4,     /* value: the index */
    DW_HEAP_STEP_AS_KEY = 5,    /* it is a key itself */
    DW_HEAP_STEP_ELEMENT = 6,   /* of a set */
    DW_HEAP_STEP_VARIABLE = 7,  /* of a frame; value: its name */
    DW_HEAP_STEPS
};
static inline bool dw_heap_step_has_name(uint8_t kind)
{
    return kind == DW_HEAP_STEP_VARIABLE ||
           (kind >= DW_HEAP_STEP_ATTRIBUTE && kind <= DW_HEAP_STEP_SOME_KEY);
}

/* More of a step: which variable of a function it is. */
struct dw_heap_note {
    dw_heap_node node;
    dw_string_id text;
};

/* The line that allocated an object. */
struct dw_heap_site {
    dw_string_id function, file;
    uint32_t line;
};

/* Memory that an object has beside itself. */
struct dw_heap_block {
    uintptr_t address;
    dw_heap_node node;
};

struct dw_heap {
    struct dw_heap_graph graph;
    uintptr_t *addresses; /* by node, 0 for what is no object; NULL in a picture that was read */
    uint32_t *outside;    /* by node: references that no other node has, or DW_HEAP_IMMORTAL */
    struct dw_heap_type *types;
    struct dw_heap_frame *frames;
    uint32_t frame_count, frame_capacity;
    dw_string_id *variables; /* of the references of frames, which are the first ones; 0: none */
    uint32_t variable_count, variable_capacity;
    struct dw_heap_module *modules; /* those of sys.modules */
    uint32_t module_count;
    bool has_hashes;
    struct dw_heap_hash *hashes;
    uint32_t hash_count, hash_capacity;
    struct dw_string_table names;
    /* What a picture may have beside, NULL or 0 when it has not. */
    uint8_t *step_kinds; /* by node: the last step of the way that dw_heap_find_ways finds */
    uint32_t *step_values;
    struct dw_heap_note *notes; /* in the order of nodes */
    uint32_t note_count, note_capacity;
    struct dw_heap_site *sites; /* site 0 is unknown */
    uint32_t site_count, site_capacity;
    uint32_t *node_sites; /* by node */
    /* Until sites are found: the blocks in which lists have their items. */
    struct dw_heap_block *blocks;
    uint32_t block_count, block_capacity;
};

void dw_heap_release(struct dw_heap *heap);
/* The node of an object, or 0. */
dw_heap_node dw_heap_find(const struct dw_heap *heap, uintptr_t address);

/* A picture of a process at some time; what a profile has of them. */
struct dw_heap_shot {
    uint32_t process;    /* index into the profile's processes */
    uint64_t time_ns;    /* of the wall clock */
    dw_string_id reason; /* of the profile's strings: why it was taken, "exit" and the like */
    struct dw_heap heap;
};

#endif
