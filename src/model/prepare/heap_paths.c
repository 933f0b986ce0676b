/* SPDX-License-Identifier: MIT
 * The tree of dominators may be as deep as there are objects. A type comes again on a path only
 * when others have come in between that are new to the path: so numbers of all types stay right,
 * and paths are no longer than the types that are in them need.
 *
 * Modules, functions that ran and the objects that retain most are steps of their own, before that
 * of their type. */
#include "model/prepare/heap_paths.h"

#include "base/intern.h"
#include "model/heap/heap_picture.h"
#include "model/heap/heap_way_text.h"
#include "model/heap/heap_ways.h"

#include <stdio.h>

#define OBJECTS_SHOWN 500 /* that retain most */
#define DEPTH_MAX 200     /* deeper ones are put beside the last */
#define NO_PATH UINT32_MAX

/* A path of the profile, as it was made here. */
struct step {
    dw_path_id path; /* the key */
    uint32_t above;  /* the step before, or NO_PATH */
    uint32_t type;   /* 0: of an object */
    uint32_t depth;
};

struct below {
    uint32_t step, type; /* the key */
    uint32_t path;       /* the step that it leads to */
};

struct labelled {
    uint32_t type, site, bucket; /* the key */
    dw_labels_id labels;
};

struct showing {
    struct dw_profile *profile;
    struct dw_heap *heap;
    struct dw_thread *thread;
    dw_heap_node *parents;                  /* on ways */
    dw_heap_node *first_child, *next_child; /* of the tree of dominators */
    uint32_t *step_of;                      /* by node */
    bool *is_shown;                         /* by node: it is a step of its own */
    dw_place_id *places;                    /* by type; 0: not made yet */
    struct step *steps;
    uint32_t step_count, step_capacity;
    struct dw_map step_index;
    struct below *below;
    uint32_t below_count, below_capacity;
    struct dw_map below_index;
    struct labelled *labelled;
    uint32_t labelled_count, labelled_capacity;
    struct dw_map labelled_index;
    dw_string_id size_key, site_key, module_key;
};

static int place_of(struct dw_profile *profile, enum dw_frame_kind kind, const struct dw_out *name,
                    dw_place_id *place)
{
    struct dw_frame frame = {.kind = kind};
    struct dw_place made = {0};
    int error = name->error;
    if (!error)
        error = dw_string_intern_name(&profile->strings, name->buffer.data, name->buffer.size,
                                      &frame.name);
    if (!error)
        error = dw_frame_intern(&profile->frames, &frame, &made.frame);
    return error ? error : dw_place_intern(&profile->places, &made, place);
}

static int type_place(struct showing *showing, uint32_t type, dw_place_id *place)
{
    struct dw_out name;
    int error = 0;
    dw_out_init_memory(&name);
    dw_heap_put_type(&name, showing->heap, type);
    if (!showing->places[type])
        error = place_of(showing->profile, DW_FRAME_TYPE, &name, &showing->places[type]);
    *place = showing->places[type];
    dw_out_close(&name);
    return error;
}

static int add_step(struct showing *showing, uint32_t above, dw_place_id place, uint32_t type,
                    uint32_t *step)
{
    const struct step *before = above == NO_PATH ? NULL : &showing->steps[above];
    struct step made = {.above = above, .type = type, .depth = before ? before->depth + 1 : 0};
    int error = dw_path_intern(&showing->profile->paths, before ? before->path : DW_PATH_ROOT,
                               place, &made.path);
    return error ? error
                 : DW_INTERN(showing->steps, showing->step_count, showing->step_capacity,
                             showing->step_index, sizeof made.path, &made, step);
}

/* Whether a type is on the way to a step, itself included. */
static bool has_type(const struct showing *showing, uint32_t step, uint32_t type)
{
    for (; step != NO_PATH; step = showing->steps[step].above)
        if (showing->steps[step].type == type)
            return true;
    return false;
}

/* A step above that ends with the type, if no step behind it has a type that is new there, and none
 * is of an object; else NO_PATH. */
static uint32_t find_again(const struct showing *showing, uint32_t step, uint32_t type)
{
    uint32_t at = step;
    while (at != NO_PATH && showing->steps[at].type && showing->steps[at].type != type)
        at = showing->steps[at].above;
    if (at == NO_PATH || !showing->steps[at].type)
        return NO_PATH;
    for (uint32_t i = step; i != at; i = showing->steps[i].above)
        if (!has_type(showing, at, showing->steps[i].type))
            return NO_PATH;
    return at;
}

