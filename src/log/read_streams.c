/* SPDX-License-Identifier: MIT
 * Probes that write to one file do not know of each other: each describes the process, and the
 * threads that it meets. Here the two descriptions become one. Their clocks may count different
 * ticks; only events still need them, so those of the stream with events stay. */
#include "log/reading.h"

#include "base/grow.h"

#include <string.h>

#define NAMESAKES_MAX 16 /* threads of one number that another may be joined to */

struct joining {
    struct dw_profile *profile;
    const struct dw_reading *reading;
    uint32_t *process_of, *thread_of; /* by index, from the stream's first one on */
    bool *has_events;                 /* by process */
    struct dw_map processes;          /* of earlier streams, by uuid */
    struct dw_map threads;            /* of earlier streams, by process and tid */
};

struct candidate {
    const struct joining *joining;
    uint32_t process;
};

/* Two ways to sample, or two timelines, are of no one process. */
static bool can_join(const void *processes, uint32_t id, const void *key)
{
    const struct candidate *candidate = key;
    const bool *has_events = candidate->joining->has_events;
    const struct dw_process *left = (const struct dw_process *)processes + id;
    const struct dw_process *right = (const struct dw_process *)processes + candidate->process;
    return !memcmp(left->uuid, right->uuid, sizeof left->uuid) &&
           (!left->is_sampled || !right->is_sampled ||
            left->sampling.mode == right->sampling.mode) &&
           (!has_events[id] || !has_events[candidate->process]);
}

static uint64_t ticks_of(struct dw_clock_rate rate, uint64_t ns)
{
    return (uint64_t)(((unsigned __int128)ns << 56) / (rate.ns_per_tick ? rate.ns_per_tick : 1));
}

/* Stretches the clocks of the process over the other's time, at their own rate. */
static void cover(struct dw_process *process, const struct dw_process *other)
{
    struct dw_clock_pair *first = &process->first_clock, *last = &process->last_clock;
    struct dw_clock_rate rate = dw_clock_rate_between(first, last);
    if (other->first_clock.monotonic_ns < first->monotonic_ns) {
        uint64_t earlier_ns = first->monotonic_ns - other->first_clock.monotonic_ns;
        first->tick -= ticks_of(rate, earlier_ns);
        first->monotonic_ns -= earlier_ns;
        first->wall_ns -= earlier_ns;
    }
    if (other->last_clock.monotonic_ns > last->monotonic_ns) {
        uint64_t later_ns = other->last_clock.monotonic_ns - last->monotonic_ns;
        last->tick += ticks_of(rate, later_ns);
        last->monotonic_ns += later_ns;
        last->wall_ns += later_ns;
    }
}

static void join_clocks(const struct joining *joining, uint32_t into, uint32_t from)
{
    struct dw_profile *profile = joining->profile;
    struct dw_process *kept = &profile->processes[into], other = profile->processes[from];
    if (joining->has_events[from]) {
        struct dw_process before = *kept;
        kept->first_clock = other.first_clock;
        kept->last_clock = other.last_clock;
        kept->path_map = other.path_map;
        other = before;
    }
    cover(kept, &other);
}

static void join_sampling(struct dw_process *into, const struct dw_process *from)
{
    const struct dw_sampling *more = &from->sampling;
    if (!from->is_sampled)
        return;
    if (!into->is_sampled) {
        into->is_sampled = true;
        into->sampling = *more;
        return;
    }
    into->sampling.native |= more->native;
    into->sampling.taken += more->taken;
    into->sampling.missed += more->missed;
    into->sampling.guessed += more->guessed;
    into->sampling.cut += more->cut;
    into->sampling.retried += more->retried;
}

static bool has_property(const struct dw_process *process, dw_string_id key)
{
    for (uint32_t i = 0; i < process->property_count; i++)
        if (process->properties[i].key == key)
            return true;
    return false;
}

static int join_properties(struct dw_process *into, const struct dw_process *from)
{
    int error = 0;
    for (uint32_t i = 0; i < from->property_count && !error; i++) {
        if (has_property(into, from->properties[i].key))
            continue;
        error = DW_GROW(into->properties, into->property_count, into->property_capacity);
        if (!error)
            into->properties[into->property_count++] = from->properties[i];
    }
    return error;
}

