/* SPDX-License-Identifier: MIT
 * A picture of a heap, table by table. Numbers are told by how far they are from a guess, so that
 * most take one byte, which then compresses. */
#include "log/heap_parts.h"
#include "log/writing.h"

#include "base/error.h"
#include "base/varint.h"

#include <stdlib.h>

struct writing {
    const struct dw_heap *heap;
    struct dw_heap_guess guess;
    uint64_t *last_sizes; /* by type */
    dw_heap_node last;    /* the node of the entry before, of what lists nodes */
    uint32_t last_index;  /* of the last step that was an index */
};

static void put_delta(struct dw_buffer *payload, uint64_t value, uint64_t guess)
{
    dw_buffer_put(payload, dw_zigzag((int64_t)(value - guess)));
}

static void put_name(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_put_string(payload, dw_string_bounded(writing->heap->names.strings[i]));
}

static void put_type(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_buffer_put(payload, writing->heap->types[i].module);
    dw_buffer_put(payload, writing->heap->types[i].name);
}

static void put_frame(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    const struct dw_heap_frame *frame = &writing->heap->frames[i];
    dw_buffer_put(payload, frame->function);
    dw_buffer_put(payload, frame->file);
    dw_buffer_put(payload, frame->line > 0 ? (uint64_t)frame->line : 0);
    dw_buffer_put(payload, frame->thread);
    dw_buffer_put(payload, frame->is_own);
}

static void put_variable(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_buffer_put(payload, writing->heap->variables[i]);
}

static void put_module(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_buffer_put(payload, writing->heap->modules[i].node);
    dw_buffer_put(payload, writing->heap->modules[i].names);
}

static void put_node(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_buffer_put(payload, writing->heap->graph.types[i]);
}

static void put_size(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    uint64_t *last = &writing->last_sizes[writing->heap->graph.types[i]];
    put_delta(payload, writing->heap->graph.sizes[i], *last);
    *last = writing->heap->graph.sizes[i];
}

static void put_degree(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    const uint32_t *first = writing->heap->graph.first;
    dw_buffer_put(payload, first[i + 1] - first[i]);
}

static void put_target(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    struct dw_heap_guess *guess = &writing->guess;
    dw_heap_node target = writing->heap->graph.targets[i], like = dw_heap_guess_next(guess, i);
    if (target == guess->largest + 1)
        dw_buffer_put(payload, 0);
    else
        dw_buffer_put(payload, 1 + dw_zigzag((int64_t)target - (int64_t)like));
    guess->largest = target > guess->largest ? target : guess->largest;
}

/* References from outside, 0 for those of what never dies, which has as many as one likes. */
static void put_root(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_heap_node node = writing->heap->graph.roots[i];
    uint32_t outside = writing->heap->outside[node];
    put_delta(payload, node, writing->last);
    dw_buffer_put(payload, outside == DW_HEAP_IMMORTAL ? 0 : outside + UINT64_C(1));
    writing->last = node;
}

static void put_step(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    uint8_t kind = writing->heap->step_kinds[i];
    uint32_t value = writing->heap->step_values[i];
    dw_buffer_put(payload, kind);
    if (dw_heap_step_has_name(kind))
        dw_buffer_put(payload, value);
    if (kind != DW_HEAP_STEP_INDEX)
        return;
    put_delta(payload, value, writing->last_index);
    writing->last_index = value;
}

static void put_note(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    const struct dw_heap_note *note = &writing->heap->notes[i];
    put_delta(payload, note->node, writing->last);
    dw_buffer_put(payload, note->text);
    writing->last = note->node;
}

static void put_site(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    const struct dw_heap_site *site = &writing->heap->sites[i];
    dw_buffer_put(payload, site->function);
    dw_buffer_put(payload, site->file);
    dw_buffer_put(payload, site->line);
}

static void put_node_site(struct writing *writing, struct dw_buffer *payload, uint32_t i)
{
    dw_buffer_put(payload, writing->heap->node_sites[i]);
}

