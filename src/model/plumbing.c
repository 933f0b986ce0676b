/* SPDX-License-Identifier: MIT */
#include "model/plumbing.h"

#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct hiding {
    struct dw_profile *profile;
    bool *is_interpreter, *is_system; /* by module */
    struct dw_path_tree stacks;       /* the new ones */
    dw_path_id *new_of;               /* by old stack */
    bool *is_start;                   /* by old stack: nothing but interpreter and system so far */
    bool *serves;                     /* the same: Python, or what works for Python and is hidden */
};

/* "python3.13", "libpython3.13.so.1.0", but not "python_speedups.so". */
static bool is_interpreter(const char *name)
{
    name += strncmp(name, "lib", 3) ? 0 : 3;
    return !strncmp(name, "python", 6) && (!name[6] || isdigit((unsigned char)name[6]));
}

/* Libraries of the system, whose functions are whose caller's work. */
static bool is_system(const char *name)
{
    static const char *const known[] = {"libc.so", "libc-2",   "libm.so", "libm-2", "libpthread",
                                        "ld-musl", "ld-linux", "ld-2",    "[vdso]"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(name, known[i], strlen(known[i])))
            return true;
    return false;
}

static void sort_modules(struct hiding *hiding)
{
    const struct dw_profile *profile = hiding->profile;
    for (uint32_t i = 0; i < profile->module_count; i++) {
        const char *path = dw_profile_string(profile, profile->modules[i].path).bytes;
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        hiding->is_interpreter[i + 1] = is_interpreter(name);
        hiding->is_system[i + 1] = is_system(name);
    }
}

static int rebuild(struct hiding *hiding, dw_path_id stack)
{
    const struct dw_profile *profile = hiding->profile;
    const struct dw_path *old = &profile->stacks.paths[stack];
    const struct dw_place *place = &profile->places.places[old->frame];
    bool is_python = profile->frames.frames[place->frame].kind == DW_FRAME_FUNCTION;
    dw_path_id parent = hiding->new_of[old->parent];
    if (is_python && hiding->is_start[old->parent])
        parent = DW_PATH_ROOT;
    hiding->is_start[stack] =
        hiding->is_start[old->parent] &&
        (hiding->is_interpreter[place->module] || hiding->is_system[place->module]);
    bool is_hidden = hiding->is_interpreter[place->module] ||
                     (hiding->is_system[place->module] && hiding->serves[old->parent]);
    hiding->serves[stack] = is_python || is_hidden;
    if (is_hidden) {
        hiding->new_of[stack] = parent;
        return 0;
    }
    return dw_path_intern(&hiding->stacks, parent, old->frame, &hiding->new_of[stack]);
}

static int hide(struct hiding *hiding)
{
    struct dw_profile *profile = hiding->profile;
    if (!hiding->is_interpreter || !hiding->is_system || !hiding->new_of || !hiding->is_start ||
        !hiding->serves)
        return DW_ERR_MEMORY;
    sort_modules(hiding);
    hiding->is_start[DW_PATH_ROOT] = true;
    int error = dw_path_tree_init(&hiding->stacks);
    for (dw_path_id stack = 1; stack < profile->stacks.count && !error; stack++)
        error = rebuild(hiding, stack);
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        error = dw_thread_move_samples(&profile->threads[i], hiding->new_of);
    return error;
}

/* Profiles of other tools may show Python by nothing but its interpreter. */
static bool has_python(const struct dw_profile *profile)
{
    for (dw_place_id i = 1; i < profile->places.count; i++)
        if (profile->frames.frames[profile->places.places[i].frame].kind == DW_FRAME_FUNCTION)
            return true;
    return false;
}

int dw_samples_hide_plumbing(struct dw_profile *profile)
{
    if (!has_python(profile))
        return 0;
    struct hiding hiding = {
        .profile = profile,
        .is_interpreter = calloc(profile->module_count + 1u, sizeof(bool)),
        .is_system = calloc(profile->module_count + 1u, sizeof(bool)),
        .new_of = calloc(profile->stacks.count + 1u, sizeof(dw_path_id)),
        .is_start = calloc(profile->stacks.count + 1u, sizeof(bool)),
        .serves = calloc(profile->stacks.count + 1u, sizeof(bool)),
    };
    int error = hide(&hiding);
    if (!error) {
        struct dw_path_tree old = profile->stacks;
        profile->stacks = hiding.stacks;
        hiding.stacks = old;
    }
    dw_path_tree_release(&hiding.stacks);
    free(hiding.is_interpreter);
    free(hiding.is_system);
    free(hiding.new_of);
    free(hiding.is_start);
    free(hiding.serves);
    return error;
}
