/* SPDX-License-Identifier: MIT
 * For profiler.firefox.com: its processed profile format, version 60, in which all threads share
 * the tables of stacks, frames and functions. These have the numbers of our paths, places and
 * frames. What was spent on a path itself is one sample that weighs so much; samples that have
 * their times come in order. The page reads older versions than its own. */
#include "base/room.h"
#include "lens/view/notes.h"
#include "lens/view/own_times.h"
#include "lens/view/place_spots.h"
#include "lens/view/roster.h"

#include <inttypes.h>

struct firefox {
    const struct dw_profile *profile;
    struct dw_out *out;
    enum dw_family family;
    struct dw_own_times own;
    uint64_t epoch_ns;
    const struct dw_thread *thread; /* whose samples are put; in order when `is_timed` */
    bool is_timed, is_counted;
    uint64_t now_ns;                   /* since the epoch: of the last sample */
    dw_string_id *file_of;             /* of each function: its source, else its module */
    uint32_t *text_of;                 /* of each string: 1 + its number here; 0: not used */
    dw_string_id *texts;               /* of each number: the string */
    uint32_t text_count, source_count; /* sources come first */
    struct dw_room room;
};

/* A column of a table: what puts a cell, or the same in each. */
struct column {
    const char *name;
    void (*put)(struct firefox *firefox, uint32_t row);
    const char *same;
};

static void put_column(struct firefox *firefox, const struct column *column, uint32_t count)
{
    dw_out_printf(firefox->out, "\"%s\":[", column->name);
    for (uint32_t i = 0; i < count && !firefox->out->error; i++) {
        dw_out_text(firefox->out, i ? "," : "");
        if (column->put)
            column->put(firefox, i);
        else
            dw_out_text(firefox->out, column->same);
    }
    dw_out_text(firefox->out, "],");
}

static void put_table(struct firefox *firefox, const struct column *columns, size_t column_count,
                      uint32_t count)
{
    for (size_t i = 0; i < column_count; i++)
        put_column(firefox, &columns[i], count);
    dw_out_printf(firefox->out, "\"length\":%" PRIu32 "}", count);
}
#define PUT_TABLE(firefox, columns, count)                                                         \
    put_table(firefox, columns, sizeof(columns) / sizeof *(columns), count)

static void put_or_null(struct dw_out *out, uint32_t number)
{
    if (number)
        dw_out_u64(out, number);
    else
        dw_out_text(out, "null");
}

