/* SPDX-License-Identifier: MIT
 * What `pprof` and the servers for profiles read: perftools.profiles.Profile, in gzip. A
 * sample is a path of a thread with its calls and its own time, so that sums over samples
 * come out right. Samples are written as they come; the tables they refer to follow. */
#include "base/error.h"
#include "base/gzip.h"
#include "base/protobuf.h"
#include "lens/lens.h"
#include "lens/notes.h"
#include "lens/roster.h"
#include "lens/row.h"

#include <stdlib.h>

/* Fields of the messages, by number. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_TYPE
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum {
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES,
    MAPPING_HAS_LINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4, FUNCTION_LINE };

#define THE_MAPPING 1

struct writing {
    const struct dw_profile *profile;
    struct dw_gzip gzip;
    struct dw_rows rows; /* by thread */
    struct dw_string_table strings;
    bool *used;                     /* each frame, and one more that stands for frames cut out */
    struct dw_buffer message, part; /* being built */
    struct dw_buffer labels;        /* of the samples of this thread */
    struct dw_out text;             /* of a string, while it is looked up */
    int error;
};

static void put_field(struct writing *writing, uint32_t field, const void *bytes, size_t size)
{
    uint8_t head[DW_PROTOBUF_HEAD_MAX];
    dw_gzip_write(&writing->gzip, head, dw_protobuf_head(head, field, size));
    dw_gzip_write(&writing->gzip, bytes, size);
}

/* Writes the message that was built, and makes room for the next. */
static void put_message(struct writing *writing, uint32_t field)
{
    put_field(writing, field, writing->message.data, writing->message.size);
    dw_buffer_clear(&writing->message);
}

/* Numbers are signed there. */
static uint64_t number_of(uint64_t value)
{
    return value < INT64_MAX ? value : INT64_MAX;
}

static uint64_t text_id(struct writing *writing)
{
    dw_string_id id = 0;
    int error = dw_string_intern(&writing->strings, writing->text.buffer.data,
                                 writing->text.buffer.size, &id);
    dw_buffer_clear(&writing->text.buffer);
    if (error)
        writing->error = error;
    return id;
}

/* Strings must be UTF-8, and are shown on a line. */
static uint64_t string_id(struct writing *writing, struct dw_string string)
{
    dw_out_printable(&writing->text, string.bytes, string.size);
    return text_id(writing);
}

static uint64_t literal_id(struct writing *writing, const char *text)
{
    return string_id(writing, (struct dw_string){text, strlen(text)});
}

static void put_type(struct writing *writing, uint32_t field, const char *name, const char *unit)
{
    dw_protobuf_put_number(&writing->message, TYPE_NAME, literal_id(writing, name));
    dw_protobuf_put_number(&writing->message, TYPE_UNIT, literal_id(writing, unit));
    put_message(writing, field);
}

static uint64_t location_of(struct writing *writing, uint32_t frame)
{
    writing->used[frame] = true;
    return frame + UINT64_C(1);
}

static void put_stack(struct writing *writing, dw_path_id path)
{
    const struct dw_profile *profile = writing->profile;
    struct dw_spelling spelling;
    dw_speller_spell(&writing->rows.speller, path, DW_SPELL_MAX, &spelling);
    dw_buffer_clear(&writing->part);
    for (uint32_t i = spelling.count; i-- > 0;) {
        uint32_t frame = profile->paths.paths[spelling.paths[i]].frame;
        dw_buffer_put(&writing->part, location_of(writing, frame));
        if (spelling.cut && i == spelling.cut_at)
            dw_buffer_put(&writing->part, location_of(writing, profile->frames.count));
    }
    dw_buffer_put(&writing->part, location_of(writing, profile->paths.paths[DW_PATH_ROOT].frame));
    dw_protobuf_put_bytes(&writing->message, SAMPLE_LOCATIONS, writing->part.data,
                          writing->part.size);
}

/* Nobody calls the root. */
static uint64_t calls_of(const struct dw_row *row)
{
    return row->path == DW_PATH_ROOT ? 0 : row->metric.count + row->metric.open;
}

static void put_sample(struct writing *writing, const struct dw_row *row)
{
    put_stack(writing, row->path);
    dw_buffer_clear(&writing->part);
    dw_buffer_put(&writing->part, number_of(calls_of(row)));
    dw_buffer_put(&writing->part, number_of(row->self));
    dw_protobuf_put_bytes(&writing->message, SAMPLE_VALUES, writing->part.data, writing->part.size);
    dw_buffer_append(&writing->message, writing->labels.data, writing->labels.size);
    put_message(writing, PROFILE_SAMPLE);
}

