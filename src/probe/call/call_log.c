/* SPDX-License-Identifier: MIT
 * Only what changed goes out; calls that are open count up to now. While nothing is called there is
 * nothing new, so it is the calls that see the clock. */
#include "probe/call/call_log.h"

#include "base/grow.h"
#include "probe/ledger_python.h"

#include <string.h>

static struct dw_call_profile *recorded; /* the one that has a file */

void dw_call_log_release(struct dw_call_log *log)
{
    for (uint32_t i = 0; i < log->track_count; i++)
        free(log->tracks[i].nodes), free(log->tracks[i].written);
    free(log->tracks);
    free(log->functions);
    free(log->first_of);
}

/* Grows an array so that it has an entry `index`, with zeros in what is new. */
static int make_room(void **array, uint32_t *capacity, size_t size, uint32_t index)
{
    while (*capacity <= index) {
        uint32_t before = *capacity;
        int error = dw_grow(array, capacity, size);
        if (error)
            return error;
        memset((char *)*array + before * size, 0, (*capacity - before) * size);
    }
    return 0;
}

/* Code that was compiled twice is two functions here, and one in the log. */
static int find_function(struct dw_call_log *log, uint32_t index)
{
    struct dw_call_log_function *function = &log->functions[index];
    const struct dw_call_function *called = &log->profile->functions[index];
    struct dw_place whole = {0};
    int error = dw_ledger_function(log->ledger, called->name, (const PyCodeObject *)called->code,
                                   &whole.frame);
    if (!error)
        error = dw_ledger_place(log->ledger, &whole, &function->place);
    if (!error)
        error = make_room((void **)&log->first_of, &log->first_capacity, sizeof *log->first_of,
                          function->place);
    if (error)
        return error;
    uint32_t *first = &log->first_of[function->place];
    if (!*first)
        *first = index + 1;
    function->same_as = *first - 1;
    return 0;
}

/* The node that stands for all that share a path and labels, made if it is missing; NULL when out
 * of memory. */
static struct dw_call_node *shared_node(struct dw_call_track *track, uint32_t parent,
                                        uint32_t function, dw_labels_id labels)
{
    const void *key = track->profile->functions[function].key;
    const struct dw_call_node *above = dw_call_track_node(track, parent);
    struct dw_call_node *found = dw_call_child_find(track, above, key, labels);
    return found ? found : dw_call_child_add(track, above, key, labels, function);
}

/* All nodes of the first thread, of which there may be a million, have paths of their own. Other
 * threads tend to be alike and share theirs. */
static int add_path(struct dw_call_log *log, bool is_first, dw_path_id parent, dw_place_id place,
                    dw_path_id *path)
{
    return is_first ? dw_ledger_append_path(log->ledger, parent, place, path)
                    : dw_ledger_path(log->ledger, parent, place, path);
}

/* Room for what is known of all nodes of the track. */
static int know_nodes(struct dw_call_log_track *known, const struct dw_call_track *track)
{
    int error = make_room((void **)&known->nodes, &known->capacity, sizeof *known->nodes,
                          track->node_count);
    if (!error)
        error = make_room((void **)&known->written, &known->written_capacity,
                          sizeof *known->written, track->node_count);
    for (; !error && known->count < track->node_count; known->count++) {
        known->nodes[known->count].same_as = known->count & INT32_MAX;
        known->nodes[known->count].plain = known->count;
    }
    return error;
}

/* Most calls have no labels, and need no lock to know it. */
static int labels_of(struct dw_call_log *log, const struct dw_call_node *node, dw_labels_id *labels)
{
    *labels = DW_LABELS_NONE;
    return node->labels ? dw_ledger_labels(log->ledger, node->labels, 0, labels) : 0;
}

static int find_path(struct dw_call_log *log, struct dw_call_track *track, uint32_t index,
                     const struct dw_call_node *node);

