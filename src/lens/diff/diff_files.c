/* SPDX-License-Identifier: MIT
 * The longer the common end of two paths, the surer they are one file. So ends are
 * compared from long to short, and a pair is taken where nothing else has its end. */
#include "lens/diff/diff_files.h"

#include "base/order.h"

#include <stdlib.h>

#define PARTS_MAX 64 /* names at the end of a path that are ever looked at */

struct path {
    enum dw_side side;
    dw_string_id string;
    struct dw_string text;
    uint32_t parts; /* names between slashes */
    struct dw_string end;
    uint32_t file;
};

struct paths {
    struct path *paths;
    uint32_t count;
};

static uint32_t count_parts(struct dw_string text)
{
    uint32_t parts = 1;
    for (size_t i = 0; i < text.size && parts < PARTS_MAX; i++)
        parts += text.bytes[i] == '/';
    return parts;
}

/* The last `parts` names of the path. */
static struct dw_string end_of(struct dw_string text, uint32_t parts)
{
    size_t start = text.size;
    for (; start; start--)
        if (text.bytes[start - 1] == '/' && !--parts)
            break;
    return (struct dw_string){text.bytes + start, text.size - start};
}

static void add_paths(struct paths *paths, const struct dw_profile *profile, enum dw_side side,
                      uint32_t *of_string)
{
    for (dw_frame_id i = 0; i < profile->frames.count; i++) {
        dw_string_id string = profile->frames.frames[i].file;
        if (!string || of_string[string] != DW_DIFF_NONE)
            continue;
        struct dw_string text = dw_profile_string(profile, string);
        of_string[string] = 0;
        paths->paths[paths->count++] = (struct path){.side = side,
                                                     .string = string,
                                                     .text = text,
                                                     .parts = count_parts(text),
                                                     .end = text,
                                                     .file = DW_DIFF_NONE};
    }
}

static int compare_paths(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    return dw_string_compare(a->end, b->end) ?: dw_ascending(a->side, b->side)
           ?: dw_string_compare(a->text, b->text);
}

static void take(struct dw_diff_files *files, struct path *path, uint32_t file)
{
    path->file = file;
    files->files[file].paths[path->side] = path->text;
    files->files[file].is_in[path->side] = true;
    files->of_string[path->side][path->string] = file;
}

/* Takes the paths that share their end with exactly one other, of the other side. */
static void take_pairs(struct dw_diff_files *files, struct path *paths, uint32_t count)
{
    qsort(paths, count, sizeof *paths, compare_paths);
    for (uint32_t start = 0, next; start < count; start = next) {
        next = start + 1;
        while (next < count && !dw_string_compare(paths[start].end, paths[next].end))
            next++;
        if (next - start != 2 || paths[start].side == paths[start + 1].side)
            continue;
        take(files, &paths[start], files->count);
        take(files, &paths[start + 1], files->count++);
    }
}

/* Moves the paths that are still free to the front; returns how many there are. */
static uint32_t keep_free(struct path *paths, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (paths[i].file == DW_DIFF_NONE)
            paths[kept++] = paths[i];
    return kept;
}

static void match(struct dw_diff_files *files, struct paths *paths)
{
    take_pairs(files, paths->paths, paths->count); /* whole paths */
    paths->count = keep_free(paths->paths, paths->count);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < paths->count; i++)
        if (paths->paths[i].parts > longest)
            longest = paths->paths[i].parts;
    for (uint32_t parts = longest; parts && paths->count; parts--) {
        for (uint32_t i = 0; i < paths->count; i++)
            paths->paths[i].end = end_of(paths->paths[i].text, parts);
        take_pairs(files, paths->paths, paths->count);
        paths->count = keep_free(paths->paths, paths->count);
    }
    for (uint32_t i = 0; i < paths->count; i++)
        take(files, &paths->paths[i], files->count++);
}

static int init(struct dw_diff_files *files, const struct dw_profile *const profiles[DW_SIDES],
                struct paths *paths)
{
    size_t count = 1;
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        files->of_string[side] = dw_room_get_ids(&files->room, profiles[side]->strings.count);
        if (files->of_string[side])
            files->of_string[side][0] = 0;
        count += profiles[side]->strings.count;
    }
    DW_ROOM_GET(&files->room, files->files, count);
    DW_ROOM_GET(&files->room, paths->paths, count);
    files->count = 1;
    return dw_room_error(&files->room);
}

int dw_diff_files_make(const struct dw_profile *const profiles[DW_SIDES],
                       struct dw_diff_files *files)
{
    struct dw_diff_files made = {0};
    struct paths paths = {0};
    int error = init(&made, profiles, &paths);
    for (enum dw_side side = 0; side < DW_SIDES && !error; side++)
        add_paths(&paths, profiles[side], side, made.of_string[side]);
    if (error) {
        dw_diff_files_release(&made);
    } else {
        match(&made, &paths);
        *files = made;
    }
    return error;
}

void dw_diff_files_release(struct dw_diff_files *files)
{
    dw_room_release(&files->room);
}
