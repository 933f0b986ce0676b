/* SPDX-License-Identifier: MIT
 * The output of `perf script`: a line that says who was sampled, when and by which event, then
 * a line for each frame, the innermost first, then an empty line. Samples of a clock weigh
 * their period, which is nanoseconds; those of other events are counted. */
#include "import/foreign.h"

#include "base/grow.h"

#include <string.h>

struct header {
    struct dw_string program, event;
    uint64_t pid, tid, period;
};

/* "12", or "12/34": process and thread. */
static bool parse_ids(struct dw_string word, struct header *header)
{
    if (!dw_text_number(&word, 10, &header->tid))
        return false;
    header->pid = header->tid;
    if (dw_text_skip(&word, "/") && !dw_text_number(&word, 10, &header->tid))
        return false;
    return !word.size;
}

/* "1234.567890:" */
static bool is_time(struct dw_string word)
{
    uint64_t number;
    return dw_text_number(&word, 10, &number) && dw_text_skip(&word, ".") &&
           dw_text_number(&word, 10, &number) && dw_text_skip(&word, ":") && !word.size;
}

static bool is_number(struct dw_string word, uint64_t *number)
{
    return dw_text_number(&word, 10, number) && !word.size;
}

/* "[003]", a time, "250000", then "cpu-clock:pppH:"; all but the last may be missing. */
static bool parse_event(struct dw_string rest, struct header *header)
{
    struct dw_string word = dw_text_word(&rest);
    if (word.size && *word.bytes == '[')
        word = dw_text_word(&rest);
    if (is_time(word))
        word = dw_text_word(&rest);
    if (is_number(word, &header->period))
        word = dw_text_word(&rest);
    header->event = (struct dw_string){word.bytes, 0};
    while (header->event.size < word.size && word.bytes[header->event.size] != ':')
        header->event.size++;
    return header->event.size > 0 && header->event.size < word.size && *word.bytes != '[' &&
           !is_time(word);
}

/* The name of a program may have spaces and digits, so every word is tried as the ids. */
static bool parse_header(struct dw_string line, struct header *header)
{
    struct dw_string rest = line;
    if (!line.size || *line.bytes == ' ' || *line.bytes == '\t' || *line.bytes == '#')
        return false;
    dw_text_word(&rest);
    for (;;) {
        struct dw_string before = {line.bytes, line.size - rest.size}, word = dw_text_word(&rest);
        *header = (struct header){.program = dw_text_trimmed(before)};
        if (!word.size)
            return false;
        if (parse_ids(word, header) && parse_event(rest, header))
            return true;
    }
}

/* "  7f12ab func+0x12 (/lib/x.so)" */
struct frame_line {
    uint64_t address;
    struct dw_string symbol, object;
};

static bool parse_frame(struct dw_string line, struct frame_line *frame)
{
    struct dw_string text = dw_text_trimmed(line);
    if (text.size == line.size || !dw_text_number(&text, 16, &frame->address) ||
        !dw_text_skip(&text, " ") || !text.size || text.bytes[text.size - 1] != ')')
        return false;
    const char *open = dw_text_last(text, '(');
    if (!open)
        return false;
    frame->object = (struct dw_string){open + 1, (size_t)(text.bytes + text.size - open - 2)};
    frame->symbol = dw_text_trimmed((struct dw_string){text.bytes, (size_t)(open - text.bytes)});
    const char *plus = dw_text_last(frame->symbol, '+');
    struct dw_string offset = {plus ? plus + 1 : "", 0};
    offset.size = plus ? frame->symbol.size - (size_t)(plus + 1 - frame->symbol.bytes) : 0;
    if (plus > frame->symbol.bytes && dw_text_skip(&offset, "0x"))
        frame->symbol.size = (size_t)(plus - frame->symbol.bytes);
    return true;
}

bool dw_perf_script_is(struct dw_string text)
{
    struct dw_string line;
    struct header header;
    struct frame_line frame;
    while (dw_text_line(&text, &line)) {
        if (!line.size || *line.bytes == '#')
            continue;
        return parse_header(line, &header) && dw_text_line(&text, &line) &&
               parse_frame(line, &frame);
    }
    return false;
}

static bool is_clock(struct dw_string event)
{
    return dw_text_skip(&event, "cpu-clock") || dw_text_skip(&event, "task-clock");
}

