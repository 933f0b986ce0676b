/* SPDX-License-Identifier: MIT
 * Each object is looked at once more, for those that it is the last step before. */
#include "attach/heap/outside_steps.h"

#include "attach/heap/outside_layout.h"
#include "attach/python/field.h"
#include "attach/python/py_object.h"
#include "base/error.h"
#include "model/heap/heap_ways.h"

#include <stdlib.h>

#define MAX_ITEMS ((uint64_t)1 << 32)
#define MAX_NAME 64

struct naming {
    struct dw_outside_types *types;
    const struct dw_address_map *numbers;
    struct dw_heap *heap;
    dw_heap_node *parents;
    dw_heap_node node; /* whose references are looked at */
    dw_string_id dict; /* "__dict__" */
    int error;
};

static uint64_t at(const struct naming *naming, uint64_t address)
{
    return dw_outside_at(naming->types->memory, address);
}

/* The node of an object, when this one is before it on its way and has no name for it yet. */
static dw_heap_node wanted(const struct naming *naming, uint64_t object)
{
    dw_heap_node node =
        object && !(object & 7) ? dw_address_map_find(naming->numbers, (uintptr_t)object) : 0;
    return node && naming->parents[node] == naming->node && !naming->heap->step_kinds[node] ? node
                                                                                            : 0;
}

static void set(struct naming *naming, uint64_t object, enum dw_heap_step_kind kind, uint32_t value)
{
    dw_heap_node node = wanted(naming, object);
    if (!node)
        return;
    naming->heap->step_kinds[node] = (uint8_t)kind;
    naming->heap->step_values[node] = value;
}

static bool is_in_name(char c, bool is_first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!is_first && c >= '0' && c <= '9');
}

/* The name that an identifier is, or identifiers with dots between them; else 0. */
static dw_string_id read_name(struct naming *naming, uint64_t string, bool may_have_dots)
{
    const struct dw_py_offsets *offsets = &naming->types->python->offsets;
    uint32_t type = dw_outside_type_of(naming->types, string);
    uint64_t length = at(naming, string + offsets->string_length);
    char text[MAX_NAME];
    dw_string_id id = 0;
    if (naming->types->types[type].kind != DW_OUTSIDE_STRING || !length || length > MAX_NAME)
        return 0;
    for (uint64_t i = 0; i < length; i++) {
        uint64_t address = string + offsets->string_ascii_data + i;
        text[i] = (char)dw_outside_byte(naming->types->memory, address);
        if (!is_in_name(text[i], !i) && !(may_have_dots && text[i] == '.'))
            return 0;
    }
    naming->error = dw_string_intern(&naming->heap->names, text, (size_t)length, &id);
    return id;
}

static void name_item(uint64_t key, uint64_t value, void *context)
{
    struct naming *naming = context;
    if (wanted(naming, value)) {
        dw_string_id name = read_name(naming, key, false);
        uint32_t type = dw_outside_type_of(naming->types, key);
        if (name)
            set(naming, value, DW_HEAP_STEP_KEY, name);
        else
            set(naming, value, DW_HEAP_STEP_SOME_KEY, naming->heap->types[type].name);
    }
    set(naming, key, DW_HEAP_STEP_AS_KEY, 0);
}

static void name_attribute(uint64_t name, uint64_t value, void *context)
{
    struct naming *naming = context;
    dw_string_id id = wanted(naming, value) ? read_name(naming, name, false) : 0;
    if (id)
        set(naming, value, DW_HEAP_STEP_ATTRIBUTE, id);
}

/* A module that ways begin at has the name that sys.modules knows it by. */
static void name_module(uint64_t key, uint64_t value, void *context)
{
    struct naming *naming = context;
    naming->node = 0;
    dw_string_id name = wanted(naming, value) ? read_name(naming, key, true) : 0;
    if (name)
        set(naming, value, DW_HEAP_STEP_KEY, name);
}

