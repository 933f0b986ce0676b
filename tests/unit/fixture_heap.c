/* SPDX-License-Identifier: MIT */
#include "fixture_heap.h"

#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define FRAMES 2
#define LONG_TYPE "OneOfManyTypesWhoseNamesAreLongerThanWhatHasRoomInTheFirstPieceOfMemory"

static void must(int error)
{
    if (error)
        abort();
}

static dw_string_id name_of(struct dw_heap *heap, const char *text, uint32_t number)
{
    char name[128];
    dw_string_id id;
    int size = snprintf(name, sizeof name, "%s%u", text, number);
    must(dw_string_intern(&heap->names, name, (size_t)size, &id));
    return id;
}

static void make_graph(struct dw_heap_graph *graph, uint32_t count, uint32_t types)
{
    *graph = (struct dw_heap_graph){.count = count, .type_count = types};
    graph->first = calloc(count + 1u, sizeof *graph->first);
    graph->targets = calloc(4u * count, sizeof *graph->targets);
    graph->roots = calloc(count, sizeof *graph->roots);
    graph->types = calloc(count, sizeof *graph->types);
    graph->sizes = calloc(count, sizeof *graph->sizes);
    for (uint32_t i = 1; i < count; i++) {
        graph->types[i] = i > FRAMES ? 1 + fixture_random_below(types - 1) : 0;
        graph->sizes[i] = fixture_random_below(4) ? 16u * fixture_random_below(9)
                                                  : (uint64_t)fixture_random_below(1u << 30) << 8;
        if (i <= FRAMES)
            graph->sizes[i] = 0;
        graph->first[i] = graph->edge_count;
        for (uint32_t e = fixture_random_below(4); e-- > 0;)
            graph->targets[graph->edge_count++] = 1 + fixture_random_below(count - 1);
    }
    graph->first[count] = graph->edge_count;
    for (uint32_t i = 1; i < count; i += 1 + fixture_random_below(5))
        graph->roots[graph->root_count++] = i;
}

static void make_names(struct dw_heap *heap)
{
    heap->types = calloc(heap->graph.type_count, sizeof *heap->types);
    for (uint32_t i = 1; i < heap->graph.type_count; i++)
        heap->types[i] = (struct dw_heap_type){0, name_of(heap, "module", i % 2),
                                               name_of(heap, i == 8 ? LONG_TYPE : "Type", i)};
    heap->frames = calloc(FRAMES, sizeof *heap->frames);
    heap->frame_count = FRAMES;
    for (uint32_t i = 0; i < FRAMES; i++)
        heap->frames[i] = (struct dw_heap_frame){name_of(heap, "function", i),
                                                 name_of(heap, "file", 0), 7 + (int)i, 1234, i};
    heap->variable_count = heap->graph.first[FRAMES + 1];
    heap->variables = calloc(heap->variable_count + 1u, sizeof *heap->variables);
    for (uint32_t i = 0; i < heap->variable_count; i++)
        heap->variables[i] = fixture_random_below(2) ? name_of(heap, "variable", i) : 0;
    heap->modules = calloc(1, sizeof *heap->modules);
    heap->modules[heap->module_count++] = (struct dw_heap_module){FRAMES + 1, FRAMES + 2};
}

static void make_steps(struct dw_heap *heap, uint32_t count)
{
    heap->step_kinds = calloc(count, sizeof *heap->step_kinds);
    heap->step_values = calloc(count, sizeof *heap->step_values);
    for (uint32_t i = 1; i < count; i++) {
        uint8_t kind = heap->step_kinds[i] = (uint8_t)fixture_random_below(DW_HEAP_STEPS);
        heap->step_values[i] = dw_heap_step_has_name(kind)
                                   ? name_of(heap, "step", fixture_random_below(50))
                               : kind == DW_HEAP_STEP_INDEX ? i * 3
                                                            : 0;
    }
    heap->notes = calloc(1, sizeof *heap->notes);
    heap->notes[heap->note_count++] = (struct dw_heap_note){count - 1, name_of(heap, "note", 0)};
    heap->sites = calloc(3, sizeof *heap->sites);
    for (heap->site_count = 1; heap->site_count < 3; heap->site_count++)
        heap->sites[heap->site_count] =
            (struct dw_heap_site){name_of(heap, "maker", heap->site_count), 0, heap->site_count};
    heap->node_sites = calloc(count, sizeof *heap->node_sites);
    for (uint32_t i = FRAMES + 1; i < count; i++)
        heap->node_sites[i] = fixture_random_below(3);
}

void fixture_heap(struct dw_heap *heap, uint32_t count, uint32_t types, bool has_steps)
{
    *heap = (struct dw_heap){0};
    must(dw_string_table_init(&heap->names));
    make_graph(&heap->graph, count, types);
    make_names(heap);
    if (has_steps)
        make_steps(heap, count);
    heap->outside = calloc(count, sizeof *heap->outside);
    for (uint32_t i = 0; i < heap->graph.root_count; i++)
        heap->outside[heap->graph.roots[i]] =
            fixture_random_below(3) ? 1 + fixture_random_below(3) : DW_HEAP_IMMORTAL;
}

void fixture_heap_log(struct dw_log_writer *writer, const struct dw_heap *heap, uint32_t pictures)
{
    struct dw_process process = {
        .pid = 7, .uuid = {1}, .first_clock = {.monotonic_ns = 100, .wall_ns = 1000}};
    struct dw_string_table strings;
    must(dw_string_table_init(&strings));
    must(dw_log_writer_init(writer, -1));
    dw_log_write_process(writer, 0, &process, &strings);
    for (uint32_t i = 0; i < pictures; i++)
        dw_log_write_heap(writer, 0, 150 + i, (struct dw_string){"exit", 4}, heap);
    dw_log_write_end(writer, 0, 0, false);
    must(writer->error);
    dw_string_table_release(&strings);
}
