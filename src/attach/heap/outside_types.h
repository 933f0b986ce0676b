/* SPDX-License-Identifier: MIT
 * The types of another process's objects: where objects of a type keep their references, and how
 * large they are. Nothing is believed to be a type or an object before it looks like one. */
#ifndef DW_ATTACH_HEAP_OUTSIDE_TYPES_H
#define DW_ATTACH_HEAP_OUTSIDE_TYPES_H

#include "attach/heap/outside_memory.h"
#include "attach/python/python_runtime.h"
#include "base/buffer.h"
#include "model/string_table.h"

enum dw_outside_kind {
    DW_OUTSIDE_PLAIN, /* references at fixed offsets only */
    DW_OUTSIDE_DICT,
    DW_OUTSIDE_LIST,
    DW_OUTSIDE_TUPLE,
    DW_OUTSIDE_SET,
    DW_OUTSIDE_TYPE,
    DW_OUTSIDE_CODE,
    DW_OUTSIDE_STRING,
    DW_OUTSIDE_INTEGER,
    DW_OUTSIDE_GENERATOR,
    DW_OUTSIDE_ARRAY, /* of NumPy */
};

#define DW_OUTSIDE_REFERENCES 24

struct dw_outside_type {
    uint64_t address, flags, base, traverse;
    int64_t basic_size, item_size, dict_offset;
    enum dw_outside_kind kind;
    bool is_class;   /* its objects are traversed as those of classes of Python code */
    bool is_unknown; /* its objects hold more than can be known from outside */
    bool is_sized;   /* its objects have a number of items */
    uint16_t offsets[DW_OUTSIDE_REFERENCES];
    dw_string_id offset_names[DW_OUTSIDE_REFERENCES]; /* 0: none */
    uint32_t offset_count;
};

struct dw_outside_types {
    const struct dw_python *python;
    struct dw_outside_memory *memory;
    struct dw_string_table *names; /* borrowed */
    uint64_t class_traverse;
    uint64_t interned; /* the table of interned strings, which holds nothing; 0: not known */
    struct dw_address_map numbers; /* plus 1; UINT32_MAX: no type */
    struct dw_outside_type *types;
    uint32_t count, capacity;
    int error;
};

/* Type 0 stands for what is no object. */
int dw_outside_types_init(struct dw_outside_types *types, const struct dw_python *python,
                          struct dw_outside_memory *memory, struct dw_string_table *names);
void dw_outside_types_release(struct dw_outside_types *types);
/* The index of a type, 0 when there is none at that address. */
uint32_t dw_outside_type_at(struct dw_outside_types *types, uint64_t address);
/* The index of the type of an object, 0 when there is no object at that address. */
uint32_t dw_outside_type_of(struct dw_outside_types *types, uint64_t object);
/* Appends its module, and its name. */
void dw_outside_type_name(struct dw_outside_types *types, const struct dw_outside_type *type,
                          struct dw_buffer *module, struct dw_buffer *name);

#endif
