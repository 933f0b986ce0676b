/* SPDX-License-Identifier: MIT
 * Puts together what the lists, the files and the mappings tell of made code. Looking costs CPU
 * time of the program's machine, so after each look it rests for a multiple of what that took. */
#include "native/jit/jit.h"

#include "base/clock.h"
#include "base/grow.h"
#include "native/elf/proc_maps.h"
#include "native/unwind/trampolines.h"

#include <string.h>

#define AGAIN_NS 1000000000u /* for files that are mapped late, and lists that seem the same */
#define REST 20              /* one part in so many of the time goes to looking */
#define MAX_MAPPINGS 65536u
#define MIN_TRAMPOLINES 16 /* in memory that has nothing else */
#define MAX_AREA_BYTES (16u << 20)
#define PAGE_BYTES 4096u
#define EMPTY_BYTES 16u             /* of zeros: no code has so many */
#define MAX_ISLAND_BYTES (1u << 18) /* on either side of an address */

struct dw_jit_area {
    struct dw_jit_range range;
    struct dw_trampolines trampolines;
};

int dw_jit_init(struct dw_jit *jit, int pid, const struct dw_memory *memory)
{
    *jit = (struct dw_jit){.pid = pid, .memory = *memory};
    return dw_jit_files_init(&jit->files, pid);
}

void dw_jit_release(struct dw_jit *jit)
{
    for (uint32_t i = 0; i < jit->area_count; i++)
        free(jit->areas[i].trampolines.unwinding.bytes);
    free(jit->areas);
    free(jit->mappings);
    dw_jit_lists_release(&jit->lists);
    dw_jit_files_release(&jit->files);
    *jit = (struct dw_jit){0};
}

bool dw_jit_has_news(const struct dw_jit *jit)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    return now_ns >= jit->rests_ns && (now_ns - jit->mapped_ns > AGAIN_NS ||
                                       dw_jit_lists_have_news(&jit->lists, &jit->memory) ||
                                       dw_jit_files_have_news(&jit->files));
}

static int by_address(const void *key, const void *entry)
{
    const struct dw_jit_range *range = entry;
    uint64_t address = *(const uint64_t *)key;
    return address < range->start ? -1 : address >= range->end;
}

static const struct dw_jit_range *find_mapping(const struct dw_jit *jit, uint64_t address)
{
    return jit->mapping_count ? bsearch(&address, jit->mappings, jit->mapping_count,
                                        sizeof *jit->mappings, by_address)
                              : NULL;
}

bool dw_jit_may_tell(const struct dw_jit *jit, uint64_t address)
{
    bool may_look = dw_clock_ns(CLOCK_MONOTONIC) >= jit->rests_ns;
    return may_look && (!find_mapping(jit, address) || dw_jit_has_news(jit));
}

static int add_mapping(void *context, const struct dw_map_line *line)
{
    struct dw_jit *jit = context;
    if (!line->is_executable)
        return 0;
    if (dw_jit_files_is_dump(&jit->files, line->path))
        return dw_jit_files_add_dump(&jit->files, line->path);
    if (!dw_map_line_is_made(line) || jit->mapping_count == MAX_MAPPINGS)
        return 0;
    int error = DW_GROW(jit->mappings, jit->mapping_count, jit->mapping_capacity);
    if (!error)
        jit->mappings[jit->mapping_count++] = (struct dw_jit_range){line->start, line->end};
    return error;
}

static int read_mappings(struct dw_jit *jit, bool *changed)
{
    struct dw_jit_range *before = jit->mappings;
    uint32_t count = jit->mapping_count;
    jit->mappings = NULL;
    jit->mapping_count = jit->mapping_capacity = 0;
    int error = dw_maps_each(jit->pid, add_mapping, jit);
    *changed |= count != jit->mapping_count ||
                (count && memcmp(before, jit->mappings, count * sizeof *before) != 0);
    free(before);
    return error;
}

static int search_area(const struct dw_jit *jit, struct dw_jit_area *area)
{
    size_t size = area->range.end - area->range.start;
    uint8_t *code = size <= MAX_AREA_BYTES ? malloc(size) : NULL;
    int error = 0;
    if (code && jit->memory.read(jit->memory.context, area->range.start, code, size))
        error = dw_trampolines_find(code, size, area->range.start, &area->trampolines);
    free(code);
    return error;
}

/* The area of a mapping that was there before, or NULL. */
static struct dw_jit_area *find_area(struct dw_jit_area *areas, uint32_t count,
                                     const struct dw_jit_range *range)
{
    struct dw_jit_area *area =
        count ? bsearch(&range->start, areas, count, sizeof *areas, by_address) : NULL;
    return area && area->range.start == range->start && area->range.end == range->end ? area : NULL;
}

