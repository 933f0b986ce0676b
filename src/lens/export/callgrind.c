/* SPDX-License-Identifier: MIT
 * Callgrind's format 1, for KCachegrind and its kin. A line's own cost is what was spent on it, and
 * what is known of a function as a whole is that of its first line. A call is an edge from a line
 * to a function, whose cost counts only where the same call is not around it already. Samples do
 * not tell how often something was called: there a call counts its samples. */
#include "base/intern.h"
#include "base/order.h"
#include "base/room.h"
#include "lens/lens.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"
#include "lens/view/place_spots.h"
#include "lens/view/stack_tree.h"
#include "model/outermost.h"

#include <inttypes.h>
#include <stdlib.h>

struct edge {
    uint32_t caller; /* a spot */
    dw_frame_id callee;
    dw_path_id path; /* the first of its paths */
    uint64_t count, total;
};

struct callgrind {
    const struct dw_profile *profile;
    enum dw_family family;
    struct dw_out *out;
    struct dw_stack_tree tree;
    struct dw_place_spots spots; /* lines of functions */
    struct edge *edges;          /* by caller and callee */
    uint32_t edge_count, edge_capacity;
    struct dw_map edge_index; /* until they are in order */
    bool *objects_named, *files_named, *frames_named;
    struct dw_out scratch;
    struct dw_room room;
};

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return dw_ascending(a->caller, b->caller) ?: dw_ascending(a->callee, b->callee);
}

static dw_frame_id frame_of(const struct callgrind *callgrind, uint32_t spot)
{
    return callgrind->spots.first[spot]->frame;
}

static uint32_t spot_of(const struct callgrind *callgrind, dw_path_id path)
{
    return callgrind->spots.of[callgrind->tree.paths[path].step];
}

/* keys[path] becomes 1 + the number of its edge. */
static int list_edges(struct callgrind *callgrind, uint32_t *keys)
{
    const struct dw_stack_tree *tree = &callgrind->tree;
    int error = 0;
    for (dw_path_id path = 1; path < tree->count && !error; path++) {
        uint32_t caller = spot_of(callgrind, tree->paths[path].parent), edge;
        uint32_t callee = spot_of(callgrind, path);
        if (!caller || !callee || !(tree->total[path].count || tree->total[path].weight))
            continue;
        struct edge made = {.caller = caller, .callee = frame_of(callgrind, callee), .path = path};
        error = DW_INTERN(callgrind->edges, callgrind->edge_count, callgrind->edge_capacity,
                          callgrind->edge_index, offsetof(struct edge, path), &made, &edge);
        keys[path] = edge + 1;
    }
    return error;
}

static void add_totals(struct callgrind *callgrind, const uint32_t *keys, const bool *outermost)
{
    const struct dw_stack_tree *tree = &callgrind->tree;
    bool are_samples = callgrind->family == DW_FAMILY_SAMPLES;
    for (dw_path_id path = 1; path < tree->count; path++) {
        if (!keys[path])
            continue;
        struct edge *edge = &callgrind->edges[keys[path] - 1];
        if (!are_samples)
            edge->count += tree->self[path].count;
        if (!outermost[path])
            continue;
        edge->count += are_samples ? tree->total[path].count : 0;
        edge->total += tree->total[path].weight;
    }
}

static int find_edges(struct callgrind *callgrind)
{
    const struct dw_stack_tree *tree = &callgrind->tree;
    uint32_t *keys = dw_room_get(&callgrind->room, tree->count, sizeof *keys);
    bool *outermost = dw_room_get(&callgrind->room, tree->count, sizeof *outermost);
    int error = callgrind->room.failed ? DW_ERR_MEMORY : list_edges(callgrind, keys);
    if (!error)
        error = dw_outermost_find(tree->paths, sizeof *tree->paths, tree->count, keys,
                                  callgrind->edge_count + 1, outermost);
    if (!error)
        add_totals(callgrind, keys, outermost);
    if (!error && callgrind->edge_count)
        qsort(callgrind->edges, callgrind->edge_count, sizeof *callgrind->edges, compare_edges);
    dw_map_release(&callgrind->edge_index);
    return error;
}

static void put_header(const struct callgrind *callgrind, uint64_t total)
{
    const struct dw_profile *profile = callgrind->profile;
    struct dw_out *out = callgrind->out;
    bool are_counts = dw_family_is_counted(profile, callgrind->family);
    dw_out_text(out, "# callgrind format\nversion: 1\ncreator: dwell " DW_VERSION "\n");
    if (profile->process_count) {
        struct dw_string argv = dw_profile_property(profile, 0, "argv");
        dw_out_printf(out, "pid: %" PRIu64 "\n", profile->processes[0].pid);
        dw_out_text(out, argv.size ? "cmd: " : "");
        dw_out_printable(out, argv.bytes, argv.size);
        dw_out_text(out, argv.size ? "\n" : "");
    }
    if (callgrind->family == DW_FAMILY_SAMPLES)
        dw_notes_put_sampling(out, profile, "# ");
    dw_notes_put_losses(out, profile, "# ");
    dw_out_printf(out, "positions: line\nevents: %s\nsummary: %" PRIu64 "\n",
                  are_counts ? dw_counts_unit(profile) : "ns", total);
}

/* A name is written once and is a number from then on. */
static void put_file(struct callgrind *callgrind, const char *key, bool *named, dw_string_id id)
{
    struct dw_string name = dw_profile_string(callgrind->profile, id);
    dw_out_printf(callgrind->out, "%s=(%" PRIu32 ")", key, id + 1);
    if (!named[id]) {
        named[id] = true;
        dw_out_char(callgrind->out, ' ');
        dw_out_printable(callgrind->out, name.size ? name.bytes : "???", name.size ? name.size : 3);
    }
    dw_out_char(callgrind->out, '\n');
}

