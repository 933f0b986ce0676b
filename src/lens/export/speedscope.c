/* SPDX-License-Identifier: MIT
 * For speedscope.app: the timeline of each thread as an evented profile. Without
 * any timeline, each path of a thread is one sample that weighs its self time. Samples are
 * what they are. */
#include "base/error.h"
#include "lens/export/event_walk.h"
#include "lens/export/speedscope_stacks.h"
#include "lens/view/name_cache.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"
#include "lens/view/row.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

#define SAMPLE_FRAMES_MAX DW_SPELL_MAX

struct speedscope {
    enum dw_family family;
    const struct dw_profile *profile;
    struct dw_out *out;
    struct dw_event_walk walk;
    uint64_t first_ns, last_ns;
    bool empty;         /* no event or sample yet in this profile */
    bool first_profile; /* no profile yet */
};

/* Frames have the index of the profile's table; one more stands for what is cut out. */
static int put_frames(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_name_cache names;
    int error = dw_name_cache_init(&names, profile);
    for (dw_frame_id i = 0; !error && i < profile->frames.count; i++) {
        const struct dw_frame *frame = &profile->frames.frames[i];
        struct dw_string file = dw_profile_string(profile, frame->file);
        dw_out_text(out, "{\"name\":");
        dw_out_write(out, names.text.buffer.data + names.starts[i],
                     names.starts[i + 1] - names.starts[i]);
        if (frame->file) {
            dw_out_text(out, ",\"file\":");
            dw_out_json_string(out, file.bytes, file.size);
            dw_out_text(out, ",\"line\":");
            dw_out_u64(out, frame->line);
        }
        dw_out_text(out, "},\n");
    }
    dw_out_text(out, "{\"name\":\"[…]\"}");
    dw_name_cache_release(&names);
    return error;
}

static void begin_profile(struct speedscope *scope, const char *type, const void *name, size_t size)
{
    dw_out_text(scope->out, scope->first_profile ? "\n" : ",\n");
    dw_out_text(scope->out, "{\"type\":\"");
    dw_out_text(scope->out, type);
    dw_out_text(scope->out, "\",\"unit\":\"nanoseconds\",\"name\":");
    dw_out_json_string(scope->out, name, size);
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
    dw_out_text(scope->out, scope->empty ? "\n" : ",\n");
    scope->empty = false;
    dw_out_text(scope->out, step->kind == DW_STEP_OPEN ? "{\"type\":\"O\",\"frame\":"
                                                       : "{\"type\":\"C\",\"frame\":");
    dw_out_u64(scope->out, scope->profile->functions.paths[step->path].step);
    dw_out_text(scope->out, ",\"at\":");
    dw_out_u64(scope->out, step->time_ns);
    dw_out_char(scope->out, '}');
}

static int put_evented(struct speedscope *scope, uint32_t thread)
{
    const struct dw_profile *profile = scope->profile;
    struct dw_out name;
    dw_out_init_memory(&name);
    dw_roster_put_thread(&name, profile, thread);
    if (profile->process_count > 1) {
        dw_out_text(&name, " of ");
        dw_roster_put_process(&name, profile, profile->threads[thread].process);
    }
    begin_profile(scope, "evented", name.buffer.data, name.buffer.size);
    dw_out_close_into(&name, scope->out);
    dw_out_text(scope->out, ",\"events\":[");
    int error = dw_event_walk_thread(&scope->walk, thread, put_step, scope);
    end_profile(scope);
    return error;
}

static int put_timelines(struct speedscope *scope)
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

static void put_sample(struct speedscope *scope, const struct dw_rows *rows,
                       const struct dw_row *row)
{
    const struct dw_path *paths = scope->profile->functions.paths;
    struct dw_spelling spelling;
    dw_speller_spell(&rows->speller, row->path, SAMPLE_FRAMES_MAX, &spelling);
    dw_out_text(scope->out, scope->empty ? "\n[0" : ",\n[0");
    scope->empty = false;
    for (uint32_t i = 0; i < spelling.count; i++) {
        dw_out_char(scope->out, ',');
        if (spelling.cut && i == spelling.cut_at) {
            dw_out_u64(scope->out, scope->profile->frames.count);
            dw_out_char(scope->out, ',');
        }
        dw_out_u64(scope->out, paths[spelling.paths[i]].step);
    }
    dw_out_char(scope->out, ']');
}

/* The tree that starts at the row, up to the next one. */
static uint32_t put_sampled(struct speedscope *scope, const struct dw_rows *rows, uint32_t first)
{
    const struct dw_row *root = &rows->rows[first];
    uint32_t end = first + 1;
    while (end < rows->count && rows->rows[end].parent != DW_ROW_NONE)
        end++;
    begin_profile(scope, "sampled", root->name.bytes, root->name.size);
    dw_out_text(scope->out, ",\"samples\":[");
    for (uint32_t i = first; i < end && !scope->out->error; i++)
        if (rows->rows[i].self)
            put_sample(scope, rows, &rows->rows[i]);
    dw_out_text(scope->out, "],\n\"weights\":[");
    scope->empty = true;
    for (uint32_t i = first; i < end; i++) {
        if (!rows->rows[i].self)
            continue;
        dw_out_text(scope->out, scope->empty ? "" : ",");
        scope->empty = false;
        dw_out_u64(scope->out, rows->rows[i].self);
        scope->last_ns += rows->rows[i].self;
    }
    end_profile(scope);
    return end;
}

static int put_samples(struct speedscope *scope)
{
    struct dw_rows rows;
    int error =
        dw_rows_make(scope->profile,
                     &(struct dw_lens_options){.family = scope->family, .by = DW_BY_THREAD}, &rows);
    if (error)
        return error;
    for (uint32_t row = 0; row < rows.count && !scope->out->error;)
        row = put_sampled(scope, &rows, row);
    dw_rows_release(&rows);
    return 0;
}

static int put_paths(struct speedscope *scope)
{
    int error = put_frames(scope->out, scope->profile);
    dw_out_text(scope->out, "]},\"profiles\":[");
    if (error)
        return error;
    return scope->profile->block_count ? put_timelines(scope) : put_samples(scope);
}

static int write_speedscope(const struct dw_profile *profile, const struct dw_lens_options *options,
                            struct dw_out *out)
{
    struct speedscope scope = {
        .profile = profile, .out = out, .family = options->family, .first_profile = true};
    int error = dw_event_walk_init(&scope.walk, profile);
    if (error)
        return error;
    dw_out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                     "\"exporter\":\"dwell@" DW_VERSION "\",");
    if (dw_shows_samples(profile, options->family)) {
        dw_out_text(out, "\"name\":");
        dw_notes_put_json_text(out, profile);
        dw_out_char(out, ',');
    }
    dw_out_text(out, "\"shared\":{\"frames\":[\n");
    error = dw_shows_samples(profile, options->family) ? dw_speedscope_put_stacks(out, profile)
                                                       : put_paths(&scope);
    dw_out_text(out, "]}\n");
    dw_event_walk_release(&scope.walk);
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
