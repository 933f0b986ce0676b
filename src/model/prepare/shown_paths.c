/* SPDX-License-Identifier: MIT
 * Parents come before their children, so one walk over the old tree makes the new one. */
#include "model/prepare/shown_paths.h"

#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define INLINED_MAX 64 /* functions at one address; a program that nests more does not exist */
#define NO_FRAMES "[no frames]"

struct showing {
    struct dw_profile *profile;
    bool internals;
    bool *is_interpreter, *is_system; /* by module */
    struct dw_path_tree paths;        /* the new ones */
    dw_path_id *new_of;               /* by old path */
    bool *is_start;                   /* by old path: nothing but interpreter and system so far */
    bool *serves;         /* by old path: Python, or what works for Python and is left out */
    dw_path_id no_frames; /* where samples without frames go */
};

/* "python3.13", "libpython3.13.so.1.0", but not "python_speedups.so". */
static bool is_interpreter(const char *name)
{
    name += strncmp(name, "lib", 3) ? 0 : 3;
    return !strncmp(name, "python", 6) && (!name[6] || isdigit((unsigned char)name[6]));
}

/* A library of the system: what it does is the work of its caller. */
static bool is_system(const char *name)
{
    static const char *const known[] = {"libc.so", "libc-2",   "libm.so", "libm-2", "libpthread",
                                        "ld-musl", "ld-linux", "ld-2",    "[vdso]"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(name, known[i], strlen(known[i])))
            return true;
    return false;
}

static void sort_modules(struct showing *showing)
{
    const struct dw_profile *profile = showing->profile;
    for (uint32_t i = 0; i < profile->module_count; i++) {
        const char *path = dw_profile_string(profile, profile->modules[i].path).bytes;
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        showing->is_interpreter[i + 1] = is_interpreter(name);
        showing->is_system[i + 1] = is_system(name);
    }
}

/* The functions that were inlined at a place come after the one that they were inlined into. */
static int add_steps(struct showing *showing, dw_path_id parent, dw_place_id place,
                     dw_path_id *path)
{
    const struct dw_place *places = showing->profile->places.places;
    dw_place_id chain[INLINED_MAX];
    uint32_t count = 0;
    int error = 0;
    for (; place && count < INLINED_MAX; place = places[place].outer)
        chain[count++] = place;
    while (count && !error)
        error = dw_path_intern(&showing->paths, parent, chain[--count], &parent);
    *path = parent;
    return error;
}

static int show_path(struct showing *showing, dw_path_id path)
{
    const struct dw_profile *profile = showing->profile;
    const struct dw_path *old = &profile->paths.paths[path];
    const struct dw_place *place = &profile->places.places[old->step];
    bool is_python = profile->frames.frames[place->frame].kind == DW_FRAME_FUNCTION;
    bool is_own = showing->is_interpreter[place->module];
    dw_path_id parent = showing->new_of[old->parent];
    if (is_python && showing->is_start[old->parent])
        parent = DW_PATH_ROOT;
    showing->is_start[path] =
        showing->is_start[old->parent] && (is_own || showing->is_system[place->module]);
    bool is_left_out =
        is_own || (showing->is_system[place->module] && showing->serves[old->parent]);
    showing->serves[path] = is_python || is_left_out;
    if (is_left_out) {
        showing->new_of[path] = parent;
        return 0;
    }
    return add_steps(showing, parent, old->step, &showing->new_of[path]);
}

static int add_no_frames(struct showing *showing)
{
    struct dw_profile *profile = showing->profile;
    struct dw_frame frame = {.kind = DW_FRAME_MARK};
    struct dw_place place = {0};
    dw_place_id id;
    int error = dw_string_intern(&profile->strings, NO_FRAMES, strlen(NO_FRAMES), &frame.name);
    if (!error)
        error = dw_frame_intern(&profile->frames, &frame, &place.frame);
    if (!error)
        error = dw_place_intern(&profile->places, &place, &id);
    return error ? error : dw_path_intern(&showing->paths, DW_PATH_ROOT, id, &showing->no_frames);
}

static int new_path_of(struct showing *showing, dw_path_id old, bool is_sample, dw_path_id *path)
{
    *path = showing->new_of[old];
    if (*path != DW_PATH_ROOT || !is_sample)
        return 0;
    int error = showing->no_frames ? 0 : add_no_frames(showing);
    *path = showing->no_frames;
    return error;
}