/* The node of the same function under the plain parent, with a path. */
static int find_shared(struct dw_call_log *log, struct dw_call_track *track, uint32_t index,
                       const struct dw_call_node *node, dw_labels_id labels, uint32_t *found)
{
    struct dw_call_log_track *known = &log->tracks[index];
    uint32_t parent = known->nodes[node->parent].plain;
    const struct dw_call_node *shared =
        shared_node(track, parent, log->functions[node->function].same_as, labels);
    int error = shared ? know_nodes(known, track) : DW_ERR_MEMORY;
    if (error)
        return error;
    *found = shared->index;
    return known->nodes[shared->index].path ? 0 : find_path(log, track, index, shared);
}

/* A path does not hang on labels: the nodes of one path are told apart by theirs alone, whatever
 * labels those that called them have. */
static int find_path(struct dw_call_log *log, struct dw_call_track *track, uint32_t index,
                     const struct dw_call_node *node)
{
    struct dw_call_log_track *known = &log->tracks[index];
    uint32_t parent = known->nodes[node->parent].plain, shared;
    const struct dw_call_log_function *function = &log->functions[node->function];
    dw_labels_id labels;
    int error = function->place ? 0 : find_function(log, node->function);
    if (!error)
        error = labels_of(log, node, &labels);
    bool is_shared = parent == node->parent && function->same_as == node->function;
    if (error || (is_shared && !node->labels))
        return error ? error
                     : add_path(log, !index, known->nodes[parent].path, function->place,
                                &known->nodes[node->index].path);
    error = find_shared(log, track, index, node, is_shared ? 0 : node->labels, &shared);
    if (error)
        return error;
    struct dw_call_log_node *found = &known->nodes[node->index];
    found->plain = known->nodes[shared].plain;
    if (is_shared)
        found->path = known->nodes[shared].path;
    else
        found->same_as = shared & INT32_MAX;
    return 0;
}

/* Which nodes the log needs to know: not those that only the parent of this process has called. */
static void mark_news(struct dw_call_log_track *known, const struct dw_call_track *track)
{
    for (uint32_t depth = dw_calls_open_depth(track); depth; depth--)
        known->nodes[track->stack[depth].node->index].has_news = true;
    for (uint32_t i = track->node_count - 1; i; i--) {
        const struct dw_call_node *node = dw_call_track_node(track, i);
        known->nodes[i].has_news |= node->count || node->total;
        known->nodes[node->parent].has_news |= known->nodes[i].has_news;
    }
}

static int find_paths(struct dw_call_log *log, struct dw_call_track *track, uint32_t index)
{
    struct dw_call_log_track *known = &log->tracks[index];
    int error = know_nodes(known, track);
    if (error)
        return error;
    mark_news(known, track);
    for (uint32_t i = 1; i < track->node_count && !error; i++) {
        const struct dw_call_log_node *node = &known->nodes[i];
        if (node->has_news && !node->path && node->same_as == i)
            error = find_path(log, track, index, dw_call_track_node(track, i));
    }
    return error;
}

static int enter_thread(struct dw_call_log *log, const struct dw_call_track *track,
                        struct dw_call_log_track *known)
{
    int error = known->is_entered ? 0
                                  : dw_ledger_thread(log->ledger, dw_call_probe.bit,
                                                     track->thread_id, &known->thread);
    if (error)
        return error;
    if (!known->is_entered)
        known->id = dw_ledger_thread_id(log->ledger, known->thread);
    known->is_entered = true;
    if (known->is_named || !track->thread_name)
        return 0;
    known->is_named = true;
    return dw_ledger_name_thread(log->ledger, known->thread, track->thread_name,
                                 strlen(track->thread_name));
}

static int know_tracks(struct dw_call_log *log)
{
    uint32_t count = log->profile->track_count;
    int error = make_room((void **)&log->tracks, &log->track_capacity, sizeof *log->tracks, count);
    log->track_count = error ? log->track_count : count;
    return error;
}

