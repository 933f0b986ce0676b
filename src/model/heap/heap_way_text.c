/* SPDX-License-Identifier: MIT
 * x.__dict__['name'] is written as x.name. Ways that are long are cut in the middle. */
#include "model/heap/heap_way_text.h"

#include "base/error.h"

#include <stdlib.h>

#define STEPS_MAX 24 /* of a way; those in the middle of a longer one are left out */

static void put_name(struct dw_out *out, const struct dw_heap *heap, dw_string_id name)
{
    dw_out_write(out, heap->names.strings[name].bytes, heap->names.strings[name].size);
}

void dw_heap_put_step(struct dw_out *out, const struct dw_heap *heap, dw_heap_node node)
{
    static const char *const before[DW_HEAP_STEPS] = {[DW_HEAP_STEP_NONE] = "",
                                                      [DW_HEAP_STEP_ATTRIBUTE] = ".",
                                                      [DW_HEAP_STEP_KEY] = "['",
                                                      [DW_HEAP_STEP_SOME_KEY] = "[<",
                                                      [DW_HEAP_STEP_INDEX] = "[",
                                                      [DW_HEAP_STEP_AS_KEY] = "{a key}",
                                                      [DW_HEAP_STEP_ELEMENT] = "{an element}",
                                                      [DW_HEAP_STEP_VARIABLE] = ""};
    static const char *const behind[DW_HEAP_STEPS] = {
        [DW_HEAP_STEP_KEY] = "']", [DW_HEAP_STEP_SOME_KEY] = ">]", [DW_HEAP_STEP_INDEX] = "]"};
    uint8_t kind = heap->step_kinds ? heap->step_kinds[node] : DW_HEAP_STEP_NONE;
    dw_out_text(out, before[kind]);
    if (dw_heap_step_has_name(kind))
        put_name(out, heap, heap->step_values[node]);
    else if (kind == DW_HEAP_STEP_INDEX)
        dw_out_u64(out, heap->step_values[node]);
    dw_out_text(out, behind[kind] ? behind[kind] : "");
}

void dw_heap_put_type(struct dw_out *out, const struct dw_heap *heap, uint32_t type)
{
    struct dw_string module = heap->names.strings[heap->types[type].module];
    if (module.size && strcmp(module.bytes, "builtins") != 0) {
        dw_out_write(out, module.bytes, module.size);
        dw_out_char(out, '.');
    }
    put_name(out, heap, heap->types[type].name);
}

static bool is_module(const struct dw_heap *heap, dw_heap_node node)
{
    for (uint32_t i = 0; i < heap->module_count; i++)
        if (heap->modules[i].node == node)
            return true;
    return false;
}

static void put_frame(struct dw_out *out, const struct dw_heap *heap,
                      const struct dw_heap_frame *frame)
{
    struct dw_string file = heap->names.strings[frame->file];
    const char *slash = strrchr(file.bytes, '/');
    put_name(out, heap, frame->function);
    dw_out_printf(out, "() at %s:%d", slash ? slash + 1 : file.bytes, frame->line);
}

void dw_heap_put_root(struct dw_out *out, const struct dw_heap *heap, dw_heap_node root)
{
    if (root && root <= heap->frame_count) {
        put_frame(out, heap, &heap->frames[root - 1]);
        return;
    }
    if (is_module(heap, root)) {
        dw_out_text(out, "module ");
        if (heap->step_kinds && heap->step_kinds[root] == DW_HEAP_STEP_KEY)
            put_name(out, heap, heap->step_values[root]);
        return;
    }
    dw_out_text(out, heap->outside[root] == DW_HEAP_IMMORTAL ? "the interpreter: " : "C code: ");
    dw_heap_put_type(out, heap, heap->graph.types[root]);
}

dw_string_id dw_heap_note_of(const struct dw_heap *heap, dw_heap_node node)
{
    uint32_t low = 0, high = heap->note_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (heap->notes[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < heap->note_count && heap->notes[low].node == node ? heap->notes[low].text : 0;
}

static bool is_dict_step(const struct dw_heap *heap, dw_heap_node node)
{
    return heap->step_kinds && heap->step_kinds[node] == DW_HEAP_STEP_ATTRIBUTE &&
           !strcmp(heap->names.strings[heap->step_values[node]].bytes, "__dict__");
}

/* The step into a dictionary of attributes is left out where a key comes behind it. */
static void put_joined(struct dw_out *out, const struct dw_heap *heap, dw_heap_node before,
                       dw_heap_node node, dw_heap_node after)
{
    bool is_key = heap->step_kinds && heap->step_kinds[node] == DW_HEAP_STEP_KEY;
    if (is_dict_step(heap, node) && after && heap->step_kinds[after] == DW_HEAP_STEP_KEY)
        return;
    if (is_key && before && is_dict_step(heap, before)) {
        dw_out_char(out, '.');
        put_name(out, heap, heap->step_values[node]);
    } else if (!heap->step_kinds || !heap->step_kinds[node]) {
        dw_out_text(out, "→");
    } else {
        dw_heap_put_step(out, heap, node);
    }
}

static void put_steps(struct dw_out *out, const struct dw_heap *heap, const dw_heap_node *way,
                      uint32_t length)
{
    bool is_cut = length > STEPS_MAX;
    for (uint32_t i = 1; i < length; i++) {
        if (is_cut && i >= STEPS_MAX / 2 && i < length - STEPS_MAX / 2) {
            dw_out_text(out, i == STEPS_MAX / 2 ? "…" : "");
            continue;
        }
        put_joined(out, heap, i > 1 ? way[i - 1] : 0, way[i], i + 1 < length ? way[i + 1] : 0);
    }
}

void dw_heap_put_way(struct dw_out *out, const struct dw_heap *heap, const dw_heap_node *parents,
                     dw_heap_node node)
{
    uint32_t length = 1;
    if (parents[node] == DW_HEAP_NONE) {
        dw_out_text(out, "garbage: ");
        dw_heap_put_type(out, heap, heap->graph.types[node]);
        return;
    }
    for (dw_heap_node at = parents[node]; at; at = parents[at])
        length++;
    dw_heap_node *way = calloc(length, sizeof *way);
    if (!way) {
        out->error = out->error ? out->error : DW_ERR_MEMORY;
        return;
    }
    for (uint32_t i = length; i-- > 0; node = parents[node])
        way[i] = node;
    struct dw_out root;
    dw_out_init_memory(&root);
    dw_heap_put_root(&root, heap, way[0]);
    bool is_module_root = is_module(heap, way[0]) && root.buffer.size > strlen("module ");
    size_t skipped = is_module_root ? strlen("module ") : 0;
    dw_out_write(out, root.buffer.data + skipped, root.buffer.size - skipped);
    dw_out_text(out, is_module_root || length < 2 ? "" : ": ");
    dw_out_close_into(&root, out);
    put_steps(out, heap, way, length);
    free(way);
}
