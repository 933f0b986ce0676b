/* SPDX-License-Identifier: MIT
 * Three rounds: frames of one name in one file; functions that moved, whose name is
 * left over once on each side; and what else is in files that those moved between. */
#include "lens/diff/diff_places.h"

#include "base/order.h"
#include "lens/diff/diff_order.h"
#include "lens/view/functions.h"

#include <stdlib.h>

struct entry {
    enum dw_side side;
    dw_frame_id frame;
    uint32_t kind;
    struct dw_string name; /* without what differs from run to run */
    uint32_t file;
    uint32_t line;
    uint32_t place;
};

struct matching {
    const struct dw_profile *const *profiles;
    struct dw_diff_files files;
    struct dw_diff_places *places;
    struct entry *entries;
    uint32_t count;
    struct dw_diff_anchors anchors;
    struct dw_room room;
};

/* "f() <x.py:12>" of a region that named itself is "f()"; "<built-in method x of type
 * object at 0x7f12>" ends before the address. */
static struct dw_string lasting_name(const struct dw_profile *profile, const struct dw_frame *frame)
{
    struct dw_string name = dw_profile_string(profile, frame->name);
    const char *cut = NULL;
    if (frame->kind == DW_FRAME_REGION && frame->file)
        cut = memrchr(name.bytes, '<', name.size);
    else if (frame->kind == DW_FRAME_BUILTIN)
        cut = memmem(name.bytes, name.size, " at 0x", 6);
    return cut ? (struct dw_string){name.bytes, (size_t)(cut - name.bytes)} : name;
}

static void add_entries(struct matching *matching, enum dw_side side)
{
    const struct dw_profile *profile = matching->profiles[side];
    for (dw_frame_id i = 1; i < profile->frames.count; i++) {
        const struct dw_frame *frame = &profile->frames.frames[i];
        if (!dw_frame_kind_takes_time(frame->kind))
            continue;
        matching->entries[matching->count++] =
            (struct entry){.side = side,
                           .frame = i,
                           .kind = frame->kind,
                           .name = lasting_name(profile, frame),
                           .file = matching->files.of_string[side][frame->file],
                           .line = frame->line,
                           .place = DW_DIFF_NONE};
    }
}

static int compare_names(const struct entry *a, const struct entry *b)
{
    return dw_ascending(a->kind, b->kind) ?: dw_string_compare(a->name, b->name);
}

static int compare_keys(const struct entry *a, const struct entry *b)
{
    return compare_names(a, b) ?: dw_ascending(a->file, b->file);
}

/* Those that are in a place already come last. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return dw_ascending(a->place != DW_DIFF_NONE, b->place != DW_DIFF_NONE) ?: compare_keys(a, b)
           ?: dw_ascending(a->side, b->side) ?: dw_ascending(a->line, b->line)
           ?: dw_ascending(a->frame, b->frame);
}

static uint32_t new_place(struct matching *matching, uint32_t kind)
{
    matching->places->places[matching->places->count] = (struct dw_diff_place){.kind = kind};
    return matching->places->count++;
}

static void put(struct matching *matching, struct entry *entry, uint32_t index)
{
    struct dw_diff_place *place = &matching->places->places[index];
    entry->place = index;
    place->frames[entry->side] = entry->frame;
    place->is_in[entry->side] = true;
    matching->places->of_frame[entry->side][entry->frame] = index;
}

static void pair(struct matching *matching, struct entry *old, struct entry *new)
{
    uint32_t place = new_place(matching, old->kind);
    put(matching, old, place);
    put(matching, new, place);
}

/* Entries of one key: the old ones, then the new ones, each in order of lines. */
struct group {
    struct entry *old, *new;
    uint32_t old_count, new_count;
};

/* Sorts the entries that are in no place yet; returns how many they are. */
static uint32_t sort_free(struct matching *matching)
{
    uint32_t count = 0;
    qsort(matching->entries, matching->count, sizeof *matching->entries, compare_entries);
    while (count < matching->count && matching->entries[count].place == DW_DIFF_NONE)
        count++;
    return count;
}

