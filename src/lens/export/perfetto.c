/* SPDX-License-Identifier: MIT
 * The timeline as a Perfetto trace: protobuf with interned names, written as it comes, for
 * traces that are too large as JSON. Packets are of one sequence, and all tracks are described
 * before what happens on them. */
#include "base/error.h"
#include "base/protobuf.h"
#include "lens/export/timeline_tracks.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

/* Fields of the messages, by number. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIME_NS = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60
};
enum { INTERNED_NAMES = 2 };
enum { NAME_ID = 1, NAME_TEXT };
enum { EVENT_NOTE = 4, EVENT_TYPE = 9, EVENT_NAME_ID = 10, EVENT_TRACK = 11, EVENT_VALUE = 30 };
enum { NOTE_STRING = 6, NOTE_NAME = 10 };
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { TRACK_ID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, PROCESS_LABEL = 8 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };

#define THE_SEQUENCE 1
#define FLAG_CLEARED 1 /* nothing is interned yet */
#define FLAG_NEEDS 2   /* refers to what was interned */

struct perfetto {
    const struct dw_profile *profile;
    struct dw_out *out;
    struct dw_tracks tracks;
    bool *named;                            /* of each frame: it was interned */
    uint32_t *counted;                      /* of each frame: 1 + the thread it has a counter in */
    struct dw_buffer packet, message, part; /* being built */
    struct dw_out text, notes;
    bool started;
    uint32_t thread;
    uint64_t slices; /* the track of its slices */
};

static void put_packet(struct perfetto *perfetto)
{
    uint8_t head[DW_PROTOBUF_HEAD_MAX];
    struct dw_buffer *packet = &perfetto->packet;
    dw_protobuf_put_number(packet, PACKET_SEQUENCE, THE_SEQUENCE);
    dw_protobuf_put_number(packet, PACKET_FLAGS, perfetto->started ? FLAG_NEEDS : FLAG_CLEARED);
    perfetto->started = true;
    dw_out_write(perfetto->out, head, dw_protobuf_head(head, TRACE_PACKET, packet->size));
    dw_out_write(perfetto->out, packet->data, packet->size);
    dw_buffer_clear(packet);
}

/* Puts the message that was built into the packet. */
static void put_message(struct perfetto *perfetto, uint32_t field)
{
    dw_protobuf_put_bytes(&perfetto->packet, field, perfetto->message.data, perfetto->message.size);
    dw_buffer_clear(&perfetto->message);
}

static void put_part(struct perfetto *perfetto, uint32_t field)
{
    dw_protobuf_put_bytes(&perfetto->message, field, perfetto->part.data, perfetto->part.size);
    dw_buffer_clear(&perfetto->part);
}

/* The text that was built, as a string of the message. */
static void put_text(struct perfetto *perfetto, struct dw_buffer *message, uint32_t field)
{
    struct dw_buffer *text = &perfetto->text.buffer;
    dw_protobuf_put_bytes(message, field, text->data, text->size);
    dw_buffer_clear(text);
}

/* The lines of a text, each as a string of the message. */
static void put_lines(const struct dw_buffer *text, struct dw_buffer *message, uint32_t field)
{
    const uint8_t *at = text->data, *end = text->size ? at + text->size : at, *newline;
    for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
        dw_protobuf_put_bytes(message, field, at, (size_t)(newline - at));
}

static uint64_t process_track(uint32_t process)
{
    return process + UINT64_C(1);
}

static uint64_t thread_track(const struct perfetto *perfetto, uint32_t thread)
{
    return perfetto->profile->process_count + thread + UINT64_C(1);
}

static uint64_t counter_track(const struct perfetto *perfetto, dw_frame_id frame)
{
    const struct dw_profile *profile = perfetto->profile;
    uint64_t first = profile->process_count + profile->thread_count + UINT64_C(1);
    return first + (uint64_t)perfetto->thread * profile->frames.count + frame;
}

static uint64_t sample_track(const struct perfetto *perfetto, uint32_t thread)
{
    const struct dw_profile *profile = perfetto->profile;
    uint64_t counters = (uint64_t)profile->thread_count * profile->frames.count;
    return dw_thread_needs_two_tracks(&profile->threads[thread])
               ? thread_track(perfetto, profile->thread_count) + counters + thread
               : thread_track(perfetto, thread);
}

