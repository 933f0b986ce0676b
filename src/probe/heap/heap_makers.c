/* SPDX-License-Identifier: MIT
 * The block of an object begins before it, where the garbage collector and attributes have their
 * part. */
#include "probe/heap/heap_makers.h"

#include "base/intern.h"
#include "cpython/heap/heap_size.h"
#include "probe/memory/memory_makers.h"

struct joining {
    struct dw_heap *heap;
    size_t *heads;     /* by type: bytes before an object */
    uint32_t *site_of; /* by number of the recording: 1 + site; 0: not asked for yet */
    uint32_t capacity;
    struct dw_map index; /* of sites */
};

static int intern(struct dw_heap *heap, struct dw_string text, dw_string_id *id)
{
    return dw_string_intern(&heap->names, text.bytes, text.size, id);
}

static int add_site(struct joining *joining, uint32_t number, uint32_t *site)
{
    struct dw_heap *heap = joining->heap;
    struct dw_memory_maker maker;
    struct dw_heap_site made = {0};
    *site = 0;
    if (!dw_memory_maker_at(number, &maker))
        return 0;
    int error = intern(heap, maker.function, &made.function);
    if (!error)
        error = intern(heap, maker.file, &made.file);
    made.line = maker.line;
    return error ? error
                 : DW_INTERN(heap->sites, heap->site_count, heap->site_capacity, joining->index,
                             sizeof made, &made, site);
}

static int site_of(struct joining *joining, uint32_t number, uint32_t *site)
{
    while (number >= joining->capacity) {
        uint32_t before = joining->capacity;
        if (dw_grow((void **)&joining->site_of, &joining->capacity, sizeof *joining->site_of))
            return DW_ERR_MEMORY;
        memset(joining->site_of + before, 0,
               (joining->capacity - before) * sizeof *joining->site_of);
    }
    int error = 0;
    if (!joining->site_of[number]) {
        error = add_site(joining, number, site);
        joining->site_of[number] = error ? 0 : *site + 1;
    }
    *site = error ? 0 : joining->site_of[number] - 1;
    return error;
}

static int join_node(struct joining *joining, dw_heap_node node)
{
    struct dw_heap *heap = joining->heap;
    uintptr_t address = heap->addresses[node];
    size_t head = joining->heads[heap->graph.types[node]];
    uint32_t number = address ? dw_memory_maker_of(address - head) : 0;
    if (!number && address && head)
        number = dw_memory_maker_of(address);
    return number ? site_of(joining, number, &heap->node_sites[node]) : 0;
}

static int join(struct joining *joining)
{
    struct dw_heap *heap = joining->heap;
    uint32_t unknown;
    int error = DW_INTERN(heap->sites, heap->site_count, heap->site_capacity, joining->index,
                          sizeof *heap->sites, &(struct dw_heap_site){0}, &unknown);
    if (error)
        return error;
    for (uint32_t i = 1; i < heap->graph.type_count; i++) {
        struct dw_py_sizing sizing;
        if (!heap->types[i].address)
            continue; /* memory that is no object */
        dw_py_sizing_of((PyTypeObject *)heap->types[i].address, &sizing);
        joining->heads[i] = sizing.head;
    }
    for (dw_heap_node i = heap->frame_count + 1; i < heap->graph.count && !error; i++)
        error = join_node(joining, i);
    for (uint32_t i = 0; i < heap->block_count && !error; i++) {
        uint32_t number = dw_memory_maker_of(heap->blocks[i].address);
        error = number ? site_of(joining, number, &heap->node_sites[heap->blocks[i].node]) : 0;
    }
    return error;
}

bool dw_heap_has_makers(void)
{
    bool has = dw_memory_makers_begin();
    if (has)
        dw_memory_makers_end();
    return has;
}

int dw_heap_find_makers(struct dw_heap *heap)
{
    if (!dw_memory_makers_begin())
        return 0;
    struct joining joining = {.heap = heap};
    joining.heads = calloc((size_t)heap->graph.type_count + 1, sizeof *joining.heads);
    heap->node_sites = calloc(heap->graph.count, sizeof *heap->node_sites);
    int error = joining.heads && heap->node_sites ? join(&joining) : DW_ERR_MEMORY;
    dw_memory_makers_end();
    free(heap->blocks);
    heap->blocks = NULL;
    free(joining.heads);
    free(joining.site_of);
    dw_map_release(&joining.index);
    return error;
}