static void name_indices(struct naming *naming, uint64_t items, uint64_t count)
{
    for (uint64_t i = 0; i < count && count < MAX_ITEMS; i++)
        set(naming, at(naming, items + i * 8), DW_HEAP_STEP_INDEX, (uint32_t)i);
}

static void name_elements(struct naming *naming, uint64_t set_object)
{
    uint64_t mask = at(naming, set_object + DW_SET_MASK),
             table = at(naming, set_object + DW_SET_TABLE);
    for (uint64_t i = 0; mask < MAX_ITEMS && i <= mask; i++)
        set(naming, at(naming, table + i * 16), DW_HEAP_STEP_ELEMENT, 0);
}

static void name_fixed(struct naming *naming, uint64_t object, const struct dw_outside_type *type)
{
    for (uint32_t i = 0; i < type->offset_count; i++)
        if (type->offset_names[i])
            set(naming, at(naming, object + type->offsets[i]), DW_HEAP_STEP_ATTRIBUTE,
                type->offset_names[i]);
    if (type->kind == DW_OUTSIDE_TYPE)
        set(naming, at(naming, object + 264), DW_HEAP_STEP_ATTRIBUTE, naming->dict);
    dw_outside_attributes(naming->types, object, type, name_attribute, naming);
    set(naming, dw_outside_dict_of(naming->types, object, type), DW_HEAP_STEP_ATTRIBUTE,
        naming->dict);
}

static void name_references(struct naming *naming)
{
    uint64_t object = naming->heap->addresses[naming->node];
    struct dw_outside_type type =
        naming->types->types[naming->heap->graph.types[naming->node]]; /* the table may move */
    uint64_t size = at(naming, object + DW_OBJECT_SIZE);
    name_fixed(naming, object, &type);
    switch (type.kind) {
    case DW_OUTSIDE_DICT: dw_outside_items(naming->types, object, name_item, naming); break;
    case DW_OUTSIDE_LIST: name_indices(naming, at(naming, object + DW_LIST_ITEMS), size); break;
    case DW_OUTSIDE_TUPLE:
        name_indices(naming, object + naming->types->python->offsets.tuple_items, size);
        break;
    case DW_OUTSIDE_SET: name_elements(naming, object); break;
    default: break;
    }
}

static void name_variables(struct naming *naming)
{
    struct dw_heap *heap = naming->heap;
    const uint32_t *first = heap->graph.first;
    for (uint32_t i = first[naming->node]; i < first[naming->node + 1]; i++) {
        dw_heap_node target = heap->graph.targets[i];
        if (heap->variables[i] && naming->parents[target] == naming->node)
            set(naming, heap->addresses[target], DW_HEAP_STEP_VARIABLE, heap->variables[i]);
    }
}

static int name_all(struct naming *naming, uint64_t modules)
{
    struct dw_heap *heap = naming->heap;
    int error = dw_string_intern(&heap->names, "__dict__", strlen("__dict__"), &naming->dict);
    if (!error)
        error = dw_heap_find_ways(heap, naming->parents);
    if (!error)
        dw_outside_items(naming->types, modules, name_module, naming);
    for (dw_heap_node node = 1; node < heap->graph.count && !error; node++) {
        naming->node = node;
        if (node <= heap->frame_count)
            name_variables(naming);
        else
            name_references(naming);
        error = naming->error;
    }
    return error;
}

int dw_outside_name_steps(struct dw_outside_types *types, const struct dw_address_map *numbers,
                          uint64_t modules, struct dw_heap *heap)
{
    struct naming naming = {.types = types, .numbers = numbers, .heap = heap};
    size_t count = heap->graph.count;
    naming.parents = malloc(count * sizeof *naming.parents);
    heap->step_kinds = calloc(count, sizeof *heap->step_kinds);
    heap->step_values = calloc(count, sizeof *heap->step_values);
    int error = naming.parents && heap->step_kinds && heap->step_values ? name_all(&naming, modules)
                                                                        : DW_ERR_MEMORY;
    free(naming.parents);
    return error;
}
