/* SPDX-License-Identifier: MIT
 * For speedscope.app: the timeline of regions of each thread as an evented profile. Else each path
 * of a thread is one sample that weighs what was spent on it itself, and samples that have their
 * times come in order. The format has no place for labels. */
#include "lens/export/event_walk.h"
#include "lens/view/notes.h"
#include "lens/view/own_times.h"
#include "lens/view/place_spots.h"
#include "lens/view/roster.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

struct speedscope {
    const struct dw_profile *profile;
    enum dw_family family;
    struct dw_out *out;
    bool has_hosts;
    struct dw_event_walk walk;
    struct dw_own_times own;
    struct dw_speller speller;
    struct dw_place_spots spots; /* their numbers are those of the frames */
    uint64_t first_ns, last_ns;
    bool empty;         /* no event or sample yet in this list */
    bool first_profile; /* no profile yet */
};

static void put_frame(struct speedscope *scope, const struct dw_place *place)
{
    const struct dw_profile *profile = scope->profile;
    struct dw_string name = dw_profile_string(profile, dw_place_frame(profile, place)->name);
    struct dw_string source = dw_place_source(profile, place);
    struct dw_string file = source.size ? source : dw_place_module(profile, place);
    uint32_t line = dw_place_line(profile, place);
    dw_out_text(scope->out, "{\"name\":");
    dw_out_json_string(scope->out, name.bytes, name.size);
    if (file.size) {
        dw_out_text(scope->out, ",\"file\":");
        dw_out_json_string(scope->out, file.bytes, file.size);
    }
    if (source.size && line) {
        dw_out_text(scope->out, ",\"line\":");
        dw_out_u64(scope->out, line);
    }
    dw_out_text(scope->out, "},\n");
}

/* The last one stands for what is cut out. */
static void end_frames(struct speedscope *scope)
{
    dw_out_text(scope->out, "{\"name\":\"[…]\"}]},\"profiles\":[");
}

/* What is next in a list. */
static void put_next(struct speedscope *scope, const char *first, const char *other)
{
    dw_out_text(scope->out, scope->empty ? first : other);
    scope->empty = false;
}

static void begin_profile(struct speedscope *scope, uint32_t thread, const char *head)
{
    struct dw_out name;
    dw_out_init_memory(&name);
    dw_roster_put_thread_of(&name, scope->profile, thread, scope->has_hosts);
    dw_out_text(scope->out, scope->first_profile ? "\n" : ",\n");
    dw_out_text(scope->out, head);
    dw_out_json_string(scope->out, name.buffer.data, name.buffer.size);
    dw_out_close_into(&name, scope->out);
    scope->first_profile = false;
    scope->empty = true;
    scope->first_ns = scope->last_ns = 0;
}

static void end_profile(struct speedscope *scope)
{
    dw_out_text(scope->out, "],\"startValue\":");
    dw_out_u64(scope->out, scope->first_ns);
    dw_out_text(scope->out, ",\"endValue\":");
    dw_out_u64(scope->out, scope->last_ns);
    dw_out_char(scope->out, '}');
}

static void put_step(void *context, const struct dw_step *step)
{
    struct speedscope *scope = context;
    if (step->kind != DW_STEP_OPEN && step->kind != DW_STEP_CLOSE)
        return;
    if (scope->empty)
        scope->first_ns = step->time_ns;
    scope->last_ns = step->time_ns;
    put_next(scope, "\n", ",\n");
    dw_out_text(scope->out, step->kind == DW_STEP_OPEN ? "{\"type\":\"O\",\"frame\":"
                                                       : "{\"type\":\"C\",\"frame\":");
    dw_out_u64(scope->out, scope->profile->functions.paths[step->path].step);
    dw_out_text(scope->out, ",\"at\":");
    dw_out_u64(scope->out, step->time_ns);
    dw_out_char(scope->out, '}');
}

