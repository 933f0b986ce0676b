/* SPDX-License-Identifier: MIT
 * Threads, processes, places and stacks are looked up before they are made, so that a format's
 * reader may name them as often as its file does. After the first error nothing is added. */
#define _GNU_SOURCE
#include "import/foreign.h"

#include "base/grow.h"

#include <string.h>

static void note(struct dw_foreign *foreign, int error)
{
    if (error && !foreign->error)
        foreign->error = error;
}

dw_string_id dw_foreign_string(struct dw_foreign *foreign, struct dw_string string)
{
    dw_string_id id = 0;
    note(foreign,
         dw_string_intern_name(&foreign->profile->strings, string.bytes, string.size, &id));
    return id;
}

static void describe(struct dw_foreign *foreign, struct dw_process *process, const char *key,
                     struct dw_string value)
{
    int error = DW_GROW(process->properties, process->property_count, process->property_capacity);
    note(foreign, error);
    if (error)
        return;
    process->properties[process->property_count++] =
        (struct dw_property){dw_foreign_string(foreign, (struct dw_string){key, strlen(key)}),
                             dw_foreign_string(foreign, value)};
}

/* It is not known when it ran, only that this was before the file was written. */
static struct dw_process process_of(const struct dw_foreign *foreign, uint64_t pid)
{
    struct dw_process process = {
        .pid = pid, .ended = true, .is_sampled = true, .sampling = foreign->sampling};
    uint64_t identity[] = {foreign->identity, dw_hash_scramble(pid ^ foreign->identity)};
    process.first_clock.wall_ns = process.last_clock.wall_ns = foreign->written_ns;
    memcpy(process.uuid, identity, sizeof process.uuid);
    return process;
}

static bool is_process(const void *entries, uint32_t id, const void *key)
{
    return ((const struct dw_process *)entries)[id].pid == *(const uint64_t *)key;
}

uint32_t dw_foreign_process(struct dw_foreign *foreign, uint64_t pid, struct dw_string program)
{
    struct dw_profile *profile = foreign->profile;
    uint32_t known = dw_map_find(&foreign->process_index, dw_hash_mix(pid), is_process,
                                 profile->processes, &pid);
    if (known != DW_MAP_NONE)
        return known;
    note(foreign, DW_GROW(profile->processes, profile->process_count, profile->process_capacity));
    if (!foreign->error)
        note(foreign,
             dw_map_put(&foreign->process_index, dw_hash_mix(pid), profile->process_count));
    if (foreign->error)
        return DW_MAP_NONE;
    struct dw_process *process = &profile->processes[profile->process_count];
    *process = process_of(foreign, pid);
    describe(foreign, process, "program",
             program.size ? program : (struct dw_string){foreign->name, strlen(foreign->name)});
    return profile->process_count++;
}

static bool is_thread(const void *entries, uint32_t id, const void *key)
{
    const struct dw_thread *a = (const struct dw_thread *)entries + id, *b = key;
    return a->process == b->process && a->tid == b->tid && (a->tid || a->name == b->name);
}

static uint64_t hash_thread(const struct dw_thread *thread)
{
    uint64_t number = thread->tid ? thread->tid << 1 : (uint64_t)thread->name << 1 | 1;
    return dw_hash_mix(dw_hash_mix(number) + thread->process);
}

uint32_t dw_foreign_thread(struct dw_foreign *foreign, uint32_t process, uint64_t tid,
                           struct dw_string name)
{
    struct dw_profile *profile = foreign->profile;
    struct dw_thread thread = {
        .process = process, .tid = tid, .name = dw_foreign_string(foreign, name)};
    uint64_t hash = hash_thread(&thread);
    uint32_t known =
        dw_map_find(&foreign->thread_index, hash, is_thread, profile->threads, &thread);
    if (known != DW_MAP_NONE)
        return known;
    note(foreign, DW_GROW(profile->threads, profile->thread_count, profile->thread_capacity));
    if (!foreign->error)
        note(foreign, dw_map_put(&foreign->thread_index, hash, profile->thread_count));
    if (foreign->error)
        return DW_MAP_NONE;
    profile->threads[profile->thread_count] = thread;
    return profile->thread_count++;
}