/* Without it the thread is met again at the next flush. */
void dw_calls_enter_thread(struct dw_call_profile *profile)
{
    struct dw_call_log *log = profile->log;
    if (log && profile->track_count && !know_tracks(log))
        enter_thread(log, profile->tracks[log->track_count - 1],
                     &log->tracks[log->track_count - 1]);
}

/* Threads of the parent of this process have no id here, and nothing to tell. */
static int add_definitions(struct dw_call_log *log)
{
    const struct dw_call_profile *profile = log->profile;
    int error = make_room((void **)&log->functions, &log->function_capacity, sizeof *log->functions,
                          profile->function_count);
    if (!error)
        error = know_tracks(log);
    for (uint32_t i = 0; i < profile->track_count && !error; i++) {
        if (!profile->tracks[i]->thread_id)
            continue;
        error = enter_thread(log, profile->tracks[i], &log->tracks[i]);
        if (!error)
            error = find_paths(log, profile->tracks[i], i);
    }
    return error;
}

/* The times of all nodes as of now; NULL when out of memory. */
static struct dw_call_times *times_of(const struct dw_call_track *track, uint64_t now)
{
    struct dw_call_times *times = malloc(track->node_count * sizeof *times);
    for (uint32_t i = 0; times && i < track->node_count; i++) {
        const struct dw_call_node *node = dw_call_track_node(track, i);
        times[i] = (struct dw_call_times){node->count, node->total, node->self,
                                          dw_call_track_suspended(track, i)};
    }
    uint64_t inside = 0; /* the time of the open call above */
    for (uint32_t depth = dw_calls_open_depth(track); times && depth; depth--) {
        const struct dw_call_entry *entry = &track->stack[depth];
        uint64_t lasted = now > entry->start ? now - entry->start : 0;
        struct dw_call_times *open = &times[entry->node->index];
        open->total += lasted;
        open->self += lasted > entry->children + inside ? lasted - entry->children - inside : 0;
        inside = lasted;
    }
    return times;
}

/* The times of nodes that share a path go to one of them. */
static void add_shared(const struct dw_call_log_track *known, struct dw_call_times *times)
{
    for (uint32_t i = 1; i < known->count; i++) {
        struct dw_call_times *all = &times[known->nodes[i].same_as];
        if (known->nodes[i].same_as == i)
            continue;
        all->count += times[i].count;
        all->total += times[i].total;
        all->self += times[i].self;
        all->suspended += times[i].suspended;
    }
}

/* Whether the log's idea of the node is out of date; remembers the new one. */
static bool is_news(struct dw_call_times *written, const struct dw_call_times *times)
{
    bool news = written->count != times->count || written->total != times->total ||
                written->suspended != times->suspended;
    *written = *times;
    return news;
}

/* The total and the suspended time of calls, in nanoseconds. */
static void write_row(struct dw_log_writer *writer, dw_path_id path, dw_labels_id labels,
                      uint64_t count, uint64_t total, uint64_t suspended, uint64_t children)
{
    dw_measure_mask mask = DW_MASK(DW_CALLS) | DW_MASK(DW_CALL_TOTAL) | DW_MASK(DW_CALL_CHILDREN);
    uint64_t plain[] = {count, total, children}, slept[] = {count, total, suspended, children};
    dw_log_rows_add(writer, path, labels, suspended ? mask | DW_MASK(DW_CALL_SUSPENDED) : mask,
                    suspended ? slept : plain, NULL);
}

static uint64_t scaled(uint64_t ticks, double tick_ns)
{
    return (uint64_t)((double)ticks * tick_ns + 0.5);
}

