/* SPDX-License-Identifier: MIT
 * The kernel tells what is resident of each mapping, allocators what they have in use, and
 * dw_allocs what was recorded. What is left over is called so, and nothing is counted twice. An
 * estimate by samples is never larger than what it is a part of. */
#define _GNU_SOURCE
#include "probe/memory/resident_parts.h"

#include "probe/memory/alloc_sites.h"
#include "probe/memory/block_shadow.h"
#include "probe/memory/library_use.h"
#include "probe/memory/malloc_use.h"
#include "probe/memory/mappings.h"
#include "probe/memory/own_blocks.h"
#include "probe/memory/pool_hooks.h"
#include "probe/memory/resident_bytes.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define GUARD_MAX 65536u

static uint64_t less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct mapped {
    uint64_t all, files, stacks, heap;
};

enum area { AREA_OTHER, AREA_FILE, AREA_STACK, AREA_HEAP };

struct area_line {
    uint64_t start, end;
    char rights[5], path[256];
};

/* Memory that processes share has the name of a file. */
static enum area area_of(const struct area_line *line)
{
    if (!strcmp(line->path, "[stack]"))
        return AREA_STACK;
    if (!strcmp(line->path, "[heap]"))
        return AREA_HEAP;
    bool is_file = *line->path == '/' && strcmp(line->path, "/dev/zero") != 0;
    return is_file || !strncmp(line->path, "[v", 2) ? AREA_FILE : AREA_OTHER;
}

/* The size of a thread's stack, which lies behind a little memory that nobody may touch. Other
 * memory may follow it in the same mapping. */
static uint64_t stack_in(const struct area_line *line, const struct area_line *before,
                         uint64_t stack_bytes)
{
    if (line->start != before->end || strcmp(before->rights, "---p") != 0 ||
        before->end - before->start > GUARD_MAX)
        return 0;
    return smaller(line->end - line->start, stack_bytes);
}

static uint64_t usual_stack_bytes(void)
{
    pthread_attr_t usual;
    size_t bytes = 0;
    if (!pthread_getattr_default_np(&usual)) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes;
}

static enum area begin_area(struct mapped *sums, const struct area_line *line,
                            const struct area_line *before, uint64_t stack_bytes)
{
    enum area area = area_of(line);
    if (area == AREA_OTHER && !strcmp(line->rights, "rw-p")) {
        sums->heap += dw_malloc_heaps_in(line->start, line->end);
        sums->stacks +=
            dw_resident_bytes((void *)(uintptr_t)line->start, stack_in(line, before, stack_bytes));
    }
    return area;
}

static bool read_area(const char *text, struct area_line *line)
{
    *line = (struct area_line){0};
    return sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %255s", &line->start, &line->end,
                  line->rights, line->path) >= 3;
}

static uint64_t leave_out(void *memory, size_t size)
{
    return dw_mapping_remove((uintptr_t)memory, size);
}

static bool is_earlier_new; /* and has blocks of malloc in it */

void dw_resident_begin(void)
{
    char text[512];
    struct area_line line = {0};
    uint64_t stack_bytes = usual_stack_bytes();
    bool is_of_library = !strcmp(dw_malloc_use_find(0).name, "malloc");
    FILE *file = is_of_library ? fopen("/proc/self/maps", "re") : NULL;
    while (file && fgets(text, sizeof text, file)) {
        struct area_line before = line;
        if (read_area(text, &line) && area_of(&line) == AREA_OTHER && !strcmp(line.rights, "rw-p"))
            dw_mapping_put_earlier(line.start + stack_in(&line, &before, stack_bytes), line.end);
    }
    if (file)
        fclose(file);
    dw_shadow_sum(leave_out);
    is_earlier_new = true;
}

static void remove_pieces(uint64_t start, uint64_t end)
{
    while (start < end) {
        struct dw_malloc_piece piece = dw_malloc_first_in(start, end);
        if (piece.size && dw_alloc_lock_or_leave()) {
            dw_mapping_remove(piece.start, piece.size);
            dw_alloc_unlock();
        }
        start = piece.start + piece.size;
    }
}

