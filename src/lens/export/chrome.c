/* SPDX-License-Identifier: MIT
 * The timeline as Chrome Trace Event JSON, for Perfetto and chrome://tracing.
 * Entries are B and E events, which nest by themselves for each (pid, tid); two
 * processes or threads with the same number get different ones here. speedscope finds
 * the B of an E by its name and arguments, so both have the same of each. */
#include "base/error.h"
#include "lens/export/timeline_tracks.h"
#include "lens/view/measured.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

#include <stdlib.h>

struct chrome {
    const struct dw_profile *profile;
    struct dw_out *out;
    struct dw_tracks tracks;
    struct dw_out names; /* of all frames, as JSON: a timeline repeats them a million times */
    size_t *starts;      /* of each name, and the end of the last */
    struct dw_out place; /* `,"pid":1,"tid":2,"ts":` of the current thread */
};

static int quote_names(struct chrome *chrome)
{
    uint32_t count = chrome->profile->frames.count;
    chrome->starts = malloc((count + 1u) * sizeof *chrome->starts);
    for (dw_frame_id i = 0; chrome->starts && i < count; i++) {
        struct dw_string name =
            dw_profile_string(chrome->profile, chrome->profile->frames.frames[i].name);
        chrome->starts[i] = chrome->names.buffer.size;
        dw_out_json_string(&chrome->names, name.bytes, name.size);
    }
    if (chrome->starts)
        chrome->starts[count] = chrome->names.buffer.size;
    return chrome->starts ? chrome->names.error : DW_ERR_MEMORY;
}

static void put_frame(const struct chrome *chrome, dw_frame_id frame)
{
    const size_t *start = &chrome->starts[frame];
    dw_out_write(chrome->out, chrome->names.buffer.data + start[0], start[1] - start[0]);
}

static void put_metadata(struct chrome *chrome, uint32_t process, uint64_t tid, const char *kind,
                         const struct dw_out *label)
{
    dw_out_text(chrome->out, "{\"name\":\"");
    dw_out_text(chrome->out, kind);
    dw_out_text(chrome->out, "\",\"ph\":\"M\",\"pid\":");
    dw_out_u64(chrome->out, chrome->tracks.pids[process]);
    dw_out_text(chrome->out, ",\"tid\":");
    dw_out_u64(chrome->out, tid);
    dw_out_text(chrome->out, ",\"args\":{\"name\":");
    dw_out_json_string(chrome->out, label->buffer.data, label->buffer.size);
    dw_out_text(chrome->out, "}}");
}

/* Processes first: the events that follow begin with the comma after them. */
static void put_names(struct chrome *chrome)
{
    const struct dw_profile *profile = chrome->profile;
    struct dw_out label;
    dw_out_init_memory(&label);
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        uint32_t thread = chrome->tracks.order[i], process = profile->threads[thread].process;
        dw_out_text(chrome->out, i ? ",\n" : "\n");
        if (!i || profile->threads[chrome->tracks.order[i - 1]].process != process) {
            dw_buffer_clear(&label.buffer);
            dw_roster_put_process(&label, profile, process);
            put_metadata(chrome, process, 0, "process_name", &label);
            dw_out_text(chrome->out, ",\n");
        }
        dw_buffer_clear(&label.buffer);
        dw_roster_put_thread(&label, profile, thread);
        put_metadata(chrome, process, chrome->tracks.tids[thread], "thread_name", &label);
        if (dw_thread_needs_two_tracks(&profile->threads[thread])) {
            dw_out_text(&label, DW_SAMPLE_TRACK);
            dw_out_text(chrome->out, ",\n");
            put_metadata(chrome, process, chrome->tracks.sample_tids[thread], "thread_name",
                         &label);
        }
    }
    dw_out_close_into(&label, chrome->out);
}

static void put_place(struct chrome *chrome, uint64_t time_ns)
{
    dw_out_write(chrome->out, chrome->place.buffer.data, chrome->place.buffer.size);
    dw_out_decimal(chrome->out, time_ns, 3);
}

static void put_named(struct chrome *chrome, const struct dw_step *step, const char *kind)
{
    dw_frame_id frame = chrome->profile->functions.paths[step->path].step;
    dw_out_text(chrome->out, ",\n{\"name\":");
    put_frame(chrome, frame);
    dw_out_text(chrome->out, kind);
    put_place(chrome, step->time_ns);
}

