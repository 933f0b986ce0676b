/* SPDX-License-Identifier: MIT
 * From the numbers of lines to a ledger. A line is a place under the root, and what it calls a
 * place under that. Rows are made first, since a log defines paths before it uses them. */
#include "probe/line/line_log.h"

#include "base/error.h"
#include "probe/ledger_python.h"
#include "probe/line/line_memory.h"
#include "probe/line/line_track.h"
#include "record/probes.h"

#include <string.h>

static struct dw_line_profile *recorded; /* the one that has a file */

struct collecting {
    struct dw_ledger *ledger;
    const struct dw_line_profile *profile;
    bool is_file;                          /* that of the profile, which is told only what is new */
    dw_measure_mask line_mask, whole_mask; /* what a line has, and a function as a whole */
    struct dw_line_track *track;
    dw_labels_id labels;
};

/* Code that was compiled twice is two functions here, and has one path. */
static int add_numbers(struct collecting *all, dw_path_id path, dw_measure_mask mask,
                       const uint64_t *numbers)
{
    uint32_t row;
    int error = dw_value_row_get(&all->track->now, path, all->labels, &row);
    return error ? error : dw_value_row_add(&all->track->now, row, mask, numbers);
}

static int path_of(struct dw_ledger *ledger, dw_path_id parent, dw_frame_id frame, uint32_t line,
                   dw_path_id *path)
{
    dw_place_id place;
    int error = dw_ledger_place(ledger, &(struct dw_place){.frame = frame, .line = line}, &place);
    return error ? error : dw_ledger_path(ledger, parent, place, path);
}

static int add_edge(struct collecting *all, dw_path_id line, const struct dw_line_edge *edge)
{
    const struct dw_line_callee *callee = edge->callee;
    const PyCodeObject *code = callee->name ? NULL : (const PyCodeObject *)callee->owner;
    dw_frame_id frame;
    dw_path_id path = 0;
    int error =
        dw_ledger_function(all->ledger, code ? code->co_qualname : callee->name, code, &frame);
    if (!error)
        error = path_of(all->ledger, line, frame, 0, &path);
    return error ? error
                 : add_numbers(all, path, DW_CALLEE_MASK, (uint64_t[]){edge->calls, edge->time});
}

/* A line was hit and has times, a function as a whole was called. */
static int add_count(struct collecting *all, const struct dw_line_count *count,
                     dw_frame_id function, uint32_t line)
{
    bool is_plain = !all->profile->with_memory;
    dw_path_id path = 0;
    int error = path_of(all->ledger, DW_PATH_ROOT, function, line, &path);
    if (!error)
        error = line ? add_numbers(all, path, all->line_mask, &count->hits)
                     : add_numbers(all, path, all->whole_mask,
                                   &(uint64_t[]){count->rss, count->hits}[is_plain]);
    for (const struct dw_line_edge *edge = count->edges; edge && !error; edge = edge->next)
        error = add_edge(all, path, edge);
    return error;
}

/* What never ran is told too, by the first thread, without labels. */
static int add_function(struct collecting *all, struct dw_line_set *set,
                        const struct dw_line_code *function, bool is_first)
{
    const struct dw_line_count *counts = is_first ? dw_line_counts_of(set, function)
                                         : function->index < set->capacity
                                             ? set->counts[function->index]
                                             : NULL;
    dw_frame_id frame;
    if (!counts)
        return is_first ? DW_ERR_MEMORY : 0;
    int error =
        dw_ledger_function(all->ledger, function->code->co_qualname, function->code, &frame);
    if (!error)
        error = add_count(all, counts, frame, 0);
    for (uint32_t i = 0; i < function->line_count && !error; i++)
        if (counts[i + 1].hits || counts[i + 1].time || (is_first && function->kinds[i]))
            error = add_count(all, &counts[i + 1], frame, function->first_line + i);
    return error;
}

/* How the log calls it is the track's until it is written. */
static int enter_thread(struct collecting *all, struct dw_line_track *track)
{
    uint32_t thread;
    if (all->is_file && track->is_entered)
        return 0;
    int error = dw_ledger_thread(all->ledger, dw_line_probe.bit, track->thread_id, &thread);
    if (!error && track->thread_name)
        error = dw_ledger_name_thread(all->ledger, thread, track->thread_name,
                                      strlen(track->thread_name));
    if (error)
        return error;
    track->is_entered = all->is_file;
    track->log_thread[all->is_file] = dw_ledger_thread_id(all->ledger, thread);
    return 0;
}

static int add_set(struct collecting *all, struct dw_line_set *set, bool is_first)
{
    int error = dw_ledger_labels(all->ledger, set->labels, 0, &all->labels);
    for (uint32_t i = 0; i < all->profile->function_count && !error; i++)
        if (all->profile->functions[i]->kinds)
            error = add_function(all, set, all->profile->functions[i], is_first);
    return error;
}

/* Threads of the parent of this process have nothing to tell. */
static int add_tracks(struct collecting *all)
{
    bool is_first = true;
    int error = 0;
    for (uint32_t i = 0; i < all->profile->track_count && !error; i++) {
        struct dw_line_track *track = all->profile->tracks[i];
        if (!track->thread_id)
            continue;
        all->track = track;
        error = enter_thread(all, track);
        for (uint32_t labels = 0; labels < track->set_count && !error; labels++)
            if (track->sets[labels])
                error = add_set(all, track->sets[labels], is_first && !labels);
        is_first = false;
    }
    return error;
}