static void put_process(struct perfetto *perfetto, uint32_t process)
{
    dw_protobuf_put_number(&perfetto->message, TRACK_ID, process_track(process));
    dw_protobuf_put_number(&perfetto->part, PROCESS_PID, perfetto->tracks.pids[process]);
    dw_roster_put_process(&perfetto->text, perfetto->profile, process);
    put_text(perfetto, &perfetto->part, PROCESS_NAME);
    put_lines(&perfetto->notes.buffer, &perfetto->part, PROCESS_LABEL);
    put_part(perfetto, TRACK_PROCESS);
    put_message(perfetto, PACKET_TRACK);
    put_packet(perfetto);
}

static void put_thread_track(struct perfetto *perfetto, uint32_t thread)
{
    uint32_t process = perfetto->profile->threads[thread].process;
    dw_protobuf_put_number(&perfetto->message, TRACK_ID, thread_track(perfetto, thread));
    dw_protobuf_put_number(&perfetto->message, TRACK_PARENT, process_track(process));
    dw_protobuf_put_number(&perfetto->part, THREAD_PID, perfetto->tracks.pids[process]);
    dw_protobuf_put_number(&perfetto->part, THREAD_TID, perfetto->tracks.tids[thread]);
    dw_roster_put_thread(&perfetto->text, perfetto->profile, thread);
    put_text(perfetto, &perfetto->part, THREAD_NAME);
    put_part(perfetto, TRACK_THREAD);
    put_message(perfetto, PACKET_TRACK);
    put_packet(perfetto);
}

static void put_sample_track(struct perfetto *perfetto, uint32_t thread)
{
    dw_protobuf_put_number(&perfetto->message, TRACK_ID, sample_track(perfetto, thread));
    dw_protobuf_put_number(&perfetto->message, TRACK_PARENT, thread_track(perfetto, thread));
    dw_roster_put_thread(&perfetto->text, perfetto->profile, thread);
    dw_out_text(&perfetto->text, DW_SAMPLE_TRACK);
    put_text(perfetto, &perfetto->message, TRACK_NAME);
    put_message(perfetto, PACKET_TRACK);
    put_packet(perfetto);
}

static void spell_name(struct perfetto *perfetto, dw_frame_id frame)
{
    const struct dw_profile *profile = perfetto->profile;
    struct dw_string name = dw_profile_string(profile, profile->frames.frames[frame].name);
    dw_out_printable(&perfetto->text, name.bytes, name.size);
}

static void put_counter_track(struct perfetto *perfetto, dw_frame_id frame)
{
    if (perfetto->counted[frame] == perfetto->thread + 1)
        return;
    perfetto->counted[frame] = perfetto->thread + 1;
    dw_protobuf_put_number(&perfetto->message, TRACK_ID, counter_track(perfetto, frame));
    dw_protobuf_put_number(&perfetto->message, TRACK_PARENT,
                           thread_track(perfetto, perfetto->thread));
    spell_name(perfetto, frame);
    put_text(perfetto, &perfetto->message, TRACK_NAME);
    put_part(perfetto, TRACK_COUNTER);
    put_message(perfetto, PACKET_TRACK);
    put_packet(perfetto);
}

/* The packet that needs a name first brings it along. */
static void intern(struct perfetto *perfetto, dw_frame_id frame)
{
    if (perfetto->named[frame])
        return;
    perfetto->named[frame] = true;
    dw_protobuf_put_number(&perfetto->part, NAME_ID, frame + UINT64_C(1));
    spell_name(perfetto, frame);
    put_text(perfetto, &perfetto->part, NAME_TEXT);
    put_part(perfetto, INTERNED_NAMES);
    put_message(perfetto, PACKET_INTERNED);
}

/* One string of a label, in the annotation that is built. */
static void put_word(struct perfetto *perfetto, uint32_t field, dw_string_id id)
{
    struct dw_string word = dw_profile_string(perfetto->profile, id);
    dw_out_printable(&perfetto->text, word.bytes, word.size);
    put_text(perfetto, &perfetto->part, field);
}

static void put_labels(struct perfetto *perfetto, dw_labels_id labels)
{
    const struct dw_label_table *table = &perfetto->profile->labels;
    const struct dw_label_set *set = &table->sets[labels];
    for (uint32_t i = 0; i < set->count; i++) {
        put_word(perfetto, NOTE_NAME, table->pairs[set->first + i].key);
        put_word(perfetto, NOTE_STRING, table->pairs[set->first + i].value);
        put_part(perfetto, EVENT_NOTE);
    }
}