static void add_label(struct writing *writing, const char *key, uint32_t field, uint64_t value)
{
    dw_buffer_clear(&writing->part);
    dw_protobuf_put_number(&writing->part, LABEL_KEY, literal_id(writing, key));
    dw_protobuf_put_number(&writing->part, field, value);
    dw_protobuf_put_bytes(&writing->labels, SAMPLE_LABEL, writing->part.data, writing->part.size);
}

static void label_thread(struct writing *writing, uint32_t index)
{
    const struct dw_profile *profile = writing->profile;
    const struct dw_thread *thread = &profile->threads[index];
    struct dw_string host = dw_profile_property(profile, thread->process, "host");
    struct dw_string name = dw_profile_string(profile, thread->name);
    dw_buffer_clear(&writing->labels);
    if (name.size)
        add_label(writing, "thread", LABEL_TEXT, string_id(writing, name));
    add_label(writing, "thread id", LABEL_NUMBER, number_of(thread->tid));
    if (profile->process_count < 2)
        return;
    add_label(writing, "process id", LABEL_NUMBER,
              number_of(profile->processes[thread->process].pid));
    if (host.size)
        add_label(writing, "host", LABEL_TEXT, string_id(writing, host));
}

static void put_samples(struct writing *writing)
{
    for (uint32_t i = 0; i < writing->rows.count && !writing->gzip.out->error; i++) {
        const struct dw_row *row = &writing->rows.rows[i];
        if (row->parent == DW_ROW_NONE && row->thread != DW_ROW_NONE)
            label_thread(writing, row->thread);
        if (row->self || calls_of(row))
            put_sample(writing, row);
    }
}

/* The name that it was given alone: pprof takes a system's name for one of C++, and would
 * strip "<module>" of its brackets and all between. */
static void put_function(struct writing *writing, uint32_t index)
{
    const struct dw_profile *profile = writing->profile;
    bool is_cut = index == profile->frames.count;
    const struct dw_frame *frame = &profile->frames.frames[is_cut ? 0 : index];
    uint64_t name = is_cut ? literal_id(writing, "[…]")
                           : string_id(writing, dw_profile_string(profile, frame->name));
    uint64_t file = is_cut ? 0 : string_id(writing, dw_profile_string(profile, frame->file));
    dw_protobuf_put_number(&writing->message, FUNCTION_ID, index + UINT64_C(1));
    dw_protobuf_put_number(&writing->message, FUNCTION_NAME, name);
    dw_protobuf_put_number(&writing->message, FUNCTION_FILE, file);
    dw_protobuf_put_number(&writing->message, FUNCTION_LINE, is_cut ? 0 : frame->line);
    put_message(writing, PROFILE_FUNCTION);
}

static void put_location(struct writing *writing, uint32_t index)
{
    const struct dw_profile *profile = writing->profile;
    bool is_cut = index == profile->frames.count;
    dw_buffer_clear(&writing->part);
    dw_protobuf_put_number(&writing->part, LINE_FUNCTION, index + UINT64_C(1));
    dw_protobuf_put_number(&writing->part, LINE_NUMBER,
                           is_cut ? 0 : profile->frames.frames[index].line);
    dw_protobuf_put_number(&writing->message, LOCATION_ID, index + UINT64_C(1));
    dw_protobuf_put_number(&writing->message, LOCATION_MAPPING, THE_MAPPING);
    dw_protobuf_put_bytes(&writing->message, LOCATION_LINE, writing->part.data, writing->part.size);
    put_message(writing, PROFILE_LOCATION);
}

static void put_places(struct writing *writing)
{
    for (uint32_t i = 0; i <= writing->profile->frames.count; i++) {
        if (!writing->used[i])
            continue;
        put_function(writing, i);
        put_location(writing, i);
    }
}

/* Says that there is nothing to be looked up in the program's file. */
static void put_mapping(struct writing *writing)
{
    if (writing->profile->process_count)
        dw_roster_put_process(&writing->text, writing->profile, 0);
    struct dw_buffer *message = &writing->message;
    dw_protobuf_put_number(message, MAPPING_ID, THE_MAPPING);
    dw_protobuf_put_number(message, MAPPING_FILE, text_id(writing));
    dw_protobuf_put_number(message, MAPPING_HAS_FUNCTIONS, true);
    dw_protobuf_put_number(message, MAPPING_HAS_FILES, true);
    dw_protobuf_put_number(message, MAPPING_HAS_LINES, true);
    put_message(writing, PROFILE_MAPPING);
}

