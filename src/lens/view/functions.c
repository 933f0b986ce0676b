/* SPDX-License-Identifier: MIT
 * The numbers of a path depend on the frames above it and not on the thread, so
 * threads are added up by path first and the call graph is built once. */
#define _GNU_SOURCE
#include "lens/view/functions.h"

#include "base/error.h"

#include <stdlib.h>

bool dw_functions_are_in(const struct dw_profile *profile)
{
    return dw_family_is_in(profile, DW_FAMILY_SAMPLES) || dw_family_is_in(profile, DW_FAMILY_CALLS);
}

struct gathering {
    const struct dw_profile *profile;
    bool of_calls;
    struct dw_path_sums *sums;  /* of each path */
    uint32_t *item_of;          /* of each path: its item, or that of the function around it */
    struct dw_call_item *items; /* the functions among the paths, after a root */
    uint32_t item_count;
    bool *called; /* of each frame */
};

static int gathering_init(struct gathering *gathering, const struct dw_profile *profile,
                          enum dw_family family)
{
    size_t count = profile->functions.count;
    *gathering = (struct gathering){
        .profile = profile,
        .of_calls = family != DW_FAMILY_REGIONS,
        .sums = dw_path_sums_make(profile, family),
        .item_of = calloc(count, sizeof *gathering->item_of),
        .items = calloc(count, sizeof *gathering->items),
        .item_count = 1,
        .called = calloc(profile->frames.count, sizeof *gathering->called),
    };
    bool whole = gathering->sums && gathering->item_of && gathering->items && gathering->called;
    return whole ? 0 : DW_ERR_MEMORY;
}

static void gathering_release(struct gathering *gathering)
{
    free(gathering->sums);
    free(gathering->item_of);
    free(gathering->items);
    free(gathering->called);
}

static bool is_function(const struct gathering *gathering, uint32_t kind)
{
    return gathering->of_calls ? dw_frame_kind_is_code(kind) : kind == DW_FRAME_REGION;
}

static void add_item(struct gathering *gathering, dw_path_id path)
{
    const struct dw_path *place = &gathering->profile->functions.paths[path];
    const struct dw_path_sums *sums = &gathering->sums[path];
    uint64_t self = dw_path_sums_self(sums);
    uint32_t around = gathering->item_of[place->parent];
    if (!is_function(gathering, gathering->profile->frames.frames[place->step].kind)) {
        gathering->item_of[path] = around;
        gathering->items[around].self += self;
        return;
    }
    gathering->called[place->step] = true;
    gathering->item_of[path] = gathering->item_count;
    gathering->items[gathering->item_count++] = (struct dw_call_item){
        .parent = around,
        .function = place->step,
        .count = sums->count,
        .total = sums->total,
        .self = self,
    };
}

static int gather(struct gathering *gathering, bool with_edges, struct dw_call_graph *graph)
{
    const struct dw_profile *profile = gathering->profile;
    for (dw_path_id path = DW_PATH_ROOT + 1; path < profile->functions.count; path++)
        if (gathering->sums[path].taken)
            add_item(gathering, path);
    int error = dw_call_graph_init(graph, profile->frames.count);
    graph->lacks_edges = !with_edges;
    return error ? error : dw_call_graph_add(graph, gathering->items, gathering->item_count);
}

struct dw_string dw_file_without_dirs(struct dw_string file)
{
    const char *slash = file.size ? memrchr(file.bytes, '/', file.size) : NULL;
    if (!slash)
        return file;
    size_t skipped = (size_t)(slash + 1 - file.bytes);
    return (struct dw_string){slash + 1, file.size - skipped};
}

struct dw_string dw_file_short(struct dw_string file)
{
    struct dw_string base = dw_file_without_dirs(file);
    size_t dirs = file.size - base.size;
    if (!dirs || base.size < 4 || memcmp(base.bytes, "__", 2) != 0)
        return base;
    struct dw_string package = dw_file_without_dirs((struct dw_string){file.bytes, dirs - 1});
    return (struct dw_string){package.bytes, package.size + 1 + base.size};
}

