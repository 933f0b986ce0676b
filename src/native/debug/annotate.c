/* SPDX-License-Identifier: MIT
 * Places are taken file by file, so that the debug information of only one file is in memory. */
#include "native/debug/annotate.h"

#include "base/file.h"
#include "base/grow.h"
#include "native/debug/demangle.h"
#include "native/debug/dwarf_lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNKNOWN UINT32_MAX

/* A native place and what decides which file it belongs to. */
struct entry {
    dw_place_id place;
    const struct dw_module *module;
    uint64_t address;
};

struct annotation {
    struct dw_profile *profile;
    const struct dw_annotate_options *options;
    const char *debug_directories;
    dw_frame_id
        *readable; /* for each frame, the one with its readable name; UNKNOWN: not made yet */
    uint32_t readable_count;
};

static int compare_modules(const struct dw_module *a, const struct dw_module *b)
{
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    if (a->build_id_size != b->build_id_size)
        return a->build_id_size < b->build_id_size ? -1 : 1;
    return memcmp(a->build_id, b->build_id, a->build_id_size);
}

static int compare(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    int order = compare_modules(left->module, right->module);
    return order ? order : (left->address > right->address) - (left->address < right->address);
}

static void complain(const struct annotation *annotation, const char *path, const char *reason,
                     const char *consequence)
{
    const struct dw_annotate_options *options = annotation->options;
    char text[256];
    snprintf(text, sizeof text, "%s; %s", reason, consequence);
    if (options->complain)
        options->complain(options->context, path, text);
}

/* Interns the name as the options want it. */
static int intern_name(struct annotation *annotation, const char *name, dw_string_id *id)
{
    char *readable = dw_demangle(name, annotation->options->names);
    const char *text = readable ? readable : name;
    int error = dw_string_intern(&annotation->profile->strings, text, strlen(text), id);
    free(readable);
    return error;
}

/* The same function under the name that people read. */
static int make_readable(struct annotation *annotation, dw_frame_id id, dw_frame_id *readable)
{
    struct dw_profile *profile = annotation->profile;
    if (id < annotation->readable_count && annotation->readable[id] != UNKNOWN) {
        *readable = annotation->readable[id];
        return 0;
    }
    struct dw_frame frame = profile->frames.frames[id];
    int error = intern_name(annotation, dw_profile_string(profile, frame.name).bytes, &frame.name);
    if (!error)
        error = dw_frame_intern(&profile->frames, &frame, readable);
    if (!error && id < annotation->readable_count)
        annotation->readable[id] = *readable;
    return error;
}

/* A symbol names the function that was called; only without one is debug information asked. */
static bool has_symbol(const struct dw_profile *profile, dw_frame_id frame)
{
    return dw_profile_string(profile, profile->frames.frames[frame].name).bytes[0] != '[';
}

/* The frame of a line; `recorded` is that of the place, for the function that was not inlined. */
static int make_frame(struct annotation *annotation, const struct dw_source_line *line,
                      const dw_frame_id *recorded, dw_frame_id *id)
{
    struct dw_profile *profile = annotation->profile;
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE, .line = line->first_line};
    int error = 0;
    if (recorded) {
        frame = profile->frames.frames[*recorded];
        frame.line = line->first_line;
    }
    if (line->function && !(recorded && has_symbol(profile, *recorded)))
        error = intern_name(annotation, line->function, &frame.name);
    if (!error && line->file)
        error = dw_string_intern(&profile->strings, line->file, strlen(line->file), &frame.file);
    return error ? error : dw_frame_intern(&profile->frames, &frame, id);
}

/* Replaces the place by the innermost function there; the others go around it. */
static int set_lines(struct annotation *annotation, dw_place_id id,
                     const struct dw_source_line *lines, uint32_t count)
{
    struct dw_place_table *places = &annotation->profile->places;
    struct dw_place place = places->places[id];
    dw_frame_id recorded = place.frame;
    for (uint32_t i = count; i-- > 0;) {
        int error =
            make_frame(annotation, &lines[i], i + 1 == count ? &recorded : NULL, &place.frame);
        place.line = lines[i].line;
        if (!error && i)
            error = dw_place_intern(places, &place, &place.outer);
        if (error)
            return error;
    }
    places->places[id] = place;
    return 0;
}

static int find_lines(struct annotation *annotation, struct dw_dwarf *dwarf,
                      const struct entry *entries, uint32_t count)
{
    struct dw_source_line lines[DW_INLINED_MAX];
    int error = 0;
    for (uint32_t i = 0; i < count && !error; i++) {
        uint32_t found = dw_dwarf_find(dwarf, entries[i].address, lines);
        if (found)
            error = set_lines(annotation, entries[i].place, lines, found);
    }
    return error;
}