/* Adds the text's lines to the ids of comments in `message`. */
static void add_comments(struct writing *writing, const struct dw_out *lines)
{
    const char *at = (const char *)lines->buffer.data, *end = at + lines->buffer.size, *newline;
    for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
        struct dw_string line = {at, (size_t)(newline - at)};
        dw_protobuf_put_number(&writing->message, PROFILE_COMMENT, string_id(writing, line));
    }
}

static void put_properties(struct dw_out *lines, const struct dw_profile *profile, uint32_t process)
{
    static const char *const keys[] = {"argv", "host", "python"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct dw_string value = dw_profile_property(profile, process, keys[i]);
        if (!value.size)
            continue;
        dw_out_printf(lines, "%s: ", keys[i]);
        dw_out_printable(lines, value.bytes, value.size);
        dw_out_char(lines, '\n');
    }
}

static void put_comments(struct writing *writing)
{
    const struct dw_profile *profile = writing->profile;
    struct dw_out lines;
    dw_out_init_memory(&lines);
    dw_out_text(&lines, "dwell " DW_VERSION "\n");
    for (uint32_t i = 0; i < profile->process_count; i++)
        put_properties(&lines, profile, i);
    dw_notes_put_losses(&lines, profile, "");
    add_comments(writing, &lines);
    int error = dw_out_close(&lines);
    if (error)
        writing->error = error;
}

static uint64_t duration_ns(const struct dw_profile *profile)
{
    uint64_t start = dw_roster_epoch_ns(profile), end = start;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct dw_process *process = &profile->processes[i];
        uint64_t last = process->first_clock.wall_ns + dw_process_duration_ns(process);
        end = last > end ? last : end;
    }
    return end - start;
}

/* The plain fields of the profile itself. */
static void put_facts(struct writing *writing)
{
    struct dw_buffer *message = &writing->message;
    uint64_t start = dw_roster_epoch_ns(writing->profile);
    dw_protobuf_put_number(message, PROFILE_TIME_NS, number_of(start));
    dw_protobuf_put_number(message, PROFILE_DURATION_NS, number_of(duration_ns(writing->profile)));
    dw_protobuf_put_number(message, PROFILE_PERIOD, 1);
    dw_protobuf_put_number(message, PROFILE_DEFAULT_TYPE, literal_id(writing, "time"));
    put_comments(writing);
    dw_gzip_write(&writing->gzip, message->data, message->size);
    dw_buffer_clear(message);
}

static void put_profile(struct writing *writing)
{
    put_type(writing, PROFILE_SAMPLE_TYPE, "calls", "count");
    put_type(writing, PROFILE_SAMPLE_TYPE, "time", "nanoseconds");
    put_type(writing, PROFILE_PERIOD_TYPE, "time", "nanoseconds");
    put_facts(writing);
    put_mapping(writing);
    put_samples(writing);
    put_places(writing);
    for (uint32_t i = 0; i < writing->strings.count; i++)
        put_field(writing, PROFILE_STRING, writing->strings.strings[i].bytes,
                  writing->strings.strings[i].size);
}

static int writing_init(struct writing *writing)
{
    dw_out_init_memory(&writing->text);
    writing->used = calloc(writing->profile->frames.count + 1u, sizeof *writing->used);
    int error = dw_string_table_init(&writing->strings);
    if (!error && !writing->used)
        error = DW_ERR_MEMORY;
    return error ? error
                 : dw_rows_make(writing->profile, &(struct dw_lens_options){.by = DW_BY_THREAD},
                                &writing->rows);
}

static int writing_release(struct writing *writing)
{
    bool failed = writing->message.failed || writing->part.failed || writing->labels.failed;
    int error = dw_out_close(&writing->text);
    free(writing->used);
    dw_string_table_release(&writing->strings);
    dw_rows_release(&writing->rows);
    dw_buffer_release(&writing->message);
    dw_buffer_release(&writing->part);
    dw_buffer_release(&writing->labels);
    if (writing->error)
        return writing->error;
    return failed ? DW_ERR_MEMORY : error;
}

static int write_pprof(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    (void)options;
    struct writing writing = {.profile = profile};
    int error = writing_init(&writing);
    if (!error)
        error = dw_gzip_init(&writing.gzip, out);
    if (!error) {
        put_profile(&writing);
        dw_gzip_close(&writing.gzip);
    }
    int late = writing_release(&writing);
    return error ? error : late;
}

const struct dw_lens dw_lens_pprof = {
    .name = "pprof",
    .summary = "calls and self times of all paths, for pprof, Pyroscope, Parca",
    .extension = ".pb.gz",
    .binary = true,
    .shows_places = true,
    .write = write_pprof,
};
