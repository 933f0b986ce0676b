/* SPDX-License-Identifier: MIT
 * Ways of a picture that has steps, in words. */
#ifndef DW_MODEL_HEAP_HEAP_WAY_TEXT_H
#define DW_MODEL_HEAP_HEAP_WAY_TEXT_H

#include "base/out.h"
#include "model/heap/heap_picture.h"

/* How the node before one on its way holds it, as one would write it: ".name", "['key']", "[3]";
 * nothing when that has no name. */
void dw_heap_put_step(struct dw_out *out, const struct dw_heap *heap, dw_heap_node node);
/* What a way begins with, such as "module x", "f() at x.py:3" or "C code: dict". */
void dw_heap_put_root(struct dw_out *out, const struct dw_heap *heap, dw_heap_node root);
/* The whole way, as one would write it where it has names. */
void dw_heap_put_way(struct dw_out *out, const struct dw_heap *heap, const dw_heap_node *parents,
                     dw_heap_node node);
/* The name of a type with its module, but for those of builtins. */
void dw_heap_put_type(struct dw_out *out, const struct dw_heap *heap, uint32_t type);
/* Which variable of a function it is, or 0. */
dw_string_id dw_heap_note_of(const struct dw_heap *heap, dw_heap_node node);

#endif
