/* SPDX-License-Identifier: MIT
 * Profiles in pprof's format, profile.proto: of time or of numbers of samples, with lines,
 * inlined functions, mappings and labels. Those that dwell wrote say in labels what threads did,
 * and in comments how samples were taken. */
#include "import/foreign.h"

#include "base/error.h"
#include "base/protobuf.h"
#include "import/pprof_mappings.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX (1u << 16)
#define NONE UINT32_MAX

/* Which of a sample's values are which. */
struct choice {
    uint32_t count, weight; /* NONE: there is no such value */
    uint64_t unit_ns;       /* of the weight */
    enum dw_sample_mode mode;
};

struct reading {
    struct dw_foreign *foreign;
    struct dw_pprof_tables tables;
    struct dw_pprof_mappings mappings;
    struct choice choice;
    uint64_t period_ns;
    dw_place_id *places; /* of locations; 0: not made yet */
};

/* A message that has strings, of which the first is empty, and says what its samples are. */
bool dw_pprof_is(struct dw_string bytes)
{
    struct dw_cursor cursor = {(const uint8_t *)bytes.bytes,
                               (const uint8_t *)bytes.bytes + bytes.size, false};
    struct dw_protobuf_field field;
    uint64_t strings = 0, types = 0;
    while (dw_protobuf_next(&cursor, &field)) {
        bool is_message = field.number <= DW_PPROF_STRING;
        if (is_message && !field.bytes)
            return false;
        types += field.number == DW_PPROF_SAMPLE_TYPE;
        if (field.number == DW_PPROF_STRING && !strings++ && field.size)
            return false;
    }
    return !cursor.bad && strings && types;
}

/* 0: not a unit of time. */
static uint64_t ns_of_unit(struct dw_string unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"nanoseconds", 1},
                 {"microseconds", 1000},
                 {"milliseconds", 1000000},
                 {"seconds", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (dw_text_is(unit, units[i].name))
            return units[i].ns;
    return 0;
}

static struct dw_string type_text(const struct dw_pprof_tables *tables, uint32_t type,
                                  uint32_t field)
{
    return dw_pprof_string_at(tables, tables->types.entries[type].fields[field]);
}

/* The time that the file shows unless told otherwise, else the last one. */
static uint32_t choose_weight(const struct dw_pprof_tables *tables)
{
    uint32_t chosen = NONE;
    uint64_t shown = tables->fields[DW_PPROF_DEFAULT_TYPE];
    for (uint32_t i = 0; i < tables->types.count; i++) {
        if (!ns_of_unit(type_text(tables, i, DW_PPROF_TYPE_UNIT)))
            continue;
        chosen = i;
        if (shown && tables->types.entries[i].fields[DW_PPROF_TYPE_NAME] == shown)
            break;
    }
    return chosen;
}

/* Numbers of other things than samples, such as objects on a heap, count only if they are all that
 * there is, or stand beside a time. */
static uint32_t choose_count(const struct dw_pprof_tables *tables, bool has_time)
{
    uint32_t chosen = NONE;
    for (uint32_t i = 0; i < tables->types.count; i++) {
        if (!dw_text_is(type_text(tables, i, DW_PPROF_TYPE_UNIT), "count"))
            continue;
        if (dw_text_is(type_text(tables, i, DW_PPROF_TYPE_NAME), "samples"))
            return i;
        if (has_time || tables->types.count == 1)
            chosen = i;
    }
    return chosen;
}

static struct choice choose(const struct dw_pprof_tables *tables)
{
    uint32_t weight = choose_weight(tables);
    struct choice choice = {choose_count(tables, weight != NONE), weight, 1, DW_SAMPLE_COUNTS};
    if (weight == NONE)
        return choice;
    choice.unit_ns = ns_of_unit(type_text(tables, weight, DW_PPROF_TYPE_UNIT));
    choice.mode = dw_text_is(type_text(tables, weight, DW_PPROF_TYPE_NAME), "cpu") ? DW_SAMPLE_CPU
                                                                                   : DW_SAMPLE_WALL;
    return choice;
}