dw_place_id dw_foreign_place(struct dw_foreign *foreign, const struct dw_frame *frame,
                             struct dw_place place)
{
    struct dw_profile *profile = foreign->profile;
    dw_place_id id = 0;
    note(foreign, dw_frame_intern(&profile->frames, frame, &place.frame));
    if (!foreign->error)
        note(foreign, dw_place_intern(&profile->places, &place, &id));
    return id;
}

dw_path_id dw_foreign_push(struct dw_foreign *foreign, dw_path_id parent, dw_place_id place)
{
    dw_path_id stack = DW_PATH_ROOT;
    if (!foreign->error)
        note(foreign, dw_path_intern(&foreign->profile->paths, parent, place, &stack));
    return stack;
}

dw_path_id dw_foreign_stack(struct dw_foreign *foreign, dw_path_id parent,
                            const struct dw_frame *frame, struct dw_place place)
{
    return dw_foreign_push(foreign, parent, dw_foreign_place(foreign, frame, place));
}

static dw_measure_mask weight_of(const struct dw_process *process)
{
    switch (process->sampling.mode) {
    case DW_SAMPLE_CPU: return DW_MASK(DW_CPU);
    case DW_SAMPLE_WALL: return DW_MASK(DW_WALL);
    default: return 0;
    }
}

void dw_foreign_add(struct dw_foreign *foreign, uint32_t thread, dw_path_id path, uint32_t state,
                    uint64_t count, uint64_t weight)
{
    struct dw_profile *profile = foreign->profile;
    if (foreign->error)
        return;
    struct dw_thread *of = &profile->threads[thread];
    struct dw_process *process = &profile->processes[of->process];
    uint64_t numbers[] = {count, weight};
    dw_labels_id labels;
    uint32_t row;
    note(foreign, dw_labels_intern(&profile->labels, state + 1, NULL, 0, &labels));
    if (!foreign->error)
        note(foreign, dw_value_row_get(&of->values, path, labels, &row));
    if (!foreign->error)
        note(foreign,
             dw_value_row_add(&of->values, row, DW_MASK(DW_SAMPLES) | weight_of(process), numbers));
    process->sampling.taken += count;
}

void dw_foreign_lose(struct dw_foreign *foreign, size_t bytes)
{
    foreign->profile->losses.damaged_chunks++;
    foreign->profile->losses.damaged_bytes += bytes;
}

dw_string_id dw_foreign_object_name(struct dw_foreign *foreign, struct dw_string path)
{
    char name[256];
    const char *slash = dw_text_last(path, '/');
    const char *base = slash ? slash + 1 : path.bytes;
    size_t size = path.size - (size_t)(base - path.bytes);
    if (size > sizeof name - 2)
        size = sizeof name - 2;
    if (size && *base == '[') /* as the kernel names what is not a file */
        return dw_foreign_string(foreign, (struct dw_string){base, size});
    name[0] = '[';
    memcpy(name + 1, base, size);
    name[size + 1] = ']';
    return dw_foreign_string(foreign, (struct dw_string){name, size + 2});
}

bool dw_text_line(struct dw_string *text, struct dw_string *line)
{
    if (!text->size)
        return false;
    const char *end = memchr(text->bytes, '\n', text->size);
    size_t size = end ? (size_t)(end - text->bytes) : text->size;
    size_t taken = end ? size + 1 : size;
    *line = (struct dw_string){text->bytes, size};
    if (size && line->bytes[size - 1] == '\r')
        line->size--;
    *text = (struct dw_string){text->bytes + taken, text->size - taken};
    return true;
}

const char *dw_text_last(struct dw_string text, char c)
{
    return text.size ? memrchr(text.bytes, c, text.size) : NULL;
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
}

bool dw_text_number(struct dw_string *text, unsigned base, uint64_t *number)
{
    uint64_t value = 0;
    size_t at = 0;
    for (; at < text->size && digit_of(text->bytes[at]) < base; at++)
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit_of(text->bytes[at]), &value))
            return false;
    if (!at)
        return false;
    *text = (struct dw_string){text->bytes + at, text->size - at};
    *number = value;
    return true;
}

bool dw_text_is(struct dw_string text, const char *other)
{
    return text.size == strlen(other) && !memcmp(text.bytes, other, text.size);
}

bool dw_text_skip(struct dw_string *text, const char *prefix)
{
    size_t size = strlen(prefix);
    if (text->size < size || memcmp(text->bytes, prefix, size) != 0)
        return false;
    *text = (struct dw_string){text->bytes + size, text->size - size};
    return true;
}
