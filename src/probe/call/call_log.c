/* SPDX-License-Identifier: MIT
 * Only what changed goes out; calls that are open count up to now. */
#include "probe/call/call_log.h"

#include "base/grow.h"

#include <string.h>

int dw_call_log_open(struct dw_call_log *log, const char *path, const struct dw_clock_pair *began)
{
    *log = (struct dw_call_log){0};
    return dw_probe_log_open(&log->base, path, began);
}

void dw_call_log_release(struct dw_call_log *log)
{
    for (uint32_t i = 0; i < log->track_count; i++)
        free(log->tracks[i].nodes), free(log->tracks[i].written);
    free(log->tracks);
    free(log->functions);
    free(log->first_of);
    dw_probe_log_release(&log->base);
}

/* Grows an array of numbers, with 0 in what is new. */
static int make_room_for(uint32_t **numbers, uint32_t *capacity, uint32_t index)
{
    while (*capacity <= index) {
        uint32_t before = *capacity;
        int error = dw_grow((void **)numbers, capacity, sizeof **numbers);
        if (error)
            return error;
        memset(*numbers + before, 0, (*capacity - before) * sizeof **numbers);
    }
    return 0;
}

/* Code that was compiled twice is two functions here, but one in the log. */
static int add_function(struct dw_call_log *log, const struct dw_call_function *function)
{
    struct dw_call_log_function added = {0};
    int error = DW_GROW(log->functions, log->function_count, log->function_capacity);
    if (!error)
        error = dw_probe_log_frame(&log->base, function->name, (const PyCodeObject *)function->code,
                                   &added.frame);
    if (!error)
        error = make_room_for(&log->first_of, &log->first_capacity, added.frame);
    if (error)
        return error;
    uint32_t *first = &log->first_of[added.frame];
    if (!*first)
        *first = log->function_count + 1;
    added.same_as = *first - 1;
    log->functions[log->function_count++] = added;
    return 0;
}

/* The node that stands for all that share a path, made if it is missing; NULL when out of
 * memory. */
static struct dw_call_node *shared_node(struct dw_call_track *track, struct dw_call_node *parent,
                                        uint32_t function)
{
    const void *key = track->profile->functions[function].key;
    struct dw_call_node *found = dw_call_child_find(track, parent, key);
    return found ? found : dw_call_child_add(track, parent, key, function);
}

/* All nodes of the first thread, of which there may be a million, have paths of their own. Other
 * threads tend to be alike and share theirs. */
static int add_path(struct dw_call_log *log, bool is_first, dw_path_id parent, dw_frame_id frame,
                    dw_path_id *path)
{
    return is_first ? dw_path_append(&log->base.paths, parent, frame, path)
                    : dw_path_intern(&log->base.paths, parent, frame, path);
}

static int add_node(struct dw_call_log *log, struct dw_call_track *track, uint32_t index,
                    const struct dw_call_node *node, struct dw_call_log_node *added)
{
    const struct dw_call_log_track *known = &log->tracks[index];
    uint32_t parent = known->nodes[node->parent->index].same_as;
    const struct dw_call_log_function *function = &log->functions[node->function];
    added->same_as = node->index;
    if (parent == node->parent->index && function->same_as == node->function)
        return add_path(log, !index, known->nodes[parent].path, function->frame, &added->path);
    const struct dw_call_node *shared =
        shared_node(track, dw_call_track_node(track, parent), function->same_as);
    added->same_as = shared ? shared->index : 0;
    return shared ? 0 : DW_ERR_MEMORY;
}

static int add_nodes(struct dw_call_log *log, struct dw_call_track *track, uint32_t index)
{
    struct dw_call_log_track *known = &log->tracks[index];
    for (uint32_t i = known->count; i < track->node_count; i++) {
        struct dw_call_log_node added = {DW_PATH_ROOT, 0};
        int error = DW_GROW(known->nodes, known->count, known->capacity);
        if (!error && i)
            error = add_node(log, track, index, dw_call_track_node(track, i), &added);
        if (error)
            return error;
        known->nodes[known->count++] = added;
    }
    return 0;
}

static int add_definitions(struct dw_call_log *log, const struct dw_call_profile *profile)
{
    int error = 0;
    while (!error && log->function_count < profile->function_count)
        error = add_function(log, &profile->functions[log->function_count]);
    while (!error && log->track_count < profile->track_count) {
        error = DW_GROW(log->tracks, log->track_count, log->track_capacity);
        if (!error)
            log->tracks[log->track_count++] = (struct dw_call_log_track){0};
    }
    for (uint32_t i = 0; i < profile->track_count && !error; i++)
        error = add_nodes(log, profile->tracks[i], i);
    return error;
}