/* The step of a type below another. */
static int go_to_type(struct showing *showing, uint32_t above, uint32_t type, uint32_t *step)
{
    struct below wanted = {above, type, NO_PATH};
    dw_place_id place = 0;
    uint32_t found;
    int error = DW_INTERN(showing->below, showing->below_count, showing->below_capacity,
                          showing->below_index, offsetof(struct below, path), &wanted, &found);
    if (error || (*step = showing->below[found].path) != NO_PATH)
        return error;
    *step = find_again(showing, above, type);
    if (*step == NO_PATH) {
        bool is_deep = above != NO_PATH && showing->steps[above].depth >= DEPTH_MAX;
        error = type_place(showing, type, &place);
        if (!error)
            error =
                add_step(showing, is_deep ? showing->steps[above].above : above, place, type, step);
    }
    showing->below[found].path = *step;
    return error;
}

static void put_object(struct dw_out *out, const struct showing *showing, dw_heap_node node)
{
    if (node <= showing->heap->frame_count)
        dw_heap_put_root(out, showing->heap, node);
    else
        dw_heap_put_way(out, showing->heap, showing->parents, node);
}

static int go_to_object(struct showing *showing, uint32_t above, dw_heap_node node, uint32_t *step)
{
    struct dw_out name;
    dw_place_id place;
    dw_out_init_memory(&name);
    put_object(&name, showing, node);
    int error = place_of(showing->profile, DW_FRAME_OBJECT, &name, &place);
    dw_out_close(&name);
    return error ? error : add_step(showing, above, place, 0, step);
}

static int garbage_step(struct showing *showing, uint32_t *step)
{
    struct dw_out name;
    dw_place_id place;
    dw_out_init_memory(&name);
    dw_out_text(&name, "<garbage>");
    int error = place_of(showing->profile, DW_FRAME_OBJECT, &name, &place);
    dw_out_close(&name);
    return error ? error : add_step(showing, NO_PATH, place, 0, step);
}

static int find_step(struct showing *showing, dw_heap_node node)
{
    const struct dw_heap_graph *graph = &showing->heap->graph;
    dw_heap_node above = graph->dominators[node];
    uint32_t step = above ? showing->step_of[above] : NO_PATH;
    int error = 0;
    if (!above && graph->is_garbage[node])
        error = garbage_step(showing, &step);
    if (!error && showing->is_shown[node])
        error = go_to_object(showing, step, node, &step);
    if (!error && node > showing->heap->frame_count)
        error = go_to_type(showing, step, graph->types[node], &step);
    showing->step_of[node] = step;
    return error;
}

static int intern_text(struct showing *showing, const struct dw_out *text, dw_string_id *id)
{
    return text->error ? text->error
                       : dw_string_intern_name(&showing->profile->strings, text->buffer.data,
                                               text->buffer.size, id);
}

static void put_site(struct dw_out *out, const struct dw_heap *heap, uint32_t site)
{
    const struct dw_heap_site *at = &heap->sites[site];
    const char *file = heap->names.strings[at->file].bytes, *slash = strrchr(file, '/');
    dw_out_printf(out, "%s:%u (%s)", slash ? slash + 1 : file, at->line,
                  heap->names.strings[at->function].bytes);
}

static void put_bucket(struct dw_out *out, uint32_t bucket)
{
    if (bucket)
        dw_out_printf(out, "%llu-%llu", 1ull << (bucket - 1), (1ull << bucket) - 1);
    else
        dw_out_text(out, "0");
}

/* What rows of one type, size and site have as labels. */
static int make_labels(struct showing *showing, struct labelled *labelled)
{
    const struct dw_heap *heap = showing->heap;
    struct dw_label pairs[3] = {{showing->size_key, 0}, {showing->module_key, 0}};
    struct dw_string module = heap->names.strings[heap->types[labelled->type].module];
    struct dw_out text;
    dw_out_init_memory(&text);
    put_bucket(&text, labelled->bucket);
    int error = intern_text(showing, &text, &pairs[0].value);
    if (!error)
        error = dw_string_intern_name(&showing->profile->strings, module.bytes, module.size,
                                      &pairs[1].value);
    dw_buffer_clear(&text.buffer);
    if (!error && labelled->site) {
        put_site(&text, heap, labelled->site);
        pairs[2].key = showing->site_key;
        error = intern_text(showing, &text, &pairs[2].value);
    }
    dw_out_close(&text);
    return error ? error
                 : dw_labels_intern(&showing->profile->labels, 0, pairs, 2 + !!labelled->site,
                                    &labelled->labels);
}