typedef int compare_two(const struct entry *a, const struct entry *b);

/* The group that starts at an entry; its end is behind what compares as equal. */
static struct group group_at(struct entry *start, const struct entry *end, compare_two *compare)
{
    struct group group = {.old = start};
    struct entry *at = start;
    while (at < end && !compare(start, at) && at->side == DW_OLD)
        at++;
    group.new = at;
    while (at < end && !compare(start, at))
        at++;
    group.old_count = (uint32_t)(group.new - start);
    group.new_count = (uint32_t)(at - group.new);
    return group;
}

static bool is_pair(const struct group *group)
{
    return group->old_count == 1 && group->new_count == 1;
}

/* What has no line cannot be told apart: all of it is one place. */
static void put_together(struct matching *matching, struct group *group)
{
    uint32_t place = new_place(matching, group->old->kind);
    for (uint32_t i = 0; i < group->old_count + group->new_count; i++)
        put(matching, &group->old[i], place);
}

static int pair_in_order(struct matching *matching, struct group *group)
{
    uint32_t count = group->old_count + group->new_count, *mates = malloc(count * sizeof *mates);
    uint32_t *lines = malloc(count * sizeof *lines);
    int error = lines && mates ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 0; i < count && !error; i++)
        lines[i] = group->old[i].line;
    if (!error)
        error = dw_diff_pair_lines(&matching->anchors, group->old->file, lines, group->old_count,
                                   lines + group->old_count, group->new_count, mates);
    for (uint32_t i = 0; i < group->old_count && !error; i++)
        if (mates[i] != DW_DIFF_NONE)
            pair(matching, &group->old[i], &group->new[mates[i]]);
    free(mates);
    free(lines);
    return error;
}

/* Pairs what is alone of its key first: how far it moved says where to look for others. */
static int pair_keys(struct matching *matching)
{
    uint32_t count = sort_free(matching);
    struct entry *end = matching->entries + count;
    struct group group;
    int error = 0;
    for (struct entry *at = matching->entries; at < end; at = group.new + group.new_count) {
        group = group_at(at, end, compare_keys);
        if (!group.old->line && group.old_count + group.new_count > 1)
            put_together(matching, &group);
        else if (is_pair(&group)) {
            pair(matching, group.old, group.new);
            error = dw_diff_anchor_add(&matching->anchors, group.old->file, group.old->line,
                                       group.new->line);
        }
        if (error)
            return error;
    }
    dw_diff_anchors_sort(&matching->anchors);
    for (struct entry *at = matching->entries; at < end && !error;
         at = group.new + group.new_count) {
        group = group_at(at, end, compare_keys);
        if (at->place == DW_DIFF_NONE && group.old_count && group.new_count)
            error = pair_in_order(matching, &group);
    }
    return error;
}

static int compare_movers(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return compare_names(a, b) ?: dw_ascending(a->side, b->side);
}

/* Every file has a <module>, every class an __init__: such names say nothing. */
static bool is_telling(const struct entry *entry)
{
    return entry->kind == DW_FRAME_FUNCTION && entry->name.size && *entry->name.bytes != '<' &&
           strncmp(entry->name.bytes, "__", 2) != 0;
}

/* Functions in other files than before. A file that is on one side only then stands for the
 * one that its functions moved to. */
static void pair_moved(struct matching *matching, uint32_t *renamed)
{
    uint32_t count = sort_free(matching);
    const struct dw_diff_file *files = matching->files.files;
    struct entry *end = matching->entries + count;
    struct group group;
    qsort(matching->entries, count, sizeof *matching->entries, compare_movers);
    for (struct entry *at = matching->entries; at < end; at = group.new + group.new_count) {
        group = group_at(at, end, compare_names);
        if (!is_pair(&group) || !is_telling(at))
            continue;
        pair(matching, group.old, group.new);
        if (!files[group.old->file].is_in[DW_NEW] && !files[group.new->file].is_in[DW_OLD])
            renamed[group.old->file] = group.new->file;
    }
}