static void put_step(void *context, const struct dw_step *step)
{
    struct chrome *chrome = context;
    dw_frame_id frame = chrome->profile->functions.paths[step->path].step;
    switch (step->kind) {
    case DW_STEP_OPEN:
        put_named(chrome, step, ",\"ph\":\"B\"");
        dw_out_text(chrome->out, step->resumed ? ",\"cat\":\"resumed\"}" : "}");
        break;
    case DW_STEP_CLOSE:
        put_named(chrome, step, ",\"ph\":\"E\"");
        dw_out_char(chrome->out, '}');
        break;
    case DW_STEP_INSTANT:
        put_named(chrome, step, ",\"ph\":\"i\",\"s\":\"t\"");
        dw_out_char(chrome->out, '}');
        break;
    case DW_STEP_COUNTER:
        put_named(chrome, step, ",\"ph\":\"C\"");
        dw_out_text(chrome->out, ",\"args\":{");
        put_frame(chrome, frame);
        dw_out_char(chrome->out, ':');
        dw_out_i64(chrome->out, step->value);
        dw_out_text(chrome->out, "}}");
        break;
    }
}

static void put_labels(struct chrome *chrome, dw_labels_id labels)
{
    const struct dw_profile *profile = chrome->profile;
    const struct dw_label_set *set = &profile->labels.sets[labels];
    for (uint32_t i = 0; i < set->count; i++) {
        const struct dw_label *label = &profile->labels.pairs[set->first + i];
        struct dw_string key = dw_profile_string(profile, label->key);
        struct dw_string value = dw_profile_string(profile, label->value);
        dw_out_text(chrome->out, i ? "," : ",\"args\":{");
        dw_out_json_string(chrome->out, key.bytes, key.size);
        dw_out_char(chrome->out, ':');
        dw_out_json_string(chrome->out, value.bytes, value.size);
    }
    dw_out_text(chrome->out, set->count ? "}" : "");
}

static void put_sampled(void *context, bool opens, dw_frame_id frame, dw_labels_id labels,
                        uint64_t time_ns)
{
    struct chrome *chrome = context;
    dw_out_text(chrome->out, ",\n{\"name\":");
    put_frame(chrome, frame);
    dw_out_text(chrome->out, opens ? ",\"ph\":\"B\"" : ",\"ph\":\"E\"");
    put_place(chrome, time_ns);
    put_labels(chrome, labels);
    dw_out_char(chrome->out, '}');
}

static void set_place(void *context, uint32_t thread, bool is_of_samples)
{
    struct chrome *chrome = context;
    const struct dw_tracks *tracks = &chrome->tracks;
    dw_buffer_clear(&chrome->place.buffer);
    dw_out_text(&chrome->place, ",\"pid\":");
    dw_out_u64(&chrome->place, tracks->pids[chrome->profile->threads[thread].process]);
    dw_out_text(&chrome->place, ",\"tid\":");
    dw_out_u64(&chrome->place, is_of_samples ? tracks->sample_tids[thread] : tracks->tids[thread]);
    dw_out_text(&chrome->place, ",\"ts\":");
}

static void put_tail(struct chrome *chrome)
{
    const struct dw_losses *losses = &chrome->profile->losses;
    dw_out_text(chrome->out,
                "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"dwell@" DW_VERSION
                "\",\"start_ns\":");
    dw_out_u64(chrome->out, chrome->tracks.events.epoch_ns);
    dw_out_text(chrome->out, ",\"damaged_parts\":");
    dw_out_u64(chrome->out, losses->damaged_chunks);
    dw_out_text(chrome->out, ",\"cut_processes\":");
    dw_out_u64(chrome->out, losses->cut_files);
    dw_out_text(chrome->out, ",\"dropped_events\":");
    dw_out_u64(chrome->out, dw_notes_dropped(chrome->profile));
    if (dw_family_is_in(chrome->profile, DW_FAMILY_SAMPLES)) {
        dw_out_text(chrome->out, ",\"sampling\":");
        dw_notes_put_json_text(chrome->out, chrome->profile);
    }
    dw_out_text(chrome->out, "}}\n");
}

static int write_chrome(const struct dw_profile *profile, const struct dw_lens_options *options,
                        struct dw_out *out)
{
    struct chrome chrome = {.profile = profile, .out = out};
    const struct dw_track_visitor visitor = {set_place, put_sampled, put_step, &chrome};
    dw_out_init_memory(&chrome.place);
    dw_out_init_memory(&chrome.names);
    int error = dw_tracks_init(&chrome.tracks, profile, options);
    if (!error)
        error = quote_names(&chrome);
    if (!error) {
        dw_out_text(out, "{\"traceEvents\":[");
        put_names(&chrome);
        error = dw_tracks_walk(&chrome.tracks, &visitor, out);
    }
    if (!error)
        put_tail(&chrome);
    dw_tracks_release(&chrome.tracks);
    free(chrome.starts);
    dw_out_close_into(&chrome.names, out);
    dw_out_close_into(&chrome.place, out);
    return error;
}

const struct dw_lens dw_lens_chrome = {
    .name = "chrome",
    .summary = "the timeline for Perfetto and chrome://tracing (Trace Event JSON)",
    .extension = ".trace.json",
    .needs_events = true,
    .shows_both = true,
    .write = write_chrome,
};