static struct dw_mapping *copy_mappings(uint32_t *count)
{
    *count = 0;
    if (!dw_alloc_lock_or_leave())
        return NULL;
    struct dw_mapping *copy = dw_mappings_copy(count);
    dw_alloc_unlock();
    return copy;
}

/* What the C library had for malloc it counts itself. All pages are looked at, so this is done when
 * it is first asked for, and not while the program waits for the recording to begin. */
static void leave_out_malloc(void)
{
    uint32_t count;
    struct dw_mapping *mappings = copy_mappings(&count);
    for (uint32_t i = 0; i < count; i++)
        if (mappings[i].of.is_earlier)
            remove_pieces(mappings[i].start, mappings[i].end);
    free(mappings);
}

static bool read_mappings(struct mapped *sums)
{
    char text[512];
    struct area_line line = {0}, before;
    enum area area = AREA_OTHER;
    uint64_t size, stack_bytes = usual_stack_bytes(), others = 0;
    uint64_t *const of[] = {&others, &sums->files, &sums->stacks, &sums->heap};
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && fgets(text, sizeof text, file)) {
        struct area_line next;
        if (read_area(text, &next)) {
            before = line;
            line = next;
            area = begin_area(sums, &line, &before, stack_bytes);
        } else if (sscanf(text, "Rss: %" SCNu64 " kB", &size) == 1) {
            sums->all += size << 10;
            *of[area] += size << 10;
        }
    }
    if (file)
        fclose(file);
    return sums->all > 0;
}

static void add_part(struct dw_resident_parts *parts, const char *before, const char *name,
                     const char *after, uint64_t bytes)
{
    struct dw_resident_part *part = &parts->more[parts->more_count];
    if (!bytes || parts->more_count == DW_RESIDENT_MORE)
        return;
    snprintf(part->name, sizeof part->name, "<%s%.90s%s>", before, name, after);
    part->bytes = bytes;
    parts->more_count++;
}

/* What is free, and what is in use but was not recorded, goes by the name of the allocator. */
static void put_malloc_rest(struct dw_resident_parts *parts, const struct dw_malloc_use *use,
                            uint64_t unseen)
{
    if (!strcmp(use->name, "malloc")) {
        parts->bytes[DW_RESIDENT_FREE] = use->free;
        parts->bytes[DW_RESIDENT_BEFORE] = unseen;
    } else if (use->is_in_use_known) {
        add_part(parts, "free, kept by ", use->name, "", use->free);
        add_part(parts, "", use->name, ": from before, unseen, or overhead", unseen);
    } else {
        add_part(parts, "", use->name, ": free, unseen, or overhead", use->free);
    }
}

static uint64_t explained_by(const struct dw_resident_parts *parts)
{
    uint64_t bytes = 0;
    for (int i = 0; i < DW_RESIDENT_OTHER; i++)
        bytes += parts->bytes[i];
    for (uint32_t i = 0; i < parts->more_count; i++)
        bytes += parts->more[i].bytes;
    return bytes;
}

/* The last part, since allocators other than the C library's know no more than how much of what is
 * free may be in memory. */
static void put_malloc(struct dw_resident_parts *parts, const uint64_t live[DW_ALLOC_KINDS],
                       const struct dw_own_use *own, const struct mapped *mapped)
{
    struct dw_malloc_use use = dw_malloc_use_find(mapped->heap + own->unused_in_heap);
    uint64_t large = live[DW_ALLOC_LARGE], native = live[DW_ALLOC_MALLOC];
    uint64_t recorded = large + native, in_use = less(use.in_use, own->bytes);
    uint64_t unseen = less(in_use, recorded);
    if (use.is_in_use_known && recorded > in_use) {
        large = (uint64_t)((double)large * (double)in_use / (double)recorded);
        native = in_use - large;
    }
    if (!use.is_in_use_known)
        use.free = less(use.free, recorded + own->bytes);
    parts->bytes[DW_RESIDENT_PYTHON] += large;
    parts->bytes[DW_RESIDENT_NATIVE] += native;
    if (use.is_free_a_bound)
        use.free = smaller(use.free, less(mapped->all, explained_by(parts) + unseen));
    put_malloc_rest(parts, &use, unseen);
}