/* A period of one nanosecond means that the writer did not know it. */
static uint64_t find_period(const struct dw_pprof_tables *tables)
{
    uint64_t unit =
        ns_of_unit(dw_pprof_string_at(tables, tables->period_type.fields[DW_PPROF_TYPE_UNIT]));
    uint64_t period = tables->fields[DW_PPROF_PERIOD], period_ns;
    bool is_known = !__builtin_mul_overflow(period, unit, &period_ns) && period_ns <= INT64_MAX;
    return is_known && period_ns > 1 ? period_ns : 0;
}

static bool is_python(struct dw_string file)
{
    return file.size > 3 && (*file.bytes == '<' || !memcmp(file.bytes + file.size - 3, ".py", 3));
}

static enum dw_frame_kind kind_of(struct dw_string name, struct dw_string file, bool is_mapped)
{
    if (is_python(file))
        return DW_FRAME_FUNCTION;
    if (is_mapped)
        return DW_FRAME_NATIVE;
    if (file.size || !name.size)
        return DW_FRAME_FUNCTION;
    if (*name.bytes == '<' || dw_text_is(name, "[…]"))
        return DW_FRAME_MARK;
    return *name.bytes == '[' ? DW_FRAME_NATIVE : DW_FRAME_FUNCTION;
}

static uint32_t line_number(uint64_t number)
{
    return number <= INT32_MAX ? (uint32_t)number : 0;
}

/* The place of one line of a location. `outer` is the place that it was inlined into. */
static dw_place_id make_place(struct reading *reading, const struct dw_pprof_entry *location,
                              const struct dw_pprof_entry *line, dw_place_id outer)
{
    static const struct dw_pprof_entry nothing;
    struct dw_foreign *foreign = reading->foreign;
    const struct dw_pprof_tables *tables = &reading->tables;
    struct dw_mapped mapped = dw_pprof_mapping_of(&reading->mappings, location);
    line = line ? line : &nothing;
    const struct dw_pprof_entry *function =
        dw_pprof_find(&tables->functions, line->fields[DW_PPROF_LINE_FUNCTION]);
    function = function ? function : &nothing;
    struct dw_string name = dw_pprof_string_at(tables, function->fields[DW_PPROF_FUNCTION_NAME]);
    struct dw_string file = dw_pprof_string_at(tables, function->fields[DW_PPROF_FUNCTION_FILE]);
    struct dw_frame frame = {.kind = kind_of(name, file, mapped.module != 0),
                             .name = dw_foreign_string(foreign, name),
                             .file = dw_foreign_string(foreign, file),
                             .line = line_number(function->fields[DW_PPROF_FUNCTION_LINE])};
    struct dw_place place = {.line = line_number(line->fields[DW_PPROF_LINE_NUMBER]),
                             .column = line_number(line->fields[DW_PPROF_LINE_COLUMN]),
                             .outer = outer};
    if (frame.kind == DW_FRAME_NATIVE) {
        place.module = mapped.module;
        place.address = mapped.address;
        frame.file = file.size ? frame.file : mapped.path;
    }
    if (!name.size)
        frame.name = dw_pprof_mapping_name(&reading->mappings, location);
    return dw_foreign_place(foreign, &frame, place);
}

/* The outermost line comes last, and is made first. */
static dw_place_id place_of(struct reading *reading, const struct dw_pprof_entry *location)
{
    const struct dw_pprof_tables *tables = &reading->tables;
    dw_place_id *place = &reading->places[location - tables->locations.entries];
    if (*place)
        return *place;
    dw_place_id outer = 0;
    for (uint32_t i = location->line_count; i-- > 0;)
        outer =
            make_place(reading, location, &tables->lines.entries[location->first_line + i], outer);
    *place = outer ? outer : make_place(reading, location, NULL, 0);
    return *place;
}

/* False when a location is not in the file, or there are too many. */
static bool find_stack(struct reading *reading, const struct dw_pprof_numbers *locations,
                       dw_path_id *stack)
{
    *stack = DW_PATH_ROOT;
    if (locations->count > DEPTH_MAX)
        return false;
    for (uint32_t i = locations->count; i-- > 0;) {
        const struct dw_pprof_entry *location =
            dw_pprof_find(&reading->tables.locations, locations->numbers[i]);
        if (!location)
            return false;
        *stack = dw_foreign_push(reading->foreign, *stack, place_of(reading, location));
    }
    return true;
}

