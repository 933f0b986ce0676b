/* SPDX-License-Identifier: MIT
 * The name is found by the directories around the file: those that have an __init__.py, or that lie
 * behind one that Python imports from. */
#define _GNU_SOURCE
#include "model/extension_names.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_MAX_BYTES 4096

/* Of the module in a file of that name; 0: there is none. */
static size_t stem_size(const char *base)
{
    const char *tag = strstr(base, ".cpython-");
    if (!tag)
        tag = strstr(base, ".abi3.so");
    return tag ? (size_t)(tag - base) : 0;
}

/* Behind the last directory on the path that Python imports from; NULL when none is known. */
static const char *behind_import_directory(const char *path)
{
    static const char *const directories[] = {"/site-packages/", "/dist-packages/",
                                              "/lib-dynload/"};
    const char *behind = NULL;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        for (const char *at = path; (at = strstr(at, directories[i])); at++)
            if (!behind || at + strlen(directories[i]) > behind)
                behind = at + strlen(directories[i]);
    return behind;
}

static bool is_package(const char *path, size_t directory_size)
{
    char file[PATH_MAX_BYTES];
    int size = snprintf(file, sizeof file, "%.*s/__init__.py", (int)directory_size, path);
    return size > 0 && (size_t)size < sizeof file && !access(file, F_OK);
}

/* The outermost package around the file, or the file. */
static const char *outermost_package(const char *path)
{
    const char *start = basename(path);
    while (start - path > 1 && is_package(path, (size_t)(start - path) - 1)) {
        const char *slash = memrchr(path, '/', (size_t)(start - path) - 1);
        if (!slash)
            break;
        start = slash + 1;
    }
    return start;
}

bool dw_extension_name(const char *path, char name[DW_EXTENSION_NAME_MAX])
{
    const char *base = basename(path);
    size_t stem = stem_size(base);
    if (!stem || *path != '/')
        return false;
    const char *start = behind_import_directory(path);
    if (!start)
        start = outermost_package(path);
    size_t size = (size_t)(base + stem - start);
    if (size >= DW_EXTENSION_NAME_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        name[i] = (char)(start[i] == '/' ? '.' : start[i]);
    name[size] = '\0';
    return true;
}

bool dw_extension_has_name(const char *path, const char *name)
{
    const char *base = basename(path);
    size_t stem = stem_size(base), size = strlen(name);
    return stem && size >= stem && !memcmp(name + size - stem, base, stem) &&
           (size == stem || name[size - stem - 1] == '.');
}

/* The frame with the better name, or the same. */
static int rename_frame(struct dw_profile *profile, dw_frame_id *id)
{
    struct dw_frame frame = profile->frames.frames[*id];
    char name[DW_EXTENSION_NAME_MAX];
    if (frame.kind != DW_FRAME_NATIVE || *dw_profile_string(profile, frame.name).bytes != '[' ||
        !dw_extension_name(dw_profile_string(profile, frame.file).bytes, name))
        return 0;
    int error = dw_string_intern(&profile->strings, name, strlen(name), &frame.name);
    return error ? error : dw_frame_intern(&profile->frames, &frame, id);
}

int dw_samples_name_extensions(struct dw_profile *profile)
{
    uint32_t count = profile->frames.count;
    dw_frame_id *new_of = malloc((count + 1u) * sizeof *new_of);
    int error = new_of ? 0 : DW_ERR_MEMORY;
    for (dw_frame_id id = 0; id < count && !error; id++) {
        new_of[id] = id;
        error = rename_frame(profile, &new_of[id]);
    }
    for (dw_place_id id = 1; id < profile->places.count && !error; id++)
        profile->places.places[id].frame = new_of[profile->places.places[id].frame];
    free(new_of);
    return error;
}