/* Only mappings that are new are searched. */
static int search_areas(struct dw_jit *jit)
{
    struct dw_jit_area *made = calloc(jit->mapping_count + 1u, sizeof *made);
    int error = made ? 0 : DW_ERR_MEMORY;
    uint32_t count = 0;
    for (; !error && count < jit->mapping_count; count++) {
        struct dw_jit_area *known = find_area(jit->areas, jit->area_count, &jit->mappings[count]);
        made[count].range = jit->mappings[count];
        if (known) {
            made[count].trampolines = known->trampolines;
            known->trampolines.unwinding.bytes = NULL;
        } else {
            error = search_area(jit, &made[count]);
        }
    }
    for (uint32_t i = 0; i < jit->area_count && made; i++)
        dw_jit_lists_retire(&jit->lists, jit->areas[i].trampolines.unwinding.bytes);
    if (made) {
        free(jit->areas);
        jit->areas = made;
        jit->area_count = count;
    }
    return error;
}

bool dw_jit_is_trampoline(const struct dw_jit *jit, uint64_t address)
{
    const struct dw_jit_area *area =
        jit->area_count
            ? bsearch(&address, jit->areas, jit->area_count, sizeof *jit->areas, by_address)
            : NULL;
    return area && area->trampolines.count >= MIN_TRAMPOLINES;
}

bool dw_jit_has_code(const struct dw_jit *jit)
{
    return jit->mapping_count;
}

int dw_jit_look_at_memory(struct dw_jit *jit, bool *changed)
{
    *changed = false;
    jit->began_ns = dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return read_mappings(jit, changed);
}

int dw_jit_look(struct dw_jit *jit, bool *changed)
{
    int error = dw_jit_lists_read(&jit->lists, &jit->memory, changed);
    if (!error)
        error = dw_jit_files_read(&jit->files, changed);
    if (!error && *changed)
        error = search_areas(jit);
    jit->mapped_ns = dw_clock_ns(CLOCK_MONOTONIC);
    jit->rests_ns = jit->mapped_ns + REST * (dw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - jit->began_ns);
    return error;
}

static const struct dw_jit_name *find_name(struct dw_jit *jit, uint64_t address,
                                           const struct dw_jit_names **of)
{
    const struct dw_jit_name *listed = dw_jit_lists_find(&jit->lists, address, of);
    if (listed)
        return listed;
    *of = &jit->files.names;
    return dw_jit_names_find(&jit->files.names, address);
}

const char *dw_jit_find(struct dw_jit *jit, uint64_t address)
{
    const struct dw_jit_names *of;
    const struct dw_jit_name *name = find_name(jit, address, &of);
    return name ? dw_jit_name_text(of, name) : NULL;
}

static bool is_empty(const uint8_t *bytes)
{
    static const uint8_t none[EMPTY_BYTES];
    return !memcmp(bytes, none, sizeof none);
}

/* Code between empty memory, in what was read of a mapping. */
static bool find_in(const uint8_t *bytes, size_t size, size_t at, size_t *start, size_t *end)
{
    *start = at / PAGE_BYTES * PAGE_BYTES;
    while (*start && !is_empty(bytes + *start - EMPTY_BYTES))
        *start -= PAGE_BYTES;
    for (*end = at; *end + EMPTY_BYTES <= size && !is_empty(bytes + *end);)
        ++*end;
    return *end + EMPTY_BYTES <= size && *end > at;
}

static bool find_island(const struct dw_jit *jit, uint64_t address, struct dw_jit_range *range)
{
    const struct dw_jit_range *mapping = find_mapping(jit, address);
    size_t start, end;
    if (!mapping)
        return false;
    uint64_t page = address / PAGE_BYTES * PAGE_BYTES;
    uint64_t low =
        page - mapping->start > MAX_ISLAND_BYTES ? page - MAX_ISLAND_BYTES : mapping->start;
    uint64_t high =
        mapping->end - address > MAX_ISLAND_BYTES ? address + MAX_ISLAND_BYTES : mapping->end;
    uint8_t *bytes = malloc(high - low);
    bool is_found = bytes && jit->memory.read(jit->memory.context, low, bytes, high - low) &&
                    find_in(bytes, high - low, address - low, &start, &end) &&
                    (start || low == mapping->start);
    if (is_found)
        *range = (struct dw_jit_range){low + start, low + end};
    free(bytes);
    return is_found;
}