static void write_rows(struct dw_call_log *log, struct dw_log_writer *writer, uint32_t index,
                       struct dw_call_times *times)
{
    const struct dw_call_track *track = log->profile->tracks[index];
    struct dw_call_log_track *known = &log->tracks[index];
    double tick_ns = dw_calls_tick_ns(log->profile);
    uint64_t all_ns = 0;
    add_shared(known, times);
    dw_log_rows_begin(writer, known->id);
    for (uint32_t i = 1; i < track->node_count; i++) {
        const struct dw_call_times *at = &times[i];
        if (!known->nodes[i].path)
            continue;
        const struct dw_call_node *node = dw_call_track_node(track, i);
        uint64_t total_ns = scaled(at->total, tick_ns);
        all_ns += node->parent ? 0 : total_ns;
        dw_labels_id labels;
        if (is_news(&known->written[i], at) && !labels_of(log, node, &labels))
            write_row(writer, known->nodes[i].path, labels, at->count, total_ns,
                      scaled(at->suspended, tick_ns), scaled(at->total - at->self, tick_ns));
    }
    write_row(writer, DW_PATH_ROOT, DW_LABELS_NONE, 1, all_ns, 0, all_ns);
    dw_log_rows_end(writer);
}

int dw_calls_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    struct dw_call_log *log = context;
    int error = add_definitions(log);
    if (error)
        return error;
    dw_ledger_define(ledger, sink);
    for (uint32_t i = 0; i < log->track_count && !error; i++) {
        const struct dw_call_track *track = log->profile->tracks[i];
        struct dw_call_times *times =
            track->thread_id ? times_of(track, dw_calls_now(log->profile)) : NULL;
        error = track->thread_id && !times ? DW_ERR_MEMORY : 0;
        if (times)
            write_rows(log, &sink->writer, i, times);
        free(times);
    }
    return error;
}

int dw_call_log_start(struct dw_call_profile *profile, const char *path)
{
    struct dw_call_log *log = calloc(1, sizeof *log);
    dw_probe_add(&dw_call_probe);
    struct dw_ledger_options file = {.path = path};
    int error = log ? dw_ledger_open(&file, &log->ledger) : DW_ERR_MEMORY;
    if (error) {
        free(log);
        return error;
    }
    log->profile = recorded = profile;
    profile->log = log;
    profile->flush_at = dw_flush_next(dw_tick(), 1);
    return 0;
}

void dw_call_log_stop(struct dw_call_profile *profile)
{
    if (!profile->log)
        return;
    dw_ledger_stop(profile->log->ledger);
    dw_ledger_release(profile->log->ledger);
    dw_call_log_release(profile->log);
    free(profile->log);
    profile->log = NULL;
    recorded = NULL;
}

static bool has_calls(const struct dw_call_profile *profile)
{
    for (uint32_t i = 0; i < profile->track_count; i++)
        for (uint32_t node = 1; node < profile->tracks[i]->node_count; node++)
            if (dw_call_track_node(profile->tracks[i], node)->total)
                return true;
    return false;
}

void dw_calls_flush(struct dw_call_profile *profile, bool last)
{
    struct dw_call_log *log = profile->log;
    uint64_t before = dw_tick();
    if (!log)
        return;
    int error = dw_ledger_is_late(log->ledger) && !has_calls(profile) ? 0
                : last ? dw_ledger_flush_end(log->ledger, dw_calls_collect, log)
                       : dw_ledger_flush(log->ledger, dw_calls_collect, log, false);
    profile->flush_at = dw_flush_next(before, dw_calls_tick_ns(profile));
    if (error)
        dw_call_log_stop(profile);
}

static void flush_last(void)
{
    if (recorded)
        dw_calls_flush(recorded, true);
}

static void stop(void)
{
    if (!recorded)
        return;
    dw_calls_disable(recorded);
    dw_calls_flush(recorded, false);
    dw_call_log_stop(recorded);
}

/* Ids of the parent's ledger mean nothing in that of the child. */
static void forked(void)
{
    if (!recorded)
        return;
    struct dw_call_log *log = recorded->log;
    dw_calls_forked(recorded);
    dw_call_log_release(log);
    *log = (struct dw_call_log){.ledger = log->ledger, .profile = recorded};
}

struct dw_probe dw_call_probe = {
    .name = "calls",
    .needs_gil = true,
    .flush = flush_last,
    .stop = stop,
    .forked = forked,
};
