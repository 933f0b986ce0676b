/* SPDX-License-Identifier: MIT
 * The numbers of a path depend on the frames above it and not on the thread, so
 * threads are added up by path first and the call graph is built once. */
#include "lens/view/functions.h"

#include "base/order.h"
#include "base/room.h"

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
    bool *called;       /* of each frame */
    uint32_t *index_of; /* of each frame that was called: its function */
    struct dw_room room;
};

static int gathering_init(struct gathering *gathering, const struct dw_profile *profile,
                          enum dw_family family)
{
    uint32_t paths = profile->functions.count, frames = profile->frames.count;
    *gathering = (struct gathering){
        .profile = profile,
        .of_calls = family != DW_FAMILY_REGIONS,
        .sums = dw_path_sums_make(profile, family),
        .item_count = 1,
    };
    DW_ROOM_GET(&gathering->room, gathering->item_of, paths);
    DW_ROOM_GET(&gathering->room, gathering->items, paths);
    DW_ROOM_GET(&gathering->room, gathering->called, frames);
    DW_ROOM_GET(&gathering->room, gathering->index_of, frames);
    return gathering->sums ? dw_room_error(&gathering->room) : DW_ERR_MEMORY;
}

static void gathering_release(struct gathering *gathering)
{
    free(gathering->sums);
    dw_room_release(&gathering->room);
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
    gathering->item_of[path] = gathering->item_count;
    gathering->items[gathering->item_count++] = (struct dw_call_item){
        .parent = around,
        .function = gathering->index_of[place->step],
        .count = sums->count,
        .total = sums->total,
        .self = self,
    };
}

static void find_called(struct gathering *gathering)
{
    const struct dw_profile *profile = gathering->profile;
    for (dw_path_id path = DW_PATH_ROOT + 1; path < profile->functions.count; path++) {
        dw_frame_id frame = profile->functions.paths[path].step;
        gathering->called[frame] |= gathering->sums[path].taken &&
                                    is_function(gathering, profile->frames.frames[frame].kind);
    }
}

static int add_up(struct gathering *gathering, uint32_t function_count, bool with_edges,
                  struct dw_call_graph *graph)
{
    for (dw_path_id path = DW_PATH_ROOT + 1; path < gathering->profile->functions.count; path++)
        if (gathering->sums[path].taken)
            add_item(gathering, path);
    int error = dw_call_graph_init(graph, function_count);
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

struct place {
    struct dw_function function; /* comes first */
    dw_frame_id frame;
};

static int compare_places(const void *left, const void *right)
{
    const struct dw_function *a = left, *b = right;
    return dw_string_compare(a->file, b->file) ?: dw_ascending(a->line, b->line)
           ?: dw_string_compare(a->name, b->name);
}

/* Puts the places into order, and those of one name together. */
static void merge_places(struct dw_functions *functions, struct place *places, uint32_t count,
                         uint32_t *index_of)
{
    qsort(places, count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < count; i++) {
        if (!i || compare_places(&places[i - 1], &places[i]))
            functions->functions[functions->count++] = places[i].function;
        index_of[places[i].frame] = functions->count - 1;
    }
}

static int list_functions(struct dw_functions *functions, struct gathering *gathering,
                          bool strip_dirs)
{
    uint32_t count = 0, frames = gathering->profile->frames.count;
    struct place *places = dw_room_get(&gathering->room, frames, sizeof *places);
    functions->functions = malloc(frames * sizeof *functions->functions);
    if (!places || !functions->functions)
        return DW_ERR_MEMORY;
    find_called(gathering);
    for (dw_frame_id frame = 0; frame < frames; frame++)
        if (gathering->called[frame])
            places[count++] = (struct place){function_of(gathering->profile, frame), frame};
    int error = strip_dirs ? dw_functions_strip_dirs(places, sizeof *places, count) : 0;
    if (!error)
        merge_places(functions, places, count, gathering->index_of);
    return error;
}

static void take_sums(struct dw_functions *functions, const struct dw_call_graph *graph)
{
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct dw_call_sums *sums = &graph->functions[i];
        functions->functions[i].sums = *sums;
        functions->all.count += sums->count;
        functions->all.primitive += sums->primitive;
        functions->all.self += sums->self;
    }
    functions->all.total = functions->all.self;
}

static int compare_by_caller(const void *left, const void *right)
{
    const struct dw_call_edge *a = left, *b = right;
    return dw_ascending(a->caller, b->caller) ?: dw_ascending(a->callee, b->callee);
}

static int compare_by_callee(const void *left, const void *right)
{
    const struct dw_call_edge *a = left, *b = right;
    return dw_ascending(a->callee, b->callee) ?: dw_ascending(a->caller, b->caller);
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

/* Takes the edges from the graph. */
static int list_edges(struct dw_functions *functions, struct dw_call_graph *graph)
{
    uint32_t count = functions->edge_count = graph->edge_count;
    size_t size = count * sizeof *graph->edges;
    functions->callees.edges = graph->edges;
    graph->edges = NULL;
    functions->callers.edges = malloc(size + 1u);
    functions->callees.start = calloc(functions->count + 1u, sizeof(uint32_t));
    functions->callers.start = calloc(functions->count + 1u, sizeof(uint32_t));
    if (!functions->callers.edges || !functions->callees.start || !functions->callers.start)
        return DW_ERR_MEMORY;
    if (!count)
        return 0;
    memcpy(functions->callers.edges, functions->callees.edges, size);
    qsort(functions->callees.edges, count, sizeof *graph->edges, compare_by_caller);
    qsort(functions->callers.edges, count, sizeof *graph->edges, compare_by_callee);
    find_starts(functions);
    return 0;
}

int dw_functions_make(const struct dw_profile *profile, enum dw_family family, bool strip_dirs,
                      bool with_edges, struct dw_functions *functions)
{
    struct dw_functions made = {0};
    struct dw_call_graph graph = {0};
    struct gathering gathering;
    int error = gathering_init(&gathering, profile, dw_family_choose(profile, family));
    if (!error)
        error = list_functions(&made, &gathering, strip_dirs);
    if (!error)
        error = add_up(&gathering, made.count, with_edges, &graph);
    if (!error) {
        take_sums(&made, &graph);
        error = list_edges(&made, &graph);
    }
    dw_call_graph_release(&graph);
    gathering_release(&gathering);
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