static int join_process(const struct joining *joining, uint32_t into, uint32_t from)
{
    struct dw_profile *profile = joining->profile;
    struct dw_process *kept = &profile->processes[into], *other = &profile->processes[from];
    join_clocks(joining, into, from);
    join_sampling(kept, other);
    kept->ended &= other->ended;
    kept->dropped += other->dropped;
    kept->is_reported |= other->is_reported;
    int error = join_properties(kept, other);
    free(other->properties);
    other->properties = NULL;
    other->property_count = 0;
    return error;
}

/* All partners are found before indexes change. */
static int join_processes(struct joining *joining)
{
    struct dw_profile *profile = joining->profile;
    uint32_t first = joining->reading->first_process, kept = first;
    int error = 0;
    for (uint32_t i = first; i < profile->process_count; i++) {
        struct candidate candidate = {joining, i};
        uint64_t hash = dw_hash_bytes(profile->processes[i].uuid, 16);
        uint32_t partner =
            dw_map_find(&joining->processes, hash, can_join, profile->processes, &candidate);
        joining->process_of[i - first] = partner != DW_MAP_NONE ? partner : kept++;
    }
    for (uint32_t i = first; i < profile->process_count; i++) {
        uint32_t to = joining->process_of[i - first];
        if (to < first && !error)
            error = join_process(joining, to, i);
        else if (to >= first)
            profile->processes[to] = profile->processes[i];
    }
    return error;
}

static void renumber(const struct joining *joining, uint32_t *process)
{
    if (*process >= joining->reading->first_process)
        *process = joining->process_of[*process - joining->reading->first_process];
}

static void renumber_processes(const struct joining *joining)
{
    struct dw_profile *profile = joining->profile;
    uint32_t first = joining->reading->first_process, count = first;
    for (uint32_t i = first; i < profile->process_count; i++)
        count += joining->process_of[i - first] >= first;
    for (uint32_t i = joining->reading->first_thread; i < profile->thread_count; i++)
        renumber(joining, &profile->threads[i].process);
    for (uint32_t i = 0; i < profile->module_count; i++)
        renumber(joining, &profile->modules[i].process);
    for (uint32_t i = 0; i < profile->timing_count; i++)
        renumber(joining, &profile->timings[i].process);
    for (uint32_t i = joining->reading->first_series; i < profile->series_count; i++)
        renumber(joining, &profile->series[i].process);
    profile->process_count = count;
}

static uint64_t hash_thread(const struct dw_thread *thread)
{
    return dw_hash_mix(dw_hash_mix(thread->process) ^ thread->tid);
}

/* The kernel gives numbers of threads again, so one that has what we bring is another thread. */
static bool is_partner(const void *threads, uint32_t id, const void *key)
{
    const struct dw_thread *a = (const struct dw_thread *)threads + id, *b = key;
    return a->process == b->process && a->tid == b->tid && !(a->values.mask & b->values.mask) &&
           !(a->timed_count && b->timed_count) && !(a->block_count && b->block_count);
}

static bool is_namesake(const void *threads, uint32_t id, const void *key)
{
    return is_partner(threads, id, key) &&
           ((const struct dw_thread *)threads)[id].name == ((const struct dw_thread *)key)->name;
}

static uint32_t find_partner(const struct joining *joining, const struct dw_thread *thread)
{
    const struct dw_thread *threads = joining->profile->threads;
    uint64_t hash = hash_thread(thread);
    uint32_t found = dw_map_find(&joining->threads, hash, is_namesake, threads, thread);
    return found != DW_MAP_NONE ? found
                                : dw_map_find(&joining->threads, hash, is_partner, threads, thread);
}

/* Takes what the other has; of single samples and of events only one of them has any. */
static int take_thread(struct dw_thread *into, struct dw_thread *from)
{
    struct dw_thread rest = *into;
    int error = 0;
    if (into->values.count)
        error = dw_value_table_merge(&into->values, &from->values);
    else {
        into->values = from->values;
        from->values = rest.values;
    }
    if (from->timed_count) {
        into->timed = from->timed;
        into->timed_count = from->timed_count;
        into->timed_capacity = from->timed_capacity;
        from->timed = rest.timed;
    }
    if (from->block_count) {
        into->block_count = from->block_count;
        into->last_block = from->last_block;
    }
    dw_thread_release(from);
    return error;
}