static void write_definitions(struct dw_call_log *log, const struct dw_call_profile *profile)
{
    dw_probe_log_define(&log->base);
    for (uint32_t i = 0; i < profile->track_count; i++) {
        const char *name = profile->tracks[i]->thread_name;
        if (log->tracks[i].is_named)
            continue;
        dw_log_write_thread(&log->base.writer, i, 0, profile->tracks[i]->thread_id,
                            (struct dw_string){name ? name : "", name ? strlen(name) : 0});
        log->tracks[i].is_named = name != NULL;
    }
}

/* The times of all nodes as of now; NULL when out of memory. */
static struct dw_call_times *times_of(const struct dw_call_track *track, uint64_t now)
{
    struct dw_call_times *times = malloc(track->node_count * sizeof *times);
    for (uint32_t i = 0; times && i < track->node_count; i++) {
        const struct dw_call_node *node = dw_call_track_node(track, i);
        times[i] = (struct dw_call_times){node->count, node->total, node->self};
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
    }
}

/* Whether the log's idea of the node is out of date; remembers the new one. */
static bool is_news(struct dw_call_log_track *known, uint32_t node,
                    const struct dw_call_times *times)
{
    struct dw_call_times *written = &known->written[node];
    bool news = written->count != times->count || written->total != times->total;
    *written = *times;
    return news;
}

static int make_room(struct dw_call_log_track *known, uint32_t count)
{
    while (known->written_capacity < count) {
        uint32_t before = known->written_capacity;
        int error =
            dw_grow((void **)&known->written, &known->written_capacity, sizeof *known->written);
        if (error)
            return error;
        memset(known->written + before, 0,
               (known->written_capacity - before) * sizeof *known->written);
    }
    return 0;
}

static int write_values(struct dw_call_log *log, const struct dw_call_profile *profile,
                        uint32_t index)
{
    const struct dw_call_track *track = profile->tracks[index];
    struct dw_call_log_track *known = &log->tracks[index];
    double tick_ns = dw_calls_tick_ns(profile);
    struct dw_metric root = {.count = 1};
    struct dw_call_times *times = times_of(track, dw_calls_now(profile));
    int error = times ? make_room(known, track->node_count) : DW_ERR_MEMORY;
    if (!error)
        add_shared(known, times);
    dw_log_values_begin(&log->base.writer, index);
    for (uint32_t i = 1; i < track->node_count && !error; i++) {
        if (known->nodes[i].same_as != i)
            continue;
        struct dw_metric metric = {
            .count = times[i].count,
            .total = (uint64_t)((double)times[i].total * tick_ns + 0.5),
            .children = (uint64_t)((double)(times[i].total - times[i].self) * tick_ns + 0.5),
        };
        if (!dw_call_track_node(track, i)->parent->index)
            root.total += metric.total;
        if (is_news(known, i, &times[i]))
            dw_log_values_add(&log->base.writer, known->nodes[i].path, &metric, 0);
    }
    root.children = root.total;
    dw_log_values_add(&log->base.writer, DW_PATH_ROOT, &root, 0);
    dw_log_values_end(&log->base.writer);
    free(times);
    return error;
}

int dw_call_log_flush(struct dw_call_log *log, const struct dw_call_profile *profile, bool last)
{
    int error = add_definitions(log, profile);
    if (error)
        return error;
    write_definitions(log, profile);
    for (uint32_t i = 0; i < profile->track_count && !error; i++)
        error = write_values(log, profile, i);
    if (error)
        return error;
    return dw_probe_log_end(&log->base, last, profile->ended.tick ? &profile->ended : NULL);
}

/* While nothing is called there is nothing new, so calls look at the clock. */
static void drop_log(struct dw_call_profile *profile)
{
    dw_call_log_release(profile->log);
    free(profile->log);
    profile->log = NULL;
}

void dw_calls_flush(struct dw_call_profile *profile, bool last)
{
    if (profile->log && !dw_probe_log_is_ours(&profile->log->base))
        drop_log(profile);
    if (!profile->log)
        return;
    uint64_t before = dw_tick();
    int error = dw_call_log_flush(profile->log, profile, last);
    if (error) {
        dw_probe_log_complain(error);
        drop_log(profile);
        return;
    }
    profile->flush_at = dw_probe_log_next(before, dw_calls_tick_ns(profile));
}