/* Whether the file's idea of a row is out of date; it gets the new one. */
static bool is_news(struct dw_line_track *track, const struct dw_value_row *row)
{
    const uint64_t *numbers = &track->now.numbers[row->first];
    uint32_t at;
    if (dw_value_row_get(&track->written, row->path, row->labels, &at))
        return true;
    const struct dw_value_row *known = &track->written.rows[at];
    size_t size = (size_t)__builtin_popcountll(row->mask) * sizeof *numbers;
    if (known->mask == row->mask && !memcmp(&track->written.numbers[known->first], numbers, size))
        return false;
    dw_value_row_set(&track->written, at, row->mask, numbers);
    return true;
}

static void write_row(struct dw_log_writer *writer, const struct dw_value_table *values,
                      const struct dw_value_row *row, double tick_ns)
{
    uint64_t numbers[DW_MEASURES], *at = numbers;
    for (dw_measure_mask rest = row->mask; rest; rest &= rest - 1, at++) {
        enum dw_measure measure = (enum dw_measure)__builtin_ctzll(rest);
        *at = dw_value_get(values, row, measure);
        if (dw_measures[measure].unit == DW_UNIT_NS)
            *at = (uint64_t)((double)*at * tick_ns + 0.5);
    }
    dw_log_rows_add(writer, row->path, row->labels, row->mask, numbers, NULL);
}

static void write_track(struct dw_line_track *track, struct dw_sink *sink, bool is_file)
{
    double tick_ns = dw_lines_tick_ns(track->profile);
    dw_log_rows_begin(&sink->writer, track->log_thread[is_file]);
    for (uint32_t i = 0; i < track->now.count; i++)
        if (!is_file || is_news(track, &track->now.rows[i]) || sink->is_last)
            write_row(&sink->writer, &track->now, &track->now.rows[i], tick_ns);
    dw_log_rows_end(&sink->writer);
    dw_value_table_release(&track->now);
}

int dw_lines_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    struct dw_line_profile *profile = context;
    struct collecting all = {
        .ledger = ledger,
        .profile = profile,
        .is_file = ledger == profile->log,
        .line_mask = DW_HIT_MASK | (profile->with_memory ? DW_LINE_MEMORY_MASK : 0),
        .whole_mask = DW_MASK(DW_LINE_CALLS) | (profile->with_memory ? DW_MASK(DW_LINE_RSS) : 0),
    };
    bool has_track = profile->track_count || dw_line_track_find(profile);
    dw_lines_settle(profile);
    int error = has_track ? add_tracks(&all) : DW_ERR_MEMORY;
    if (!error)
        dw_ledger_define(ledger, sink);
    for (uint32_t i = 0; i < profile->track_count && !error; i++)
        write_track(profile->tracks[i], sink, all.is_file);
    return error;
}

static bool has_hits(const struct dw_line_track *track)
{
    for (uint32_t labels = 0; labels < track->set_count; labels++) {
        const struct dw_line_set *set = track->sets[labels];
        for (uint32_t i = 0; set && i < set->capacity; i++)
            if (set->counts[i] && set->counts[i]->hits)
                return true;
    }
    return track->depth;
}

static bool has_news(const struct dw_line_profile *profile)
{
    for (uint32_t i = 0; i < profile->track_count; i++)
        if (profile->tracks[i]->thread_id && has_hits(profile->tracks[i]))
            return true;
    return false;
}

/* A forked child makes its file once it has something to tell. */
void dw_lines_flush(struct dw_line_profile *profile, bool last)
{
    if (!profile->log)
        return;
    uint64_t before = dw_tick();
    struct dw_ledger *ledger = profile->log;
    int error = dw_ledger_is_late(ledger) && !has_news(profile) ? 0
                : last ? dw_ledger_flush_end(ledger, dw_lines_collect, profile)
                       : dw_ledger_flush(ledger, dw_lines_collect, profile, false);
    if (error)
        dw_line_log_stop(profile);
    profile->flush_at = dw_flush_next(before, dw_lines_tick_ns(profile));
    dw_lines_restart(profile);
}

static void flush_last(void)
{
    if (recorded)
        dw_lines_flush(recorded, true);
}

static void stop(void)
{
    if (!recorded)
        return;
    dw_lines_flush(recorded, false);
    dw_line_log_stop(recorded);
}

/* The log of the child has none of what its parent's has. */
static void forked(void)
{
    dw_lines_forget_other_threads();
    dw_line_memory_forked();
    if (recorded)
        dw_lines_forked(recorded);
}

struct dw_probe dw_line_probe = {
    .name = "lines",
    .needs_gil = true,
    .flush = flush_last,
    .stop = stop,
    .forked = forked,
};

int dw_line_log_start(struct dw_line_profile *profile, const char *path)
{
    dw_probe_add(&dw_line_probe);
    int error = dw_ledger_open(&(struct dw_ledger_options){.path = path}, &profile->log);
    if (error)
        return error;
    recorded = profile;
    profile->first_clock = dw_clock_pair_now();
    profile->flush_at = dw_flush_next(dw_tick(), 1);
    return 0;
}

void dw_line_log_stop(struct dw_line_profile *profile)
{
    if (!profile->log)
        return;
    dw_ledger_stop(profile->log);
    dw_ledger_release(profile->log);
    profile->log = NULL;
    recorded = NULL;
}