static void put_ms(struct dw_out *out, uint64_t ns)
{
    dw_out_printf(out, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

static void use_text(struct firefox *firefox, dw_string_id string)
{
    if (firefox->text_of[string])
        return;
    firefox->texts[firefox->text_count++] = string;
    firefox->text_of[string] = firefox->text_count;
}

static void use_texts(struct firefox *firefox)
{
    const struct dw_profile *profile = firefox->profile;
    const struct dw_frame *frames = profile->frames.frames;
    for (uint32_t i = 0; i < profile->places.count; i++) {
        const struct dw_place *place = &profile->places.places[i];
        dw_string_id *file = &firefox->file_of[place->frame];
        if (!*file && !frames[place->frame].file && place->module)
            *file = dw_place_module_name(profile, place);
    }
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        if (frames[i].file)
            firefox->file_of[i] = frames[i].file;
        if (firefox->file_of[i])
            use_text(firefox, firefox->file_of[i]);
    }
    firefox->source_count = firefox->text_count;
    for (uint32_t i = 0; i < profile->frames.count; i++)
        use_text(firefox, frames[i].name);
}

static void put_text(struct firefox *firefox, uint32_t number)
{
    struct dw_string text = dw_profile_string(firefox->profile, firefox->texts[number]);
    dw_out_json_string(firefox->out, text.bytes, text.size);
}

static void put_number(struct firefox *firefox, uint32_t row)
{
    dw_out_u64(firefox->out, row);
}

static void put_stack_frame(struct firefox *firefox, uint32_t path)
{
    dw_out_u64(firefox->out, firefox->profile->paths.paths[path].step);
}

/* Calls and regions are under the root, which has time of its own. */
static void put_prefix(struct firefox *firefox, uint32_t path)
{
    dw_path_id parent = firefox->profile->paths.paths[path].parent;
    if (path == DW_PATH_ROOT || (!parent && firefox->family == DW_FAMILY_SAMPLES))
        dw_out_text(firefox->out, "null");
    else
        dw_out_u64(firefox->out, parent);
}

/* In the list of the head. */
static void put_category(struct firefox *firefox, uint32_t place)
{
    switch (dw_place_frame(firefox->profile, &firefox->profile->places.places[place])->kind) {
    case DW_FRAME_FUNCTION: dw_out_text(firefox->out, "1"); break;
    case DW_FRAME_BUILTIN:
    case DW_FRAME_NATIVE: dw_out_text(firefox->out, "2"); break;
    case DW_FRAME_REGION: dw_out_text(firefox->out, "3"); break;
    default: dw_out_text(firefox->out, "0");
    }
}

static void put_function(struct firefox *firefox, uint32_t place)
{
    dw_out_u64(firefox->out, firefox->profile->places.places[place].frame);
}

static void put_line(struct firefox *firefox, uint32_t place)
{
    put_or_null(firefox->out,
                dw_place_line(firefox->profile, &firefox->profile->places.places[place]));
}

static void put_name(struct firefox *firefox, uint32_t frame)
{
    dw_string_id name = firefox->profile->frames.frames[frame].name;
    dw_out_u64(firefox->out, firefox->text_of[name] - 1);
}

static void put_source(struct firefox *firefox, uint32_t frame)
{
    dw_string_id file = firefox->file_of[frame];
    if (file)
        dw_out_u64(firefox->out, firefox->text_of[file] - 1);
    else
        dw_out_text(firefox->out, "null");
}

static void put_first_line(struct firefox *firefox, uint32_t frame)
{
    put_or_null(firefox->out, firefox->profile->frames.frames[frame].line);
}

static const struct column stack_columns[] = {{"frame", put_stack_frame, NULL},
                                              {"prefix", put_prefix, NULL}};
static const struct column frame_columns[] = {
    {"address", NULL, "-1"},         {"inlineDepth", NULL, "0"},   {"category", put_category, NULL},
    {"subcategory", NULL, "0"},      {"func", put_function, NULL}, {"nativeSymbol", NULL, "null"},
    {"innerWindowID", NULL, "null"}, {"line", put_line, NULL},     {"column", NULL, "null"}};
static const struct column function_columns[] = {
    {"name", put_name, NULL},         {"isJS", NULL, "false"},
    {"relevantForJS", NULL, "false"}, {"resource", NULL, "-1"},
    {"source", put_source, NULL},     {"lineNumber", put_first_line, NULL},
    {"columnNumber", NULL, "null"}};
static const struct column source_columns[] = {{"uuid", NULL, "null"},
                                               {"filename", put_number, NULL}};

static void put_tables(struct firefox *firefox)
{
    dw_out_text(firefox->out, "\n\"stackTable\":{");
    PUT_TABLE(firefox, stack_columns, firefox->profile->paths.count);
    dw_out_text(firefox->out, ",\n\"frameTable\":{");
    PUT_TABLE(firefox, frame_columns, firefox->profile->places.count);
    dw_out_text(firefox->out, ",\n\"funcTable\":{");
    PUT_TABLE(firefox, function_columns, firefox->profile->frames.count);
    dw_out_text(firefox->out,
                ",\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0}"
                ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                "\"functionSize\":[],\"length\":0},\n");
    put_column(firefox, &(struct column){"stringArray", put_text, NULL}, firefox->text_count);
    dw_out_text(firefox->out, "\n\"sources\":{");
    PUT_TABLE(firefox, source_columns, firefox->source_count);
}

static uint64_t weight_of(const struct firefox *firefox, uint32_t sample)
{
    return firefox->is_timed ? firefox->thread->timed[sample].weight_ns
                             : firefox->own.items[sample].self;
}

static void put_stack(struct firefox *firefox, uint32_t sample)
{
    dw_out_u64(firefox->out, firefox->is_timed ? firefox->thread->timed[sample].path
                                               : firefox->own.items[sample].path);
}

static void put_weight(struct firefox *firefox, uint32_t sample)
{
    if (firefox->is_counted)
        dw_out_u64(firefox->out, weight_of(firefox, sample));
    else
        put_ms(firefox->out, weight_of(firefox, sample));
}

/* Without times, one sample begins when the one before it is over. Where a thread waited may be
 * known before where it ran; its times must not go back. */
static void put_time(struct firefox *firefox, uint32_t sample)
{
    uint64_t time_ns = firefox->is_timed ? firefox->thread->timed[sample].time_ns : 0;
    time_ns = time_ns > firefox->epoch_ns ? time_ns - firefox->epoch_ns : 0;
    firefox->now_ns = time_ns > firefox->now_ns ? time_ns : firefox->now_ns;
    put_ms(firefox->out, firefox->now_ns);
    firefox->now_ns += firefox->is_timed ? 0 : weight_of(firefox, sample);
}

static const struct column sample_columns[] = {
    {"stack", put_stack, NULL}, {"weight", put_weight, NULL}, {"time", put_time, NULL}};

static void put_samples(struct firefox *firefox)
{
    uint32_t count = firefox->is_timed ? firefox->thread->timed_count : firefox->own.count;
    dw_out_printf(firefox->out, ",\n\"samples\":{\"weightType\":\"%s\",",
                  firefox->is_counted ? "samples" : "tracing-ms");
    firefox->now_ns = 0;
    PUT_TABLE(firefox, sample_columns, count);
}

static void put_quoted(struct firefox *firefox, const char *name,
                       void (*put)(struct dw_out *, const struct dw_profile *, uint32_t),
                       uint32_t index)
{
    struct dw_out text;
    dw_out_init_memory(&text);
    put(&text, firefox->profile, index);
    dw_out_text(firefox->out, name);
    dw_out_json_string(firefox->out, text.buffer.data, text.buffer.size);
    dw_out_close_into(&text, firefox->out);
}

static void put_thread(struct firefox *firefox, bool is_first)
{
    uint32_t index = firefox->own.thread;
    const struct dw_thread *thread = &firefox->profile->threads[index];
    firefox->thread = thread;
    firefox->is_timed = firefox->family == DW_FAMILY_SAMPLES && thread->timed_count;
    dw_out_text(firefox->out, is_first ? "\n" : ",\n");
    put_quoted(firefox, "{\"processType\":\"default\",\"processName\":", dw_roster_put_process,
               thread->process);
    put_quoted(firefox, ",\"name\":", dw_roster_put_thread, index);
    dw_out_printf(firefox->out,
                  ",\"isMainThread\":%s,\"pid\":\"%" PRIu64 "\",\"tid\":%" PRIu64
                  ",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
                  "\"unregisterTime\":null,\"pausedRanges\":[],\"markers\":{\"data\":[],"
                  "\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],"
                  "\"length\":0}",
                  firefox->own.is_first ? "true" : "false",
                  firefox->profile->processes[thread->process].pid, thread->tid);
    put_samples(firefox);
    dw_out_char(firefox->out, '}');
}

static void put_head(struct firefox *firefox)
{
    const struct dw_profile *profile = firefox->profile;
    uint64_t period_ns = profile->process_count ? profile->processes[0].sampling.period_ns : 0;
    dw_out_text(firefox->out, "{\"meta\":{\"interval\":");
    put_ms(firefox->out, period_ns ? period_ns : 1000000);
    dw_out_text(firefox->out, ",\"startTime\":");
    put_ms(firefox->out, firefox->epoch_ns);
    dw_out_text(firefox->out,
                ",\"processType\":0,\"product\":\"dwell\",\"importedFrom\":\"dwell " DW_VERSION
                "\",\"stackwalk\":1,\"version\":31,\"preprocessedProfileVersion\":60,"
                "\"symbolicated\":true,\"markerSchema\":[],\"categories\":["
                "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
                "{\"name\":\"Python\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
                "{\"name\":\"Native\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
                "{\"name\":\"Region\",\"color\":\"green\",\"subcategories\":[\"Other\"]}],"
                "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
                "\"keepProfileThreadOrder\":true");
    if (firefox->family == DW_FAMILY_SAMPLES) {
        dw_out_text(firefox->out, ",\"extra\":[{\"label\":\"dwell\",\"entries\":[{\"label\":"
                                  "\"Samples\",\"format\":\"string\",\"value\":");
        dw_notes_put_json_text(firefox->out, profile);
        dw_out_text(firefox->out, "}]}]");
    }
    dw_out_text(firefox->out, "},\"libs\":[],\"shared\":{");
}

static int write_firefox(const struct dw_profile *profile, const struct dw_lens_options *options,
                         struct dw_out *out)
{
    struct firefox firefox = {.profile = profile,
                              .out = out,
                              .family = dw_family_choose(profile, options->family),
                              .epoch_ns = dw_roster_epoch_ns(profile)};
    firefox.is_counted = dw_family_is_counted(profile, firefox.family);
    int error = dw_own_times_init(&firefox.own, profile, firefox.family);
    DW_ROOM_GET(&firefox.room, firefox.file_of, profile->frames.count);
    DW_ROOM_GET(&firefox.room, firefox.text_of, profile->strings.count);
    DW_ROOM_GET(&firefox.room, firefox.texts, profile->strings.count);
    error = error ? error : dw_room_error(&firefox.room);
    if (!error) {
        use_texts(&firefox);
        put_head(&firefox);
        put_tables(&firefox);
        dw_out_text(out, "},\n\"threads\":[");
        for (bool is_first = true; dw_own_times_next(&firefox.own); is_first = false)
            put_thread(&firefox, is_first);
        dw_out_text(out, "]}\n");
        error = firefox.own.error;
    }
    dw_room_release(&firefox.room);
    dw_own_times_release(&firefox.own);
    return error;
}

const struct dw_lens dw_lens_firefox = {
    .name = "firefox",
    .summary = "for profiler.firefox.com: samples, in order when they have times, or self times",
    .extension = ".firefox.json",
    .needs_events = true,
    .shows_places = true,
    .write = write_firefox,
};