/* The period of the first sample when all are of a clock, so that their times are known; else 0. */
static uint64_t find_period(struct dw_string text)
{
    struct dw_string line;
    struct header header;
    uint64_t period = 0;
    while (dw_text_line(&text, &line)) {
        if (!parse_header(line, &header))
            continue;
        if (!is_clock(header.event) || !header.period)
            return 0;
        period = period ? period : header.period;
    }
    return period;
}

static bool is_kernel(const struct frame_line *line)
{
    struct dw_string object = line->object;
    return dw_text_skip(&object, "[kernel") || dw_text_skip(&object, "[guest.kernel");
}

/* CPython tells perf of its functions as "py::name:file". */
static bool find_python(struct dw_string symbol, struct dw_string *name, struct dw_string *file)
{
    if (!dw_text_skip(&symbol, "py::"))
        return false;
    const char *colon = symbol.size ? memchr(symbol.bytes, ':', symbol.size) : NULL;
    if (!colon)
        return false;
    *name = (struct dw_string){symbol.bytes, (size_t)(colon - symbol.bytes)};
    *file = (struct dw_string){colon + 1, symbol.size - name->size - 1};
    return true;
}

static dw_path_id add_frame(struct dw_foreign *foreign, dw_path_id parent,
                            const struct frame_line *line)
{
    struct dw_string name, file;
    bool is_unknown = !line->symbol.size || dw_text_is(line->symbol, "[unknown]");
    if (find_python(line->symbol, &name, &file)) {
        struct dw_frame frame = {.kind = DW_FRAME_FUNCTION,
                                 .name = dw_foreign_string(foreign, name),
                                 .file = dw_foreign_string(foreign, file)};
        return dw_foreign_stack(foreign, parent, &frame, (struct dw_place){0});
    }
    bool is_inlined = dw_text_is(line->object, "inlined");
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE,
                             .name = is_unknown ? dw_foreign_object_name(foreign, line->object)
                                                : dw_foreign_string(foreign, line->symbol),
                             .file = is_inlined ? 0 : dw_foreign_string(foreign, line->object)};
    return dw_foreign_stack(foreign, parent, &frame, (struct dw_place){.address = line->address});
}

struct sample {
    struct frame_line *frames; /* the innermost first */
    uint32_t count, capacity;
};

static void add_sample(struct dw_foreign *foreign, const struct header *header,
                       const struct sample *sample)
{
    struct dw_string none = {"", 0};
    uint32_t process = dw_foreign_process(foreign, header->pid, header->program);
    uint32_t thread = dw_foreign_thread(foreign, process, header->tid,
                                        header->tid == header->pid ? none : header->program);
    bool in_kernel = sample->count && is_kernel(&sample->frames[0]);
    bool is_timed = foreign->sampling.mode == DW_SAMPLE_CPU;
    dw_path_id path = DW_PATH_ROOT;
    for (uint32_t i = sample->count; i-- > 0 && !foreign->error;)
        path = add_frame(foreign, path, &sample->frames[i]);
    dw_foreign_add(foreign, thread, path, in_kernel ? DW_SAMPLE_KERNEL : DW_SAMPLE_RUNNING, 1,
                   is_timed ? header->period : 1);
}

static void keep_frame(struct dw_foreign *foreign, struct sample *sample,
                       const struct frame_line *frame)
{
    int error = DW_GROW(sample->frames, sample->count, sample->capacity);
    if (error)
        foreign->error = error;
    else
        sample->frames[sample->count++] = *frame;
}

void dw_perf_script_read(struct dw_foreign *foreign, struct dw_string text)
{
    struct dw_string line;
    struct header header, next;
    struct sample sample = {0};
    struct frame_line frame;
    bool is_open = false;
    uint64_t period = find_period(text);
    foreign->sampling = (struct dw_sampling){
        .mode = period ? DW_SAMPLE_CPU : DW_SAMPLE_COUNTS, .native = true, .period_ns = period};
    while (!foreign->error && dw_text_line(&text, &line)) {
        bool is_frame = is_open && parse_frame(line, &frame);
        if (is_frame) {
            keep_frame(foreign, &sample, &frame);
            continue;
        }
        if (is_open)
            add_sample(foreign, &header, &sample);
        sample.count = 0;
        is_open = parse_header(line, &next);
        if (is_open)
            header = next;
        else if (dw_text_trimmed(line).size && *line.bytes != '#')
            dw_foreign_lose(foreign, line.size);
    }
    if (is_open && !foreign->error)
        add_sample(foreign, &header, &sample);
    free(sample.frames);
}