/* Without a build id the time of the file's last change is all that can be compared. */
static bool is_newer(const struct annotation *annotation, const struct dw_module *module, int fd)
{
    const struct dw_profile *profile = annotation->profile;
    struct stat status;
    if (module->process >= profile->process_count || fstat(fd, &status))
        return false;
    uint64_t changed_ns =
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return changed_ns > profile->processes[module->process].first_clock.wall_ns;
}

/* Opens its debug information when it is the file that ran. *reason: why not, or what is
 * doubtful all the same; NULL: nothing to say. */
static int open_debug_information(const struct annotation *annotation,
                                  const struct dw_module *module, const char *path,
                                  struct dw_dwarf **dwarf, const char **reason)
{
    struct dw_elf elf;
    struct stat status;
    int fd = dw_file_open_regular(path, &status);
    int error = fd < 0 ? DW_ERR_IO : dw_elf_open(fd, &elf);
    if (error) {
        *reason = error == DW_ERR_IO ? dw_error_text(error) : "is no ELF file any more";
    } else {
        bool is_stale = module->build_id_size
                            ? !dw_elf_has_build_id(&elf, module->build_id, module->build_id_size)
                            : is_newer(annotation, module, fd);
        error = is_stale ? DW_ERR_STALE
                         : dw_dwarf_open(&elf, path, annotation->debug_directories, dwarf);
        *reason = is_stale                           ? dw_error_text(DW_ERR_STALE)
                  : !error && !module->build_id_size ? "has no build id"
                                                     : NULL;
        dw_elf_release(&elf);
    }
    if (fd >= 0)
        close(fd);
    return error;
}

/* All the places of one file. */
static int annotate_file(struct annotation *annotation, const struct entry *entries, uint32_t count)
{
    struct dw_string path = dw_profile_string(annotation->profile, entries->module->path);
    struct dw_dwarf *dwarf;
    const char *reason = NULL;
    if (path.bytes[0] != '/') /* [vdso] */
        return 0;
    int error = open_debug_information(annotation, entries->module, path.bytes, &dwarf, &reason);
    if (reason)
        complain(annotation, path.bytes, reason,
                 error ? "its functions are shown without lines"
                       : "its lines are right only if it has not changed since");
    if (error)
        return error == DW_ERR_MEMORY ? error : 0;
    error = find_lines(annotation, dwarf, entries, count);
    dw_dwarf_close(dwarf);
    return error;
}

static int annotate_files(struct annotation *annotation, struct entry *entries, uint32_t count)
{
    int error = 0;
    qsort(entries, count, sizeof *entries, compare);
    for (uint32_t from = 0, to; from < count && !error; from = to) {
        for (to = from + 1; to < count; to++)
            if (compare_modules(entries[from].module, entries[to].module))
                break;
        error = annotate_file(annotation, entries + from, to - from);
    }
    return error;
}

static bool is_native(const struct dw_profile *profile, const struct dw_place *place)
{
    return profile->frames.frames[place->frame].kind == DW_FRAME_NATIVE;
}

static int make_names_readable(struct annotation *annotation, uint32_t count)
{
    struct dw_profile *profile = annotation->profile;
    int error = 0;
    for (dw_place_id id = 1; id < count && !error; id++)
        if (is_native(profile, &profile->places.places[id]))
            error = make_readable(annotation, profile->places.places[id].frame,
                                  &profile->places.places[id].frame);
    return error;
}

static uint32_t list_entries(const struct dw_profile *profile, struct entry *entries)
{
    uint32_t count = 0;
    for (dw_place_id id = 1; id < profile->places.count; id++) {
        const struct dw_place *place = &profile->places.places[id];
        bool is_known = place->line || place->outer; /* the tool that wrote the profile knew */
        if (!is_known && place->module && place->module <= profile->module_count &&
            is_native(profile, place))
            entries[count++] =
                (struct entry){id, &profile->modules[place->module - 1], place->address};
    }
    return count;
}

static int annotate(struct annotation *annotation, struct entry *entries)
{
    int error = make_names_readable(annotation, annotation->profile->places.count);
    if (error || !annotation->options->lines)
        return error;
    return annotate_files(annotation, entries, list_entries(annotation->profile, entries));
}

int dw_annotate(struct dw_profile *profile, const struct dw_annotate_options *options)
{
    struct annotation annotation = {
        .profile = profile,
        .options = options,
        .debug_directories = getenv("DWELL_DEBUG_PATH"),
        .readable_count = profile->frames.count,
        .readable = malloc(profile->frames.count * sizeof *annotation.readable),
    };
    struct entry *entries = malloc((profile->places.count + 1u) * sizeof *entries);
    int error = DW_ERR_MEMORY;
    if (annotation.readable && entries) {
        memset(annotation.readable, 0xff, profile->frames.count * sizeof *annotation.readable);
        error = annotate(&annotation, entries);
    }
    free(annotation.readable);
    free(entries);
    return error;
}