static int labels_of(struct showing *showing, dw_heap_node node, dw_labels_id *labels)
{
    const struct dw_heap *heap = showing->heap;
    uint64_t size = heap->graph.sizes[node];
    struct labelled wanted = {.type = heap->graph.types[node],
                              .site = heap->node_sites ? heap->node_sites[node] : 0,
                              .bucket = size ? 64u - (uint32_t)__builtin_clzll(size) : 0,
                              .labels = DW_MAP_NONE};
    uint32_t found;
    int error =
        DW_INTERN(showing->labelled, showing->labelled_count, showing->labelled_capacity,
                  showing->labelled_index, offsetof(struct labelled, labels), &wanted, &found);
    if (!error && showing->labelled[found].labels == DW_MAP_NONE)
        error = make_labels(showing, &showing->labelled[found]);
    if (!error)
        *labels = showing->labelled[found].labels;
    return error;
}

static int add_row(struct showing *showing, dw_heap_node node)
{
    const uint64_t numbers[] = {1, showing->heap->graph.sizes[node]};
    dw_labels_id labels;
    uint32_t row;
    int error = labels_of(showing, node, &labels);
    if (!error)
        error = dw_value_row_get(&showing->thread->values,
                                 showing->steps[showing->step_of[node]].path, labels, &row);
    return error ? error
                 : dw_value_row_add(&showing->thread->values, row,
                                    DW_MASK(DW_OBJECTS) | DW_MASK(DW_OBJECT_BYTES), numbers);
}

/* Down the tree of dominators, each before what it dominates. */
static int walk(struct showing *showing)
{
    const struct dw_heap_graph *graph = &showing->heap->graph;
    dw_heap_node node = showing->first_child[0];
    int error = 0;
    while (node && !error) {
        error = find_step(showing, node);
        if (!error && node > showing->heap->frame_count)
            error = add_row(showing, node);
        dw_heap_node next = showing->first_child[node];
        while (node && !next) {
            next = showing->next_child[node];
            node = graph->dominators[node];
        }
        node = next;
    }
    return error;
}

static int choose_shown(struct showing *showing)
{
    const struct dw_heap *heap = showing->heap;
    dw_heap_node best[OBJECTS_SHOWN];
    uint32_t count = 0;
    int error = dw_heap_graph_find_largest(&heap->graph, heap->frame_count + 1, OBJECTS_SHOWN, best,
                                           &count);
    for (uint32_t i = 0; i < count && !error; i++)
        showing->is_shown[best[i]] = true;
    for (uint32_t i = 0; i < heap->module_count; i++) {
        const struct dw_heap_module *module = &heap->modules[i];
        bool is_inside = heap->graph.dominators[module->names] == module->node;
        showing->is_shown[module->node] = true;
        showing->is_shown[module->names] |= !is_inside;
    }
    for (dw_heap_node i = 1; i <= heap->frame_count; i++)
        showing->is_shown[i] = true;
    return error;
}

static int make_tree(struct showing *showing)
{
    const struct dw_heap_graph *graph = &showing->heap->graph;
    size_t count = graph->count;
    showing->parents = malloc(count * sizeof *showing->parents);
    showing->first_child = calloc(count, sizeof *showing->first_child);
    showing->next_child = calloc(count, sizeof *showing->next_child);
    showing->step_of = calloc(count, sizeof *showing->step_of);
    showing->is_shown = calloc(count, sizeof *showing->is_shown);
    showing->places = calloc((size_t)graph->type_count + 1, sizeof *showing->places);
    if (!showing->parents || !showing->first_child || !showing->next_child || !showing->step_of ||
        !showing->is_shown || !showing->places)
        return DW_ERR_MEMORY;
    for (dw_heap_node i = graph->count; i-- > 1;) {
        showing->next_child[i] = showing->first_child[graph->dominators[i]];
        showing->first_child[graph->dominators[i]] = i;
    }
    return dw_heap_find_ways(showing->heap, showing->parents);
}