static int pair_in_renamed_files(struct matching *matching)
{
    uint32_t *renamed = dw_room_get(&matching->room, matching->files.count, sizeof *renamed);
    if (!renamed)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < matching->files.count; i++)
        renamed[i] = i;
    pair_moved(matching, renamed);
    for (uint32_t i = 0; i < matching->count; i++)
        matching->entries[i].file = renamed[matching->entries[i].file];
    return pair_keys(matching);
}

static void describe(const struct matching *matching, struct dw_diff_place *place)
{
    enum dw_side side = place->is_in[DW_NEW] ? DW_NEW : DW_OLD;
    const struct dw_profile *profile = matching->profiles[side];
    const struct dw_frame *frame = &profile->frames.frames[place->frames[side]];
    place->name = dw_profile_string(profile, frame->name);
    place->file = dw_profile_string(profile, frame->file);
    place->line = frame->line;
    if (side == DW_OLD || !place->is_in[DW_OLD])
        return;
    const struct dw_profile *old = matching->profiles[DW_OLD];
    dw_string_id was = old->frames.frames[place->frames[DW_OLD]].file;
    if (matching->files.of_string[DW_OLD][was] != matching->files.of_string[DW_NEW][frame->file])
        place->moved = dw_profile_string(old, was);
}

static int shorten_files(struct dw_diff_places *places)
{
    struct dw_function *shown = dw_room_get(&places->room, places->count, sizeof *shown);
    if (!shown)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < places->count; i++) {
        const struct dw_diff_place *place = &places->places[i];
        shown[i] = (struct dw_function){place->file, place->line, place->name, {0}};
    }
    int error = dw_functions_strip_dirs(shown, sizeof *shown, places->count);
    for (uint32_t i = 0; i < places->count && !error; i++)
        places->places[i].shown = shown[i].file;
    return error;
}

static int match(struct matching *matching)
{
    uint32_t root = new_place(matching, DW_FRAME_ROOT);
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        put(matching, &(struct entry){.side = side}, root);
        add_entries(matching, side);
    }
    int error = pair_keys(matching);
    if (!error)
        error = pair_in_renamed_files(matching);
    for (uint32_t i = 0; i < matching->count && !error; i++)
        if (matching->entries[i].place == DW_DIFF_NONE)
            put(matching, &matching->entries[i], new_place(matching, matching->entries[i].kind));
    for (uint32_t i = 0; i < matching->places->count; i++)
        describe(matching, &matching->places->places[i]);
    return error ? error : shorten_files(matching->places);
}

static int init(struct dw_diff_places *places, const struct dw_profile *const profiles[DW_SIDES],
                struct matching *matching)
{
    size_t count = 0;
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        places->of_frame[side] = dw_room_get_ids(&places->room, profiles[side]->frames.count);
        count += profiles[side]->frames.count;
    }
    DW_ROOM_GET(&places->room, places->places, count);
    DW_ROOM_GET(&matching->room, matching->entries, count);
    return places->room.failed ? DW_ERR_MEMORY : dw_room_error(&matching->room);
}

int dw_diff_places_make(const struct dw_profile *const profiles[DW_SIDES],
                        struct dw_diff_places *places)
{
    struct dw_diff_places made = {0};
    struct matching matching = {.profiles = profiles, .places = &made};
    int error = init(&made, profiles, &matching);
    if (!error)
        error = dw_diff_files_make(profiles, &matching.files);
    if (!error)
        error = match(&matching);
    dw_diff_files_release(&matching.files);
    dw_diff_anchors_release(&matching.anchors);
    dw_room_release(&matching.room);
    if (error)
        dw_diff_places_release(&made);
    else
        *places = made;
    return error;
}

void dw_diff_places_release(struct dw_diff_places *places)
{
    dw_room_release(&places->room);
}