static int move_row(struct showing *showing, struct dw_value_table *into,
                    const struct dw_value_table *from, struct dw_value_row row)
{
    int error = new_path_of(showing, row.path, row.mask & DW_STACK_MASK, &row.path);
    return error ? error : dw_value_row_merge(into, from, &row);
}

static int move_thread(struct showing *showing, struct dw_thread *thread)
{
    struct dw_value_table moved = {0};
    int error = 0;
    for (uint32_t i = 0; i < thread->values.count && !error; i++)
        error = move_row(showing, &moved, &thread->values, thread->values.rows[i]);
    for (uint32_t i = 0; i < thread->timed_count && !error; i++)
        error = new_path_of(showing, thread->timed[i].path, true, &thread->timed[i].path);
    dw_value_table_release(error ? &moved : &thread->values);
    if (!error)
        thread->values = moved;
    return error;
}

static void move_events(struct showing *showing)
{
    struct dw_profile *profile = showing->profile;
    for (uint32_t m = 0; m < profile->path_map_count; m++) {
        struct dw_path_map *map = &profile->path_maps[m];
        map->lost = showing->new_of[map->lost];
        for (uint32_t i = 0; i < map->count; i++)
            map->paths[i] = showing->new_of[map->paths[i]];
    }
    for (uint32_t i = 0; i < profile->block_count; i++)
        profile->blocks[i].top = showing->new_of[profile->blocks[i].top];
}

/* Profiles of other tools may show Python by nothing but its interpreter. */
static bool has_python(const struct dw_profile *profile)
{
    for (dw_place_id i = 1; i < profile->places.count; i++)
        if (profile->frames.frames[profile->places.places[i].frame].kind == DW_FRAME_FUNCTION)
            return true;
    return false;
}

/* Whether a sample of the thread has no frames. */
static bool lacks_frames(const struct dw_thread *thread)
{
    for (uint32_t i = 0; i < thread->values.count; i++)
        if (!thread->values.rows[i].path && thread->values.rows[i].mask & DW_STACK_MASK)
            return true;
    for (uint32_t i = 0; i < thread->timed_count; i++)
        if (!thread->timed[i].path)
            return true;
    return false;
}

/* Whether all paths stay as they are, as those of Python code alone do. */
static bool are_shown(const struct showing *showing)
{
    const struct dw_profile *profile = showing->profile;
    for (uint32_t i = 1; i <= profile->module_count; i++)
        if (showing->is_interpreter[i] || showing->is_system[i])
            return false;
    for (dw_place_id i = 1; i < profile->places.count; i++)
        if (profile->places.places[i].outer)
            return false;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (lacks_frames(&profile->threads[i]))
            return false;
    return true;
}

static int show(struct showing *showing)
{
    struct dw_profile *profile = showing->profile;
    if (!showing->is_interpreter || !showing->is_system || !showing->new_of || !showing->is_start ||
        !showing->serves)
        return DW_ERR_MEMORY;
    if (!showing->internals && has_python(profile))
        sort_modules(showing);
    if (are_shown(showing))
        return 0;
    showing->is_start[DW_PATH_ROOT] = true;
    int error = dw_path_tree_init(&showing->paths);
    for (dw_path_id path = 1; path < profile->paths.count && !error; path++)
        error = show_path(showing, path);
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        error = move_thread(showing, &profile->threads[i]);
    if (error)
        return error;
    move_events(showing);
    struct dw_path_tree old = profile->paths;
    profile->paths = showing->paths;
    showing->paths = old;
    return 0;
}

int dw_profile_show_paths(struct dw_profile *profile, bool internals)
{
    struct showing showing = {
        .profile = profile,
        .internals = internals,
        .is_interpreter = calloc(profile->module_count + 1u, sizeof(bool)),
        .is_system = calloc(profile->module_count + 1u, sizeof(bool)),
        .new_of = calloc(profile->paths.count + 1u, sizeof(dw_path_id)),
        .is_start = calloc(profile->paths.count + 1u, sizeof(bool)),
        .serves = calloc(profile->paths.count + 1u, sizeof(bool)),
    };
    int error = show(&showing);
    dw_path_tree_release(&showing.paths);
    free(showing.is_interpreter);
    free(showing.is_system);
    free(showing.new_of);
    free(showing.is_start);
    free(showing.serves);
    return error;
}