static int intern_key(struct showing *showing, const char *key, dw_string_id *id)
{
    return dw_string_intern(&showing->profile->strings, key, strlen(key), id);
}

static int show(struct showing *showing)
{
    int error = dw_heap_graph_dominate(&showing->heap->graph);
    if (!error)
        error = make_tree(showing);
    if (!error)
        error = choose_shown(showing);
    if (!error)
        error = intern_key(showing, "size", &showing->size_key);
    if (!error)
        error = intern_key(showing, "defined_in", &showing->module_key);
    if (!error)
        error = intern_key(showing, "site", &showing->site_key);
    return error ? error : walk(showing);
}

static void release(struct showing *showing)
{
    free(showing->parents);
    free(showing->first_child);
    free(showing->next_child);
    free(showing->step_of);
    free(showing->is_shown);
    free(showing->places);
    free(showing->steps);
    free(showing->below);
    free(showing->labelled);
    dw_map_release(&showing->step_index);
    dw_map_release(&showing->below_index);
    dw_map_release(&showing->labelled_index);
}

/* "heap: exit"; beside others "#3 exit, 12.5 s", with the time since the recording began. */
static int name_shot(struct dw_profile *profile, const struct dw_heap_shot *shot, uint32_t number,
                     dw_string_id *id)
{
    const char *reason = dw_profile_string(profile, shot->reason).bytes;
    uint64_t begun_ns = profile->processes[shot->process].first_clock.wall_ns;
    double seconds = shot->time_ns > begun_ns ? (double)(shot->time_ns - begun_ns) / 1e9 : 0;
    char name[160];
    int size = number == DW_HEAP_LAST
                   ? snprintf(name, sizeof name, "heap: %.40s", reason)
                   : snprintf(name, sizeof name, "#%u %.120s, %.1f s", number, reason, seconds);
    return dw_string_intern(&profile->strings, name, (size_t)size, id);
}

static int show_one(struct dw_profile *profile, struct dw_heap_shot *shot, uint32_t number)
{
    struct dw_thread thread = {.process = shot->process};
    int error = DW_GROW(profile->threads, profile->thread_count, profile->thread_capacity);
    if (!error)
        error = name_shot(profile, shot, number, &thread.name);
    if (error)
        return error;
    profile->threads[profile->thread_count] = thread;
    struct showing showing = {.profile = profile,
                              .heap = &shot->heap,
                              .thread = &profile->threads[profile->thread_count++]};
    error = show(&showing);
    release(&showing);
    return error;
}

static bool is_last(const struct dw_profile *profile, uint32_t index)
{
    for (uint32_t i = index + 1; i < profile->heap_count; i++)
        if (profile->heaps[i].process == profile->heaps[index].process)
            return false;
    return true;
}

static bool is_of_one_process(const struct dw_profile *profile)
{
    for (uint32_t i = 1; i < profile->heap_count; i++)
        if (profile->heaps[i].process != profile->heaps[0].process)
            return false;
    return profile->heap_count > 1 && profile->process_count == 1;
}

static int show_each(struct dw_profile *profile)
{
    uint32_t last = profile->heap_count - 1;
    uint32_t steps = last < DW_HEAPS_SHOWN ? last : DW_HEAPS_SHOWN - 1;
    int error = 0;
    for (uint32_t i = steps + 1; i-- > 0 && !error;) {
        uint32_t number = (uint32_t)((uint64_t)i * last / steps);
        error = show_one(profile, &profile->heaps[number], number);
    }
    return error;
}

int dw_profile_show_heaps(struct dw_profile *profile, uint32_t number)
{
    if (number == DW_HEAP_EACH && is_of_one_process(profile))
        return show_each(profile);
    number = number == DW_HEAP_EACH ? DW_HEAP_LAST : number;
    int error = number == DW_HEAP_LAST || number < profile->heap_count ? 0 : DW_ERR_ARGUMENT;
    for (uint32_t i = 0; i < profile->heap_count && !error; i++)
        if (number == DW_HEAP_LAST ? is_last(profile, i) : number == i)
            error = show_one(profile, &profile->heaps[i], DW_HEAP_LAST);
    return error;
}