static int put_evented(struct speedscope *scope, uint32_t thread)
{
    begin_profile(scope, thread, "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":");
    dw_out_text(scope->out, ",\"events\":[");
    int error = dw_event_walk_thread(&scope->walk, thread, put_step, scope);
    end_profile(scope);
    return error;
}

/* Calls and regions are under a root, which has time of its own. */
static void put_stack(struct speedscope *scope, dw_path_id path)
{
    struct dw_spelling spelling;
    dw_speller_spell(&scope->speller, path, DW_SPELL_MAX, &spelling);
    put_next(scope, "\n[", ",\n[");
    bool is_first = scope->family == DW_FAMILY_SAMPLES;
    dw_out_text(scope->out, is_first ? "" : "0");
    for (uint32_t i = 0; i < spelling.count; i++, is_first = false) {
        dw_out_text(scope->out, is_first ? "" : ",");
        if (spelling.cut && i == spelling.cut_at) {
            dw_out_u64(scope->out, scope->spots.count);
            dw_out_char(scope->out, ',');
        }
        dw_out_u64(scope->out,
                   scope->spots.of[scope->profile->paths.paths[spelling.paths[i]].step]);
    }
    dw_out_char(scope->out, ']');
}

static void put_weight(struct speedscope *scope, uint64_t weight)
{
    put_next(scope, "", ",");
    dw_out_u64(scope->out, weight);
    scope->last_ns += weight;
}

static void begin_weights(struct speedscope *scope)
{
    dw_out_text(scope->out, "],\n\"weights\":[");
    scope->empty = true;
}

static void put_timed(struct speedscope *scope, const struct dw_thread *thread)
{
    for (uint32_t i = 0; i < thread->timed_count && !scope->out->error; i++)
        put_stack(scope, thread->timed[i].path);
    begin_weights(scope);
    for (uint32_t i = 0; i < thread->timed_count; i++)
        put_weight(scope, thread->timed[i].weight_ns);
}

static void put_own_times(struct speedscope *scope)
{
    const struct dw_own_times *own = &scope->own;
    for (uint32_t i = 0; i < own->count && !scope->out->error; i++)
        if (own->items[i].self)
            put_stack(scope, own->items[i].path);
    begin_weights(scope);
    for (uint32_t i = 0; i < own->count; i++)
        if (own->items[i].self)
            put_weight(scope, own->items[i].self);
}

static void put_sampled(struct speedscope *scope)
{
    const struct dw_thread *thread = &scope->profile->threads[scope->own.thread];
    begin_profile(scope, scope->own.thread,
                  dw_profile_shown_unit(scope->profile) == DW_UNIT_BYTES
                      ? "{\"type\":\"sampled\",\"unit\":\"bytes\",\"name\":"
                  : dw_family_is_counted(scope->profile, scope->family)
                      ? "{\"type\":\"sampled\",\"unit\":\"none\",\"name\":"
                      : "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"name\":");
    dw_out_text(scope->out, ",\"samples\":[");
    if (scope->family == DW_FAMILY_SAMPLES && thread->timed_count)
        put_timed(scope, thread);
    else
        put_own_times(scope);
    end_profile(scope);
}

static int put_events(struct speedscope *scope)
{
    uint32_t *order;
    int error = dw_roster_threads(scope->profile, &order);
    if (error)
        return error;
    for (uint32_t i = 0; !error && i < scope->profile->thread_count && !scope->out->error; i++)
        if (dw_event_walk_has(&scope->walk, order[i]))
            error = put_evented(scope, order[i]);
    free(order);
    return error;
}

/* Frames have the index of the profile's table. */
static int put_timelines(struct speedscope *scope)
{
    int error = dw_event_walk_init(&scope->walk, scope->profile);
    if (error)
        return error;
    for (dw_frame_id i = 0; i < scope->profile->frames.count; i++)
        put_frame(scope, &(struct dw_place){.frame = i});
    end_frames(scope);
    error = put_events(scope);
    dw_event_walk_release(&scope->walk);
    return error;
}

/* A frame is a line of a function: speedscope takes frames of different numbers for different ones,
 * so addresses and columns of a line must not be told apart. */
static int number_lines(struct speedscope *scope)
{
    struct dw_stack_tree tree;
    int error = dw_stack_tree_make(scope->profile, scope->family, &tree);
    if (error)
        return error;
    error = dw_place_spots_make(&tree, DW_KEY_LINE, &scope->spots);
    dw_stack_tree_release(&tree);
    return error;
}

static int put_stacks(struct speedscope *scope)
{
    const struct dw_path_tree *paths = &scope->profile->paths;
    int error = number_lines(scope);
    if (!error)
        error = dw_own_times_init(&scope->own, scope->profile, scope->family);
    if (!error)
        error = dw_speller_init(&scope->speller, paths->paths, paths->count);
    if (!error) {
        put_frame(scope, &(struct dw_place){0});
        for (uint32_t i = 1; i < scope->spots.count; i++)
            put_frame(scope, scope->spots.first[i]);
        end_frames(scope);
    }
    while (!error && !scope->out->error && dw_own_times_next(&scope->own))
        put_sampled(scope);
    error = error ? error : scope->own.error;
    dw_place_spots_release(&scope->spots);
    dw_own_times_release(&scope->own);
    dw_speller_release(&scope->speller);
    return error;
}

static int write_speedscope(const struct dw_profile *profile, const struct dw_lens_options *options,
                            struct dw_out *out)
{
    struct speedscope scope = {.profile = profile,
                               .family = dw_family_choose(profile, options->family),
                               .out = out,
                               .has_hosts = dw_roster_has_hosts(profile),
                               .first_profile = true};
    bool are_samples = scope.family == DW_FAMILY_SAMPLES;
    dw_out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                     "\"exporter\":\"dwell@" DW_VERSION "\",");
    if (are_samples) {
        dw_out_text(out, "\"name\":");
        dw_notes_put_json_text(out, profile);
        dw_out_char(out, ',');
    }
    dw_out_text(out, "\"shared\":{\"frames\":[\n");
    int error = profile->block_count && !are_samples ? put_timelines(&scope) : put_stacks(&scope);
    dw_out_text(out, "]}\n");
    return error;
}

const struct dw_lens dw_lens_speedscope = {
    .name = "speedscope",
    .summary = "for speedscope.app: samples, the timeline, or self times when there is none",
    .extension = ".speedscope.json",
    .needs_events = true,
    .shows_places = true,
    .write = write_speedscope,
};