static struct dw_function function_of(const struct dw_profile *profile, dw_frame_id id)
{
    const struct dw_frame *frame = &profile->frames.frames[id];
    struct dw_function function = {.file = {"~", 1},
                                   .name = dw_profile_string(profile, frame->name)};
    if (!frame->file && frame->kind != DW_FRAME_FUNCTION)
        return function;
    function.file = dw_profile_string(profile, frame->file);
    function.line = frame->line;
    return function;
}

static int compare_functions(const struct dw_function *a, const struct dw_function *b)
{
    int order = dw_string_compare(a->file, b->file);
    if (!order)
        order = (a->line > b->line) - (a->line < b->line);
    return order ? order : dw_string_compare(a->name, b->name);
}

struct place {
    struct dw_function function; /* comes first */
    dw_frame_id frame;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return compare_functions(&a->function, &b->function);
}

static void add_sums(struct dw_call_sums *into, const struct dw_call_sums *from)
{
    into->count += from->count;
    into->primitive += from->primitive;
    into->total += from->total;
    into->self += from->self;
}

/* Puts the places into order, and those of one name together. */
static void merge_places(struct dw_functions *functions, struct place *places, uint32_t count,
                         uint32_t *index_of)
{
    qsort(places, count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < count; i++) {
        const struct dw_function *function = &places[i].function;
        if (i && !compare_functions(&places[i - 1].function, function))
            add_sums(&functions->functions[functions->count - 1].sums, &function->sums);
        else
            functions->functions[functions->count++] = *function;
        index_of[places[i].frame] = functions->count - 1;
        add_sums(&functions->all, &function->sums);
    }
    functions->all.total = functions->all.self;
}

static int list_functions(struct dw_functions *functions, const struct gathering *gathering,
                          const struct dw_call_graph *graph, bool strip_dirs, uint32_t *index_of)
{
    uint32_t count = 0, frames = gathering->profile->frames.count;
    struct place *places = malloc(frames * sizeof *places);
    functions->functions = malloc(frames * sizeof *functions->functions);
    if (!places || !functions->functions) {
        free(places);
        return DW_ERR_MEMORY;
    }
    for (dw_frame_id frame = 0; frame < frames; frame++) {
        if (!gathering->called[frame])
            continue;
        places[count] = (struct place){function_of(gathering->profile, frame), frame};
        places[count++].function.sums = graph->functions[frame];
    }
    int error = strip_dirs ? dw_functions_strip_dirs(places, sizeof *places, count) : 0;
    if (!error)
        merge_places(functions, places, count, index_of);
    free(places);
    return error;
}

static uint64_t by_caller(const struct dw_call_edge *edge)
{
    return (uint64_t)edge->caller << 32 | edge->callee;
}

static uint64_t by_callee(const struct dw_call_edge *edge)
{
    return (uint64_t)edge->callee << 32 | edge->caller;
}

static int compare_by_caller(const void *left, const void *right)
{
    uint64_t a = by_caller(left), b = by_caller(right);
    return (a > b) - (a < b);
}

static int compare_by_callee(const void *left, const void *right)
{
    uint64_t a = by_callee(left), b = by_callee(right);
    return (a > b) - (a < b);
}

static int edges_init(struct dw_function_edges *edges, uint32_t functions, uint32_t count)
{
    edges->edges = malloc((count + 1u) * sizeof *edges->edges);
    edges->start = calloc(functions + 1u, sizeof *edges->start);
    return edges->edges && edges->start ? 0 : DW_ERR_MEMORY;
}

static uint32_t merge_edges(struct dw_call_edge *edges, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept && by_caller(&edges[kept - 1]) == by_caller(&edges[i]))
            add_sums(&edges[kept - 1].sums, &edges[i].sums);
        else
            edges[kept++] = edges[i];
    }
    return kept;
}

/* Counts the edges of each function one place up, then adds the counts up. */
static void find_starts(struct dw_functions *functions)
{
    uint32_t *callees = functions->callees.start, *callers = functions->callers.start;
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        callees[functions->callees.edges[i].caller + 1]++;
        callers[functions->callees.edges[i].callee + 1]++;
    }
    for (uint32_t i = 0; i < functions->count; i++) {
        callees[i + 1] += callees[i];
        callers[i + 1] += callers[i];
    }
}