static void put_event(struct perfetto *perfetto, uint32_t type, dw_frame_id frame,
                      dw_labels_id labels, uint64_t time_ns, int64_t value)
{
    bool is_counter = type == TYPE_COUNTER;
    if (is_counter)
        put_counter_track(perfetto, frame);
    dw_protobuf_put_number(&perfetto->packet, PACKET_TIME_NS, time_ns);
    if (type == TYPE_BEGIN || type == TYPE_INSTANT)
        intern(perfetto, frame);
    struct dw_buffer *message = &perfetto->message;
    if (type == TYPE_BEGIN)
        put_labels(perfetto, labels);
    dw_protobuf_put_number(message, EVENT_TYPE, type);
    if (type == TYPE_BEGIN || type == TYPE_INSTANT)
        dw_protobuf_put_number(message, EVENT_NAME_ID, frame + UINT64_C(1));
    dw_protobuf_put_number(message, EVENT_TRACK,
                           is_counter ? counter_track(perfetto, frame) : perfetto->slices);
    if (is_counter)
        dw_protobuf_put_number(message, EVENT_VALUE, (uint64_t)value);
    put_message(perfetto, PACKET_EVENT);
    put_packet(perfetto);
}

static void put_step(void *context, const struct dw_step *step)
{
    static const uint32_t types[] = {[DW_STEP_OPEN] = TYPE_BEGIN,
                                     [DW_STEP_CLOSE] = TYPE_END,
                                     [DW_STEP_INSTANT] = TYPE_INSTANT,
                                     [DW_STEP_COUNTER] = TYPE_COUNTER};
    struct perfetto *perfetto = context;
    put_event(perfetto, types[step->kind], perfetto->profile->functions.paths[step->path].step,
              DW_LABELS_NONE, step->time_ns, step->value);
}

static void put_slice(void *context, bool opens, dw_frame_id frame, dw_labels_id labels,
                      uint64_t time_ns)
{
    put_event(context, opens ? TYPE_BEGIN : TYPE_END, frame, labels, time_ns, 0);
}

static void put_tracks(struct perfetto *perfetto)
{
    const struct dw_profile *profile = perfetto->profile;
    for (uint32_t i = 0; i < profile->process_count; i++)
        put_process(perfetto, i);
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        put_thread_track(perfetto, perfetto->tracks.order[i]);
        if (dw_thread_needs_two_tracks(&profile->threads[perfetto->tracks.order[i]]))
            put_sample_track(perfetto, perfetto->tracks.order[i]);
    }
}

static void begin_track(void *context, uint32_t thread, bool is_of_samples)
{
    struct perfetto *perfetto = context;
    perfetto->thread = thread;
    perfetto->slices =
        is_of_samples ? sample_track(perfetto, thread) : thread_track(perfetto, thread);
}

static int perfetto_init(struct perfetto *perfetto, const struct dw_lens_options *options)
{
    const struct dw_profile *profile = perfetto->profile;
    int error = dw_tracks_init(&perfetto->tracks, profile, options);
    DW_ROOM_GET(&perfetto->tracks.room, perfetto->named, profile->frames.count);
    DW_ROOM_GET(&perfetto->tracks.room, perfetto->counted, profile->frames.count);
    dw_out_init_memory(&perfetto->text);
    dw_out_init_memory(&perfetto->notes);
    dw_notes_put_sampling(&perfetto->notes, profile, "");
    return error ? error : dw_room_error(&perfetto->tracks.room);
}

static int perfetto_release(struct perfetto *perfetto)
{
    bool failed = perfetto->packet.failed || perfetto->message.failed || perfetto->part.failed;
    int error = dw_out_close(&perfetto->text);
    error = dw_out_close(&perfetto->notes) ? DW_ERR_MEMORY : error;
    dw_tracks_release(&perfetto->tracks);
    dw_buffer_release(&perfetto->packet);
    dw_buffer_release(&perfetto->message);
    dw_buffer_release(&perfetto->part);
    return failed ? DW_ERR_MEMORY : error;
}

static int write_perfetto(const struct dw_profile *profile, const struct dw_lens_options *options,
                          struct dw_out *out)
{
    struct perfetto perfetto = {.profile = profile, .out = out};
    const struct dw_track_visitor visitor = {begin_track, put_slice, put_step, &perfetto};
    int error = perfetto_init(&perfetto, options);
    if (!error) {
        put_tracks(&perfetto);
        error = dw_tracks_walk(&perfetto.tracks, &visitor, out);
    }
    int late = perfetto_release(&perfetto);
    return error ? error : late;
}

const struct dw_lens dw_lens_perfetto = {
    .name = "perfetto",
    .summary = "the timeline for ui.perfetto.dev, as protobuf: for large ones",
    .extension = ".pftrace",
    .needs_events = true,
    .shows_both = true,
    .binary = true,
    .write = write_perfetto,
};