bool dw_jit_range(struct dw_jit *jit, uint64_t address, struct dw_jit_range *range)
{
    const struct dw_jit_names *of;
    const struct dw_jit_name *name = find_name(jit, address, &of);
    if (!name)
        return find_island(jit, address, range);
    *range = (struct dw_jit_range){name->start, name->end};
    return true;
}

void dw_jit_reap(struct dw_jit *jit)
{
    dw_jit_lists_reap(&jit->lists);
}

struct pieces {
    struct dw_unwind_module *pieces;
    uint32_t count, capacity;
};

static int add_piece(struct pieces *list, uint64_t start, uint64_t end,
                     const struct dw_eh_index *unwinding)
{
    if (start >= end)
        return 0;
    int error = DW_GROW(list->pieces, list->count, list->capacity);
    if (error)
        return error;
    struct dw_unwind_module piece = {.start = start, .end = end};
    if (unwinding && unwinding->bytes) {
        piece.hdr = piece.info_start = unwinding->hdr;
        piece.hdr_size = unwinding->hdr_size;
        piece.info_end = unwinding->end;
        piece.copy = unwinding->bytes;
    }
    list->pieces[list->count++] = piece;
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct dw_unwind_module *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Sorts what was added, and drops what overlaps the one before it. */
static void sort_pieces(struct pieces *list)
{
    uint32_t kept = 0;
    if (list->count)
        qsort(list->pieces, list->count, sizeof *list->pieces, by_start);
    for (uint32_t i = 0; i < list->count; i++)
        if (!kept || list->pieces[i].start >= list->pieces[kept - 1].end)
            list->pieces[kept++] = list->pieces[i];
    list->count = kept;
}

/* Whether it is apart from all modules that are known by their files. */
static bool is_apart(const struct dw_unwind_module *modules, uint32_t count,
                     const struct dw_jit_range *range)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (modules[middle].end <= range->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low == count || modules[low].start >= range->end;
}

static int add_described(const struct dw_jit *jit, const struct dw_unwind_module *modules,
                         uint32_t count, struct pieces *list)
{
    const struct dw_jit_object *object;
    int error = 0;
    for (uint32_t i = 0; !error && (object = dw_jit_lists_object(&jit->lists, i)); i++)
        for (uint32_t k = 0; k < object->code_count && !error; k++)
            if (is_apart(modules, count, &object->code[k]))
                error =
                    add_piece(list, object->code[k].start, object->code[k].end, &object->unwinding);
    for (uint32_t i = 0; i < jit->area_count && !error; i++)
        if (jit->areas[i].trampolines.count && is_apart(modules, count, &jit->areas[i].range))
            error = add_piece(list, jit->areas[i].range.start, jit->areas[i].range.end,
                              &jit->areas[i].trampolines.unwinding);
    return error;
}

/* The memory between pieces: return addresses in it may be good. */
static int add_gaps(const struct dw_jit *jit, const struct dw_unwind_module *modules,
                    uint32_t count, struct pieces *list)
{
    uint32_t described = list->count, at = 0;
    uint64_t covered = 0; /* covered by pieces so far; a piece may end beyond its mapping */
    int error = 0;
    for (uint32_t i = 0; i < jit->mapping_count && !error; i++) {
        const struct dw_jit_range *range = &jit->mappings[i];
        uint64_t start = range->start > covered ? range->start : covered;
        if (!is_apart(modules, count, range))
            continue;
        while (at < described && list->pieces[at].end <= start)
            at++;
        for (; at < described && list->pieces[at].start < range->end && !error; at++) {
            uint64_t end = list->pieces[at].end;
            error = add_piece(list, start, list->pieces[at].start, NULL);
            start = covered = end;
        }
        if (!error)
            error = add_piece(list, start, range->end, NULL);
    }
    return error;
}

int dw_jit_merge_modules(const struct dw_jit *jit, struct dw_unwind_module **modules,
                         uint32_t *count)
{
    struct pieces list = {0};
    struct dw_unwind_module *merged = NULL;
    int error = add_described(jit, *modules, *count, &list);
    sort_pieces(&list);
    if (!error)
        error = add_gaps(jit, *modules, *count, &list);
    if (!error && !(merged = malloc((*count + list.count + 1u) * sizeof *merged)))
        error = DW_ERR_MEMORY;
    if (!error) {
        if (*count)
            memcpy(merged, *modules, *count * sizeof *merged);
        if (list.count)
            memcpy(merged + *count, list.pieces, list.count * sizeof *merged);
        free(*modules);
        *modules = merged;
        *count += list.count;
        qsort(merged, *count, sizeof *merged, by_start);
    }
    free(list.pieces);
    return error;
}