/* Objects are in arenas that are new or in those from before. */
static void put_arenas(struct dw_resident_parts *parts, uint64_t live,
                       const struct dw_mapping *mappings, uint32_t count)
{
    uint64_t arenas = 0, earlier = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!mappings[i].of.caller)
            *(mappings[i].of.is_earlier ? &earlier : &arenas) +=
                dw_resident_bytes((void *)mappings[i].start, mappings[i].end - mappings[i].start);
    if (arenas + earlier)
        live = smaller(live, arenas + earlier);
    parts->bytes[DW_RESIDENT_PYTHON] += live;
    parts->bytes[DW_RESIDENT_ARENAS] += less(arenas, live);
    parts->bytes[DW_RESIDENT_EARLIER] += earlier - less(live, arenas);
}

/* What a library has from its allocator is known when that is recorded, or if it counts itself. */
static void put_library(struct dw_resident_parts *parts, const struct dw_library_use *use,
                        bool is_recorded, uint64_t recorded)
{
    bool is_known = is_recorded || use->is_in_use_known;
    uint64_t in_use = smaller(is_recorded ? recorded : use->in_use, use->resident);
    if (!*use->name)
        parts->bytes[DW_RESIDENT_MAPPED] += use->resident;
    else if (!is_known)
        add_part(parts, "", use->name, use->is_allocator ? DW_RESIDENT_UNSEEN : "", use->resident);
    else
        add_part(parts, "", use->name, ": live", in_use);
    if (is_known)
        add_part(parts, "", use->name, ": free, or unseen", use->resident - in_use);
}

static void put_libraries(struct dw_resident_parts *parts, const uint64_t live[DW_ALLOC_KINDS],
                          struct dw_sample_natives *natives, const struct dw_mapping *mappings,
                          uint32_t count)
{
    struct dw_library_use uses[DW_LIBRARIES];
    uint32_t found = dw_library_uses_find(natives, mappings, count, uses);
    bool are_put[DW_ALLOC_KINDS] = {false};
    for (uint32_t i = 0; i < found; i++) {
        enum dw_alloc_kind kind = uses[i].kind;
        bool is_recorded =
            kind < DW_ALLOC_KINDS && !are_put[kind] && dw_pool_hooks_watch(kind, uses[i].base);
        put_library(parts, &uses[i], is_recorded, is_recorded ? live[kind] : 0);
        if (is_recorded)
            are_put[kind] = true;
    }
}

bool dw_resident_find(struct dw_sample_natives *natives, struct dw_resident_parts *parts)
{
    struct mapped mapped = {0};
    uint64_t live[DW_ALLOC_KINDS];
    uint32_t count;
    *parts = (struct dw_resident_parts){.more_count = 0};
    if (is_earlier_new)
        leave_out_malloc();
    is_earlier_new = false;
    if (!read_mappings(&mapped) || !dw_alloc_lock_or_leave())
        return false;
    dw_alloc_live_bytes(live);
    struct dw_mapping *mappings = dw_mappings_copy(&count);
    dw_alloc_unlock();
    struct dw_own_use own = dw_own_blocks_use();
    put_arenas(parts, live[DW_ALLOC_PYTHON], mappings, count);
    put_libraries(parts, live, natives, mappings, count);
    free(mappings);
    parts->bytes[DW_RESIDENT_FILES] = mapped.files;
    parts->bytes[DW_RESIDENT_STACKS] = mapped.stacks;
    parts->bytes[DW_RESIDENT_DWELL] = dw_shadow_sum(dw_resident_bytes) + own.bytes - own.unused;
    put_malloc(parts, live, &own, &mapped);
    uint64_t explained = explained_by(parts);
    parts->bytes[DW_RESIDENT_OTHER] = less(mapped.all, explained);
    parts->bytes[DW_RESIDENT_UNTOUCHED] = less(explained, mapped.all);
    return true;
}