static int list_edges(struct dw_functions *functions, const struct dw_call_graph *graph,
                      const uint32_t *index_of)
{
    uint32_t count = graph->edge_count;
    int error = edges_init(&functions->callees, functions->count, count);
    if (!error)
        error = edges_init(&functions->callers, functions->count, count);
    if (error)
        return error;
    struct dw_call_edge *edges = functions->callees.edges;
    for (uint32_t i = 0; i < count; i++) {
        edges[i] = graph->edges[i];
        edges[i].caller = index_of[edges[i].caller];
        edges[i].callee = index_of[edges[i].callee];
    }
    qsort(edges, count, sizeof *edges, compare_by_caller);
    functions->edge_count = merge_edges(edges, count);
    memcpy(functions->callers.edges, edges, functions->edge_count * sizeof *edges);
    qsort(functions->callers.edges, functions->edge_count, sizeof *edges, compare_by_callee);
    find_starts(functions);
    return 0;
}

int dw_functions_make(const struct dw_profile *profile, enum dw_family family, bool strip_dirs,
                      bool with_edges, struct dw_functions *functions)
{
    struct dw_functions made = {0};
    struct dw_call_graph graph = {0};
    struct gathering gathering;
    uint32_t *index_of = calloc(profile->frames.count, sizeof *index_of);
    int error = gathering_init(&gathering, profile, dw_family_choose(profile, family));
    if (!error && !index_of)
        error = DW_ERR_MEMORY;
    if (!error)
        error = gather(&gathering, with_edges, &graph);
    if (!error)
        error = list_functions(&made, &gathering, &graph, strip_dirs, index_of);
    if (!error)
        error = list_edges(&made, &graph, index_of);
    dw_call_graph_release(&graph);
    gathering_release(&gathering);
    free(index_of);
    if (error)
        dw_functions_release(&made);
    else
        *functions = made;
    return error;
}

void dw_functions_release(struct dw_functions *functions)
{
    free(functions->functions);
    free(functions->callees.edges);
    free(functions->callees.start);
    free(functions->callers.edges);
    free(functions->callers.start);
    *functions = (struct dw_functions){0};
}

static bool is_in_no_file(const struct dw_function *function)
{
    bool is_marked = function->file.size == 1 && *function->file.bytes == '~';
    return !function->line && (is_marked || !function->file.size);
}

void dw_function_put_label(struct dw_out *out, const struct dw_function *function)
{
    const struct dw_string *name = &function->name;
    if (!is_in_no_file(function)) {
        dw_out_write(out, function->file.bytes, function->file.size);
        if (function->line)
            dw_out_printf(out, ":%u", function->line);
        dw_out_char(out, '(');
        dw_out_write(out, name->bytes, name->size);
        dw_out_char(out, ')');
    } else if (name->size > 1 && name->bytes[0] == '<' && name->bytes[name->size - 1] == '>') {
        dw_out_char(out, '{');
        dw_out_write(out, name->bytes + 1, name->size - 2);
        dw_out_char(out, '}');
    } else {
        dw_out_write(out, name->bytes, name->size);
    }
}

/* "x" of "/a/x.py"; "a/__init__" of "/a/__init__.py"; "<frozen a.b>" as it is. */
static struct dw_string module_of(struct dw_string file)
{
    struct dw_string base = dw_file_without_dirs(file);
    const char *dot = base.size ? memrchr(base.bytes, '.', base.size) : NULL;
    bool is_file = base.size && *base.bytes != '<' && dot && dot > base.bytes;
    size_t size = is_file ? (size_t)(dot - base.bytes) : base.size;
    size_t dirs = file.size - base.size;
    if (size != 8 || memcmp(base.bytes, "__init__", 8) != 0 || !dirs)
        return (struct dw_string){base.bytes, size};
    struct dw_string package = dw_file_without_dirs((struct dw_string){file.bytes, dirs - 1});
    return (struct dw_string){package.bytes, package.size + 1 + size};
}

void dw_function_put_node(struct dw_out *out, const struct dw_function *function)
{
    if (!is_in_no_file(function)) {
        struct dw_string module = module_of(function->file);
        dw_out_write(out, module.bytes, module.size);
        if (function->line)
            dw_out_printf(out, ":%u", function->line);
        dw_out_char(out, ':');
    }
    dw_out_write(out, function->name.bytes, function->name.size);
}