typedef void put_entry(struct writing *writing, struct dw_buffer *payload, uint32_t i);
static put_entry *const puts_of[DW_HEAP_PARTS] = {
    [DW_HEAP_NAMES] = put_name,      [DW_HEAP_TYPES] = put_type,
    [DW_HEAP_FRAMES] = put_frame,    [DW_HEAP_VARIABLES] = put_variable,
    [DW_HEAP_MODULES] = put_module,  [DW_HEAP_NODES] = put_node,
    [DW_HEAP_SIZES] = put_size,      [DW_HEAP_DEGREES] = put_degree,
    [DW_HEAP_TARGETS] = put_target,  [DW_HEAP_ROOTS] = put_root,
    [DW_HEAP_STEPS_PART] = put_step, [DW_HEAP_NOTES] = put_note,
    [DW_HEAP_SITES] = put_site,      [DW_HEAP_NODE_SITES] = put_node_site,
};

static void count_entries(const struct dw_heap *heap, uint32_t counts[DW_HEAP_PARTS])
{
    const struct dw_heap_graph *graph = &heap->graph;
    counts[DW_HEAP_HEAD] = 0;
    counts[DW_HEAP_NAMES] = heap->names.count;
    counts[DW_HEAP_TYPES] = graph->type_count;
    counts[DW_HEAP_FRAMES] = heap->frame_count;
    counts[DW_HEAP_VARIABLES] = heap->variable_count;
    counts[DW_HEAP_MODULES] = heap->module_count;
    counts[DW_HEAP_NODES] = counts[DW_HEAP_SIZES] = counts[DW_HEAP_DEGREES] = graph->count;
    counts[DW_HEAP_TARGETS] = graph->edge_count;
    counts[DW_HEAP_ROOTS] = graph->root_count;
    counts[DW_HEAP_STEPS_PART] = heap->step_kinds ? graph->count : 0;
    counts[DW_HEAP_NOTES] = heap->note_count;
    counts[DW_HEAP_SITES] = heap->site_count;
    counts[DW_HEAP_NODE_SITES] = heap->node_sites ? graph->count : 0;
}

static struct dw_buffer *begin_part(struct dw_log_writer *writer, enum dw_heap_part part)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, writer->heaps);
    dw_buffer_put(payload, part);
    return payload;
}

static void write_part(struct dw_log_writer *writer, struct writing *writing,
                       enum dw_heap_part part, uint32_t count)
{
    writing->last = 0;
    for (uint32_t at = 0; at < count && !writer->error;) {
        struct dw_buffer *payload = begin_part(writer, part);
        dw_buffer_put(payload, at);
        for (; at < count && payload->size < DW_CHUNK_TARGET && !payload->failed; at++)
            puts_of[part](writing, payload, at);
        dw_log_chunk_write(writer, DW_CHUNK_HEAP);
    }
}

static void write_parts(struct dw_log_writer *writer, struct writing *writing,
                        const uint32_t counts[DW_HEAP_PARTS])
{
    for (int part = DW_HEAP_NAMES; part < DW_HEAP_PARTS; part++)
        write_part(writer, writing, (enum dw_heap_part)part, counts[part]);
}

void dw_log_write_heap(struct dw_log_writer *writer, uint32_t process, uint64_t monotonic_ns,
                       struct dw_string reason, const struct dw_heap *heap)
{
    uint32_t counts[DW_HEAP_PARTS];
    struct writing writing = {.heap = heap};
    count_entries(heap, counts);
    writing.last_sizes = calloc((size_t)heap->graph.type_count + 1, sizeof *writing.last_sizes);
    if (dw_heap_guess_init(&writing.guess, &heap->graph) || !writing.last_sizes) {
        writer->error = writer->error ? writer->error : DW_ERR_MEMORY;
    } else {
        struct dw_buffer *payload = begin_part(writer, DW_HEAP_HEAD);
        dw_buffer_put(payload, process);
        dw_buffer_put(payload, monotonic_ns);
        dw_put_string(payload, reason);
        for (int part = DW_HEAP_NAMES; part < DW_HEAP_PARTS; part++)
            dw_buffer_put(payload, counts[part]);
        dw_log_chunk_write(writer, DW_CHUNK_HEAP);
        write_parts(writer, &writing, counts);
        writer->heaps++;
    }
    dw_heap_guess_release(&writing.guess);
    free(writing.last_sizes);
}