/* What the labels of a sample say. */
struct labels {
    struct dw_string thread;
    uint64_t tid, pid;
    uint32_t state;
};

static uint32_t state_of(struct dw_string name)
{
    for (uint32_t state = 0; state < DW_SAMPLE_STATES; state++)
        if (dw_text_is(name, dw_sample_state_name(state)))
            return state;
    return DW_SAMPLE_RUNNING;
}

static struct labels read_labels(const struct dw_pprof_tables *tables,
                                 const struct dw_pprof_entries *entries)
{
    struct labels labels = {.thread = {"", 0}, .state = DW_SAMPLE_RUNNING};
    uint32_t gil = 0;
    for (uint32_t i = 0; i < entries->count; i++) {
        const uint64_t *fields = entries->entries[i].fields;
        struct dw_string key = dw_pprof_string_at(tables, fields[DW_PPROF_LABEL_KEY]);
        struct dw_string text = dw_pprof_string_at(tables, fields[DW_PPROF_LABEL_TEXT]);
        if (dw_text_is(key, "thread") || dw_text_is(key, "thread_name"))
            labels.thread = text;
        else if (dw_text_is(key, "thread id") || dw_text_is(key, "thread_id"))
            labels.tid = fields[DW_PPROF_LABEL_NUMBER];
        else if (dw_text_is(key, "process id") || dw_text_is(key, "pid"))
            labels.pid = fields[DW_PPROF_LABEL_NUMBER];
        else if (dw_text_is(key, "state"))
            labels.state = state_of(text);
        else if (dw_text_is(key, "gil"))
            gil = DW_SAMPLE_HOLDS_GIL;
    }
    labels.state |= gil;
    return labels;
}

static bool value_of(const struct dw_pprof_numbers *values, uint32_t index, uint64_t *value)
{
    bool is_there = index < values->count && values->numbers[index] <= INT64_MAX;
    *value = is_there ? values->numbers[index] : 0;
    return is_there;
}

/* Negative values, as in the difference of two profiles, are not samples. */
static bool find_values(const struct reading *reading, const struct dw_pprof_numbers *values,
                        uint64_t *count, uint64_t *weight)
{
    const struct choice *choice = &reading->choice;
    bool has_count = value_of(values, choice->count, count);
    if (choice->weight == NONE) {
        *weight = *count;
        return has_count;
    }
    if (!value_of(values, choice->weight, weight) ||
        __builtin_mul_overflow(*weight, choice->unit_ns, weight))
        return false;
    if (choice->count == NONE)
        *count = reading->period_ns ? *weight / reading->period_ns : 1;
    return has_count || choice->count == NONE;
}

static void add_sample(struct reading *reading, const struct dw_pprof_sample *sample, size_t size)
{
    struct dw_foreign *foreign = reading->foreign;
    struct labels labels = read_labels(&reading->tables, &sample->labels);
    uint64_t count, weight;
    dw_path_id stack;
    if (!find_values(reading, &sample->values, &count, &weight) ||
        !find_stack(reading, &sample->locations, &stack)) {
        dw_foreign_lose(foreign, size);
        return;
    }
    struct dw_string none = {"", 0}, all = {"all", 3};
    bool is_known = labels.tid || labels.thread.size;
    uint32_t process = dw_foreign_process(foreign, labels.pid, none);
    uint32_t thread = foreign->error ? 0
                                     : dw_foreign_thread(foreign, process, labels.tid,
                                                         is_known ? labels.thread : all);
    dw_foreign_add(foreign, thread, stack, labels.state, count, weight);
}

static void add_samples(struct reading *reading)
{
    struct dw_foreign *foreign = reading->foreign;
    struct dw_pprof_sample sample = {0};
    for (uint32_t i = 0; !foreign->error && i < reading->tables.sample_count; i++) {
        struct dw_string message = reading->tables.samples[i];
        foreign->error = dw_pprof_sample_read(message, &sample);
        if (!foreign->error)
            add_sample(reading, &sample, message.size);
    }
    dw_pprof_sample_release(&sample);
}

