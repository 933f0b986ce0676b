/* SPDX-License-Identifier: MIT
 * What an object of another process refers to, and its bytes, as the walk inside a process tells
 * them: what the object would tell the garbage collector, keys of dictionaries, and what code
 * objects hold. */
#ifndef DW_ATTACH_HEAP_OUTSIDE_EDGES_H
#define DW_ATTACH_HEAP_OUTSIDE_EDGES_H

#include "attach/heap/outside_types.h"

typedef void dw_outside_visit(uint64_t object, void *context);

struct dw_outside_visitor {
    struct dw_outside_types *types;
    dw_outside_visit *visit; /* gets what may be an object, or 0 */
    void *context;
};

void dw_outside_edges(const struct dw_outside_visitor *visitor, uint64_t object,
                      const struct dw_outside_type *type);
/* What a frame holds beside its variables. */
void dw_outside_frame_edges(const struct dw_outside_visitor *visitor, uint64_t frame);
uint64_t dw_outside_size(struct dw_outside_types *types, uint64_t object,
                         const struct dw_outside_type *type);
/* Visits the values of a dictionary, with their keys. */
typedef void dw_outside_item(uint64_t key, uint64_t value, void *context);
void dw_outside_items(struct dw_outside_types *types, uint64_t dict, dw_outside_item *item,
                      void *context);

/* Whether each of the first keys of a dictionary is its own value, as in the table of interned
 * strings. */
bool dw_outside_maps_to_itself(struct dw_outside_types *types, uint64_t dict);

/* Visits the attributes that an instance has in itself, with their names. */
void dw_outside_attributes(struct dw_outside_types *types, uint64_t object,
                           const struct dw_outside_type *type, dw_outside_item *item,
                           void *context);
/* The dictionary that the interpreter keeps for an instance, or 0. */
uint64_t dw_outside_dict_of(struct dw_outside_types *types, uint64_t object,
                            const struct dw_outside_type *type);

#endif
