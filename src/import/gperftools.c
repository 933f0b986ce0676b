/* SPDX-License-Identifier: MIT
 * gperftools' CPU profiles, which yep writes too: words of the machine that they come from
 * (0, 3, 0, period in microseconds, 0), then records (samples, depth, addresses with the
 * innermost first), the record (0, 1, 0) as an end, and /proc/PID/maps as text. */
#include "import/foreign.h"

#include "base/grow.h"
#include "base/order.h"
#include "import/object.h"

#include <string.h>

#define HEAD_WORDS 5
#define DEPTH_MAX (1u << 16)

struct words {
    const uint8_t *at, *end;
    size_t size; /* of one: 4 or 8 bytes */
};

struct mapping {
    uint64_t start, end, offset;
    dw_string_id path;
    uint32_t module; /* 1 + index, 0: not used yet */
    struct dw_object object;
};

struct reading {
    struct dw_foreign *foreign;
    struct mapping *mappings; /* as the kernel lists them: by address */
    uint32_t count, capacity;
    uint32_t process, thread;
    uint64_t period_ns;
};

static bool has(const struct words *words, uint64_t count)
{
    return count <= (size_t)(words->end - words->at) / words->size;
}

static uint64_t word(const struct words *words, size_t index)
{
    uint64_t wide;
    uint32_t narrow;
    if (words->size == sizeof wide) {
        memcpy(&wide, words->at + index * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, words->at + index * sizeof narrow, sizeof narrow);
    return narrow;
}

static bool is_head(const struct words *words)
{
    return has(words, HEAD_WORDS) && word(words, 0) == 0 && word(words, 1) == HEAD_WORDS - 2 &&
           word(words, 2) == 0 && word(words, 3) != 0 && word(words, 4) == 0;
}

/* The head shows the size of the words: read as one of 8 bytes, two words of 4 are not 3. */
static bool find_words(struct dw_string bytes, struct words *words)
{
    const uint8_t *at = (const uint8_t *)bytes.bytes;
    *words = (struct words){at, at + bytes.size, sizeof(uint64_t)};
    if (is_head(words))
        return true;
    words->size = sizeof(uint32_t);
    return is_head(words);
}

bool dw_gperftools_is(struct dw_string bytes)
{
    struct words words;
    return find_words(bytes, &words);
}

/* "start-end perms offset device inode path"; mappings that hold no code are left out. */
static bool parse_mapping(struct dw_string line, struct mapping *mapping, struct dw_string *path)
{
    uint64_t skipped;
    if (!dw_text_number(&line, 16, &mapping->start) || !dw_text_skip(&line, "-") ||
        !dw_text_number(&line, 16, &mapping->end) || !dw_text_skip(&line, " ") || line.size < 5 ||
        line.bytes[2] != 'x')
        return false;
    line = (struct dw_string){line.bytes + 4, line.size - 4};
    if (!dw_text_skip(&line, " ") || !dw_text_number(&line, 16, &mapping->offset) ||
        !dw_text_skip(&line, " ") || !dw_text_number(&line, 16, &skipped) ||
        !dw_text_skip(&line, ":") || !dw_text_number(&line, 16, &skipped) ||
        !dw_text_skip(&line, " ") || !dw_text_number(&line, 10, &skipped))
        return false;
    while (dw_text_skip(&line, " "))
        continue;
    *path = line;
    return path->size > 0 && mapping->start < mapping->end;
}

static int compare_mappings(const void *left, const void *right)
{
    const struct mapping *a = left, *b = right;
    return dw_ascending(a->start, b->start);
}

static void read_maps(struct reading *reading, struct dw_string text)
{
    struct dw_foreign *foreign = reading->foreign;
    struct dw_string line, path;
    while (!foreign->error && dw_text_line(&text, &line)) {
        struct mapping mapping = {0};
        if (!parse_mapping(line, &mapping, &path))
            continue;
        mapping.path = dw_foreign_string(foreign, path);
        foreign->error = DW_GROW(reading->mappings, reading->count, reading->capacity);
        if (!foreign->error)
            reading->mappings[reading->count++] = mapping;
    }
    if (reading->count)
        qsort(reading->mappings, reading->count, sizeof *reading->mappings, compare_mappings);
}

static struct mapping *find_mapping(const struct reading *reading, uint64_t address)
{
    uint32_t low = 0, high = reading->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (reading->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_in = low < reading->count && reading->mappings[low].start <= address;
    return is_in ? &reading->mappings[low] : NULL;
}

static void add_module(struct reading *reading, struct mapping *mapping)
{
    struct dw_foreign *foreign = reading->foreign;
    struct dw_module module = {.process = reading->process,
                               .path = mapping->path,
                               .start = mapping->start,
                               .end = mapping->end,
                               .file_offset = mapping->offset};
    dw_object_open(&mapping->object, dw_profile_string(foreign->profile, mapping->path).bytes,
                   &module, foreign->written_ns);
    mapping->module = dw_object_add_module(&mapping->object, module, foreign);
}

static dw_path_id add_address(struct reading *reading, dw_path_id parent, uint64_t address)
{
    struct dw_foreign *foreign = reading->foreign;
    struct mapping *mapping = find_mapping(reading, address);
    struct dw_place place = {.address = address};
    struct dw_string unknown = {"[unknown]", 9};
    if (mapping && !mapping->module)
        add_module(reading, mapping);
    if (!mapping || foreign->error) {
        struct dw_frame frame = {.kind = DW_FRAME_NATIVE,
                                 .name = dw_foreign_string(foreign, unknown)};
        return dw_foreign_stack(foreign, parent, &frame, place);
    }
    place.module = mapping->module;
    place.address = address - mapping->object.bias;
    struct dw_frame frame = {
        .kind = DW_FRAME_NATIVE,
        .name = dw_object_name_at(&mapping->object, place.address, mapping->path, foreign),
        .file = mapping->path};
    return dw_foreign_stack(foreign, parent, &frame, place);
}

/* Addresses other than the innermost are behind a call: one less is still in it. */
static void add_record(struct reading *reading, const struct words *words, uint64_t depth)
{
    dw_path_id path = DW_PATH_ROOT;
    uint64_t count = word(words, 0), weight;
    for (uint64_t i = depth; i-- > 0 && !reading->foreign->error;)
        path = add_address(reading, path, word(words, 2 + i) - (i ? 1 : 0));
    if (__builtin_mul_overflow(count, reading->period_ns, &weight))
        dw_foreign_lose(reading->foreign, words->size);
    else
        dw_foreign_add(reading->foreign, reading->thread, path, DW_SAMPLE_RUNNING, count, weight);
}

/* Moves over one record; false at the end of them. */
static bool next_record(struct words *words, struct words *record, uint64_t *depth)
{
    if (!has(words, 3))
        return false;
    *depth = word(words, 1);
    bool is_end = !word(words, 0) && *depth == 1 && !word(words, 2);
    if (!is_end && (*depth > DEPTH_MAX || !has(words, 2 + *depth)))
        return false;
    *record = *words;
    words->at += words->size * (size_t)(2 + *depth);
    return !is_end;
}

/* The maps are behind the records, whose addresses mean nothing without them. */
void dw_gperftools_read(struct dw_foreign *foreign, struct dw_string bytes)
{
    struct reading reading = {.foreign = foreign};
    struct words words, behind, record;
    uint64_t depth;
    if (!find_words(bytes, &words))
        return;
    foreign->sampling = (struct dw_sampling){.mode = DW_SAMPLE_CPU, .native = true};
    if (__builtin_mul_overflow(word(&words, 3), UINT64_C(1000), &reading.period_ns))
        reading.period_ns = 0;
    foreign->sampling.period_ns = reading.period_ns;
    words.at += HEAD_WORDS * words.size;
    reading.process = dw_foreign_process(foreign, 0, (struct dw_string){"", 0});
    reading.thread = dw_foreign_thread(foreign, reading.process, 0, (struct dw_string){"all", 3});
    behind = words;
    while (next_record(&behind, &record, &depth))
        continue;
    read_maps(&reading,
              (struct dw_string){(const char *)behind.at, (size_t)(behind.end - behind.at)});
    if (!reading.count)
        dw_foreign_lose(foreign, (size_t)(behind.end - behind.at));
    while (!foreign->error && next_record(&words, &record, &depth))
        add_record(&reading, &record, depth);
    for (uint32_t i = 0; i < reading.count; i++)
        dw_object_close(&reading.mappings[i].object);
    free(reading.mappings);
}