struct namesakes {
    const struct dw_thread *thread;
    uint32_t count;
};

/* Finds none: counts those of the same number. */
static bool count_namesake(const void *threads, uint32_t id, const void *key)
{
    struct namesakes *namesakes = (struct namesakes *)key;
    const struct dw_thread *thread = (const struct dw_thread *)threads + id;
    namesakes->count +=
        thread->process == namesakes->thread->process && thread->tid == namesakes->thread->tid;
    return false;
}

/* Of those with one number only the first: looking for a partner among any number of them would
 * take as long for each thread. */
static int list_thread(struct joining *joining, uint32_t index)
{
    const struct dw_thread *threads = joining->profile->threads;
    struct namesakes namesakes = {.thread = &threads[index]};
    uint64_t hash = hash_thread(&threads[index]);
    dw_map_find(&joining->threads, hash, count_namesake, threads, &namesakes);
    return namesakes.count < NAMESAKES_MAX ? dw_map_put(&joining->threads, hash, index) : 0;
}

static int list_threads(struct joining *joining)
{
    int error = 0;
    for (uint32_t i = joining->reading->log_thread; i < joining->reading->first_thread && !error;
         i++)
        error = list_thread(joining, i);
    return error;
}

static int list_processes(struct joining *joining)
{
    struct dw_profile *profile = joining->profile;
    int error = 0;
    for (uint32_t i = 0; i < profile->block_count; i++)
        joining->has_events[profile->threads[profile->blocks[i].thread].process] = true;
    for (uint32_t i = joining->reading->log_process; i < joining->reading->first_process && !error;
         i++)
        error = dw_process_index(profile, &joining->processes, i);
    return error;
}

static int join_threads(struct joining *joining)
{
    int error = 0;
    struct dw_profile *profile = joining->profile;
    uint32_t first = joining->reading->first_thread, kept = first;
    for (uint32_t i = first; i < profile->thread_count; i++) {
        struct dw_thread *thread = &profile->threads[i];
        uint32_t partner = find_partner(joining, thread);
        joining->thread_of[i - first] = partner == DW_MAP_NONE ? kept : partner;
        if (partner == DW_MAP_NONE)
            profile->threads[kept++] = *thread;
        else if (!error)
            error = take_thread(&profile->threads[partner], thread);
        else
            dw_thread_release(thread);
    }
    profile->thread_count = kept;
    for (uint32_t i = 0; i < profile->block_count; i++)
        if (profile->blocks[i].thread >= first)
            profile->blocks[i].thread = joining->thread_of[profile->blocks[i].thread - first];
    for (uint32_t i = joining->reading->first_series; i < profile->series_count; i++)
        if (profile->series[i].thread > first)
            profile->series[i].thread =
                1 + joining->thread_of[profile->series[i].thread - 1 - first];
    return error;
}

int dw_reading_join(struct dw_reading *reading)
{
    struct dw_profile *profile = reading->profile;
    struct joining joining = {.profile = profile, .reading = reading};
    uint32_t processes = profile->process_count - reading->first_process;
    uint32_t threads = profile->thread_count - reading->first_thread;
    joining.process_of = malloc((processes + 1u) * sizeof *joining.process_of);
    joining.thread_of = malloc((threads + 1u) * sizeof *joining.thread_of);
    joining.has_events = calloc(profile->process_count + 1u, sizeof *joining.has_events);
    bool has_room = joining.process_of && joining.thread_of && joining.has_events;
    int error = has_room ? list_processes(&joining) : DW_ERR_MEMORY;
    if (!error) {
        error = join_processes(&joining);
        renumber_processes(&joining);
    }
    if (!error)
        error = list_threads(&joining);
    if (!error)
        error = join_threads(&joining);
    free(joining.process_of);
    free(joining.thread_of);
    free(joining.has_events);
    dw_map_release(&joining.processes);
    dw_map_release(&joining.threads);
    return error;
}