/* Some readers tell functions apart by name alone, so it holds module and line; native code is in
 * an object, which has a line of its own. */
static void put_name(struct callgrind *callgrind, const char *key, dw_frame_id id)
{
    const struct dw_frame *frame = &callgrind->profile->frames.frames[id];
    struct dw_function function = {.name = dw_profile_string(callgrind->profile, frame->name),
                                   .file = dw_profile_string(callgrind->profile, frame->file),
                                   .line = frame->line};
    dw_out_printf(callgrind->out, "%s=(%" PRIu32 ")", key, id + 1);
    if (!callgrind->frames_named[id]) {
        callgrind->frames_named[id] = true;
        dw_buffer_clear(&callgrind->scratch.buffer);
        if (frame->kind == DW_FRAME_NATIVE)
            dw_out_write(&callgrind->scratch, function.name.bytes, function.name.size);
        else
            dw_function_put_node(&callgrind->scratch, &function);
        dw_out_char(callgrind->out, ' ');
        dw_out_printable(callgrind->out, callgrind->scratch.buffer.data,
                         callgrind->scratch.buffer.size);
    }
    dw_out_char(callgrind->out, '\n');
}

static void put_place(struct callgrind *callgrind, const struct dw_place *place,
                      const char *const keys[3])
{
    const struct dw_profile *profile = callgrind->profile;
    const struct dw_frame *frame = dw_place_frame(profile, place);
    bool has_source = dw_place_source(profile, place).size > 0;
    bool has_object = dw_place_module(profile, place).size > 0;
    put_file(callgrind, keys[0], callgrind->objects_named,
             has_object ? dw_place_module_name(profile, place) : 0);
    put_file(callgrind, keys[1], callgrind->files_named, has_source ? frame->file : 0);
    put_name(callgrind, keys[2], place->frame);
}

static void put_edge(struct callgrind *callgrind, const struct edge *edge)
{
    static const char *const keys[] = {"cob", "cfi", "cfn"};
    const struct dw_place *caller = callgrind->spots.first[edge->caller];
    const struct dw_place *callee = callgrind->spots.first[spot_of(callgrind, edge->path)];
    put_place(callgrind, callee, keys);
    dw_out_printf(callgrind->out, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 "\n",
                  edge->count, dw_place_frame(callgrind->profile, callee)->line,
                  dw_place_line(callgrind->profile, caller), edge->total);
}

/* The lines of a function are neighbours among the spots. */
static void put_functions(struct callgrind *callgrind, const uint64_t *self)
{
    static const char *const keys[] = {"ob", "fl", "fn"};
    const struct dw_place_spots *spots = &callgrind->spots;
    uint32_t edge = 0;
    for (uint32_t spot = 1; spot < spots->count && !callgrind->out->error; spot++) {
        uint32_t last = edge;
        while (last < callgrind->edge_count && callgrind->edges[last].caller == spot)
            last++;
        if (self[spot] || edge < last) {
            dw_out_char(callgrind->out, '\n');
            put_place(callgrind, spots->first[spot], keys);
            dw_out_printf(callgrind->out, "%" PRIu32 " %" PRIu64 "\n",
                          dw_place_line(callgrind->profile, spots->first[spot]), self[spot]);
        }
        for (; edge < last; edge++)
            put_edge(callgrind, &callgrind->edges[edge]);
    }
}

static int put_all(struct callgrind *callgrind)
{
    const struct dw_stack_tree *tree = &callgrind->tree;
    uint64_t *self = dw_room_get(&callgrind->room, callgrind->spots.count, sizeof *self);
    if (!self)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 1; path < tree->count; path++)
        self[spot_of(callgrind, path)] += tree->self[path].weight;
    uint64_t total = tree->total[DW_PATH_ROOT].weight;
    put_header(callgrind, total);
    put_functions(callgrind, self);
    dw_out_printf(callgrind->out, "\ntotals: %" PRIu64 "\n", total);
    return 0;
}

static int write_callgrind(const struct dw_profile *profile, const struct dw_lens_options *options,
                           struct dw_out *out)
{
    struct callgrind callgrind = {
        .profile = profile, .family = dw_family_choose(profile, options->family), .out = out};
    DW_ROOM_GET(&callgrind.room, callgrind.objects_named, profile->strings.count);
    DW_ROOM_GET(&callgrind.room, callgrind.files_named, profile->strings.count);
    DW_ROOM_GET(&callgrind.room, callgrind.frames_named, profile->frames.count);
    dw_out_init_memory(&callgrind.scratch);
    int error = dw_room_error(&callgrind.room);
    if (!error)
        error = dw_stack_tree_make(profile, callgrind.family, &callgrind.tree);
    if (!error)
        error = dw_place_spots_make(&callgrind.tree, DW_KEY_LINE, &callgrind.spots);
    if (!error)
        error = find_edges(&callgrind);
    if (!error)
        error = put_all(&callgrind);
    dw_stack_tree_release(&callgrind.tree);
    dw_place_spots_release(&callgrind.spots);
    free(callgrind.edges);
    dw_room_release(&callgrind.room);
    int late = dw_out_close(&callgrind.scratch);
    return error ? error : late;
}

const struct dw_lens dw_lens_callgrind = {
    .name = "callgrind",
    .summary = "functions and calls, for KCachegrind and QCachegrind",
    .extension = ".callgrind",
    .shows_places = true,
    .write = write_callgrind,
};