/* "CPU time: 10 samples, ...; 3 missed, 2 guessed" is what our own profiles have in a comment. */
static void read_trouble(struct dw_string comment, struct dw_sampling *sampling)
{
    const struct {
        const char *text;
        uint64_t *into;
    } parts[] = {{" missed", &sampling->missed},
                 {" guessed", &sampling->guessed},
                 {" cut", &sampling->cut},
                 {" retried", &sampling->retried}};
    const char *semicolon = dw_text_last(comment, ';');
    size_t skipped = semicolon ? (size_t)(semicolon + 1 - comment.bytes) : comment.size;
    struct dw_string rest = {comment.bytes + skipped, comment.size - skipped};
    uint64_t number;
    while (dw_text_skip(&rest, " ") && dw_text_number(&rest, 10, &number)) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (dw_text_skip(&rest, parts[i].text))
                *parts[i].into += number;
        if (!dw_text_skip(&rest, ","))
            break;
    }
}

static void read_comments(const struct dw_pprof_tables *tables, struct dw_sampling *sampling)
{
    const struct dw_pprof_numbers *comments = &tables->comments;
    bool is_ours = false;
    for (uint32_t i = 0; i < comments->count; i++) {
        struct dw_string comment = dw_pprof_string_at(tables, comments->numbers[i]);
        struct dw_string rest = comment;
        is_ours |= !i && dw_text_skip(&rest, "dwell ");
        if (is_ours && (dw_text_skip(&rest, "CPU time: ") || dw_text_skip(&rest, "wall time: ")))
            read_trouble(comment, sampling);
    }
}

/* When it began and how long it took are the same for all of its processes. */
static void finish_processes(const struct reading *reading)
{
    struct dw_profile *profile = reading->foreign->profile;
    const uint64_t *fields = reading->tables.fields;
    uint64_t start_ns = fields[DW_PPROF_TIME_NS], duration_ns = fields[DW_PPROF_DURATION_NS];
    if (!start_ns || start_ns > INT64_MAX || duration_ns > INT64_MAX)
        return;
    for (uint32_t i = reading->foreign->first_process; i < profile->process_count; i++) {
        struct dw_process *process = &profile->processes[i];
        process->first_clock = (struct dw_clock_pair){.wall_ns = start_ns};
        process->last_clock =
            (struct dw_clock_pair){.wall_ns = start_ns + duration_ns, .monotonic_ns = duration_ns};
    }
}

static void add_profile(struct reading *reading)
{
    struct dw_foreign *foreign = reading->foreign;
    struct dw_profile *profile = foreign->profile;
    foreign->sampling = (struct dw_sampling){.mode = reading->choice.mode,
                                             .native = reading->tables.mappings.count > 0,
                                             .period_ns = reading->period_ns};
    add_samples(reading);
    if (profile->process_count == foreign->first_process)
        dw_foreign_process(foreign, 0, (struct dw_string){"", 0});
    if (foreign->error)
        return;
    read_comments(&reading->tables, &profile->processes[foreign->first_process].sampling);
    finish_processes(reading);
}

void dw_pprof_read(struct dw_foreign *foreign, struct dw_string bytes)
{
    struct reading reading = {.foreign = foreign};
    int error = dw_pprof_tables_read(bytes, &reading.tables);
    reading.choice = choose(&reading.tables);
    reading.period_ns = find_period(&reading.tables);
    if (!error && reading.choice.count == NONE && reading.choice.weight == NONE)
        error = DW_ERR_NO_SAMPLES;
    if (!error)
        error = dw_pprof_mappings_init(&reading.mappings, foreign, &reading.tables);
    reading.places = calloc(reading.tables.locations.count + 1u, sizeof *reading.places);
    if (!error && !reading.places)
        error = DW_ERR_MEMORY;
    foreign->error = error;
    if (!error)
        add_profile(&reading);
    free(reading.places);
    dw_pprof_mappings_release(&reading.mappings);
    dw_pprof_tables_release(&reading.tables);
}
