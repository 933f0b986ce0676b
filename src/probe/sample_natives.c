/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/sample_natives.h"

#include "base/clock.h"
#include "base/grow.h"
#include "native/memory.h"
#include "native/symbols.h"

#include <Python.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The loop's own frames: where Python functions run, those stand in for them. */
#define EVAL_LOOP "_PyEval_EvalFrameDefault"
#define MAX_COPIED_BYTES (32u << 20) /* of unwind information of all modules */
#define MAX_AHEAD_BYTES (4u << 20)   /* of a module that no sample has been in */
#define AHEAD_NS 4000000u            /* for modules that no sample has been in */

struct dw_native_file {
    char *path; /* owned */
    uint64_t start, bias;
    uint8_t build_id[DW_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t module;            /* in the log; 0: not there yet */
    struct dw_symbols *symbols; /* NULL: none, or not opened yet */
    bool is_opened;
    uint8_t *unwind_info; /* a copy, or NULL */
    bool is_copied;       /* or cannot be */
};

int dw_sample_natives_init(struct dw_sample_natives *natives, bool with_frames)
{
    *natives = (struct dw_sample_natives){.with_frames = with_frames};
    if (with_frames && !(natives->cache = dw_unwind_cache_new()))
        return DW_ERR_MEMORY;
    return dw_sample_natives_refresh(natives);
}

static void free_view(struct dw_native_view *view)
{
    free((void *)(uintptr_t)view->modules.modules);
    free(view);
}

void dw_sample_natives_release(struct dw_sample_natives *natives)
{
    dw_handler_publish(NULL);
    for (uint32_t i = 0; i < natives->view_count; i++)
        free_view(natives->views[i]);
    for (uint32_t i = 0; i < natives->file_count; i++) {
        if (natives->files[i].symbols)
            dw_symbols_close(natives->files[i].symbols);
        free(natives->files[i].path);
        free(natives->files[i].unwind_info);
    }
    free(natives->views);
    free(natives->files);
    dw_native_modules_release(&natives->modules);
    dw_native_modules_release(&natives->former);
    if (natives->cache)
        dw_unwind_cache_free(natives->cache);
    *natives = (struct dw_sample_natives){0};
}

bool dw_sample_natives_changed(const struct dw_sample_natives *natives)
{
    return natives->generation != dw_native_modules_generation();
}

static bool is_system(const struct dw_native_module *module)
{
    static const char *const names[] = {"libc.so.", "libm.so.", "libpthread.so.",
                                        "ld-linux", "ld-musl",  "[vdso]"};
    const char *slash = strrchr(module->path, '/');
    const char *base = slash ? slash + 1 : module->path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(base, names[i], strlen(names[i])))
            return true;
    return false;
}

static bool is_same(const struct dw_native_file *file, const struct dw_native_module *module)
{
    return file->start == module->start && file->bias == module->bias &&
           file->build_id_size == module->build_id_size &&
           !memcmp(file->build_id, module->build_id, module->build_id_size) &&
           !strcmp(file->path, module->path);
}

static struct dw_native_file *find_file(const struct dw_sample_natives *natives,
                                        const struct dw_native_module *module)
{
    for (uint32_t i = natives->file_count; i-- > 0;)
        if (is_same(&natives->files[i], module))
            return &natives->files[i];
    return NULL;
}

static int make_view(const struct dw_sample_natives *natives, struct dw_native_view **made)
{
    uint32_t count = natives->modules.count;
    struct dw_native_view *view = calloc(1, sizeof *view);
    struct dw_unwind_module *list = calloc(count + 1, sizeof *list);
    if (!view || !list) {
        free(view);
        free(list);
        return DW_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct dw_native_module *module = &natives->modules.modules[i];
        const struct dw_native_file *file = find_file(natives, module);
        list[i] = dw_unwind_module_of(module);
        list[i].copy = file ? file->unwind_info : NULL;
    }
    const struct dw_native_module *python =
        dw_native_modules_find(&natives->modules, (uint64_t)(uintptr_t)&PyEval_EvalCode);
    *view = (struct dw_native_view){
        .modules = {list, count},
        .cache = natives->cache,
        .epoch = natives->generation,
        .python = {python ? python->start : 0, python ? python->end : 0},
    };
    for (uint32_t i = 0; i < count && view->system_count < DW_VIEW_SYSTEM_MAX; i++)
        if (is_system(&natives->modules.modules[i]))
            view->system[view->system_count++] = (struct dw_code_range){list[i].start, list[i].end};
    *made = view;
    return 0;
}

static int publish(struct dw_sample_natives *natives)
{
    struct dw_native_view *view;
    int error = DW_GROW(natives->views, natives->view_count, natives->view_capacity);
    if (!error)
        error = make_view(natives, &view);
    if (error)
        return error;
    natives->views[natives->view_count++] = view;
    dw_handler_publish(view);
    return 0;
}

static struct dw_native_file *file_of(struct dw_sample_natives *natives,
                                      const struct dw_native_module *module)
{
    struct dw_native_file *known = find_file(natives, module);
    if (known)
        return known;
    char *path = strdup(module->path);
    if (!path || DW_GROW(natives->files, natives->file_count, natives->file_capacity)) {
        free(path);
        return NULL;
    }
    struct dw_native_file *file = &natives->files[natives->file_count++];
    *file = (struct dw_native_file){.path = path, .start = module->start, .bias = module->bias};
    file->build_id_size = module->build_id_size;
    memcpy(file->build_id, module->build_id, sizeof file->build_id);
    return file;
}

/* Handlers read the copy without asking the kernel, since it never goes. False when there is no
 * new one. */
static bool copy_unwind_info(struct dw_sample_natives *natives,
                             const struct dw_native_module *module, struct dw_native_file *file)
{
    uint64_t size = module->hdr ? module->info_end - module->hdr : 0;
    if (file->is_copied || !natives->cache)
        return false;
    file->is_copied = true;
    if (!size || size > MAX_COPIED_BYTES - natives->copied_bytes ||
        !(file->unwind_info = malloc(size)))
        return false;
    if (dw_memory_own_checked.read(NULL, module->hdr, file->unwind_info, size)) {
        natives->copied_bytes += size;
        return true;
    }
    free(file->unwind_info);
    file->unwind_info = NULL;
    return false;
}

static bool is_of_python(const struct dw_native_module *module)
{
    uint64_t code = (uint64_t)(uintptr_t)&PyEval_EvalCode;
    return is_system(module) || (code >= module->start && code < module->end);
}

/* Samples in modules that are not copied cost the program much, and all of them are in the
 * interpreter. Of other modules there may be many, so they are copied while there is time; what
 * is left is copied when the first sample in it comes along. */
static void copy_ahead(struct dw_sample_natives *natives)
{
    uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + AHEAD_NS;
    for (int others = 0; others < 2; others++) {
        for (uint32_t i = 0; i < natives->modules.count; i++) {
            const struct dw_native_module *module = &natives->modules.modules[i];
            bool is_large = others && module->info_end - module->hdr > MAX_AHEAD_BYTES;
            if (is_of_python(module) == others || is_large)
                continue;
            if (others && dw_clock_ns(CLOCK_MONOTONIC) >= until_ns)
                return;
            struct dw_native_file *file = file_of(natives, module);
            if (file)
                copy_unwind_info(natives, module, file);
        }
    }
}

int dw_sample_natives_refresh(struct dw_sample_natives *natives)
{
    uint64_t generation = dw_native_modules_generation();
    struct dw_native_modules modules = {0};
    int error = dw_native_modules_own(&natives->modules, &modules);
    if (error)
        return error;
    dw_sample_natives_forget_former(natives);
    natives->former = natives->modules;
    natives->modules = modules;
    natives->generation = generation;
    copy_ahead(natives);
    return publish(natives);
}

void dw_sample_natives_forget_former(struct dw_sample_natives *natives)
{
    dw_native_modules_release(&natives->former);
}

void dw_sample_natives_reap(struct dw_sample_natives *natives)
{
    for (uint32_t i = 0; i + 1 < natives->view_count; i++)
        free_view(natives->views[i]);
    if (natives->view_count > 1) {
        natives->views[0] = natives->views[natives->view_count - 1];
        natives->view_count = 1;
    }
}

static int define_module(struct dw_sample_log *log, const struct dw_native_module *module,
                         struct dw_native_file *file)
{
    struct dw_module defined = {
        .start = module->start,
        .end = module->end,
        .file_offset = module->file_offset,
        .bias = module->bias,
        .build_id_size = module->build_id_size,
    };
    memcpy(defined.build_id, module->build_id, sizeof defined.build_id);
    int error = dw_sample_log_string(log, module->path, strlen(module->path), &defined.path);
    return error ? error : dw_sample_log_module(log, &defined, &file->module);
}

static bool find_symbol(struct dw_native_file *file, uint64_t address, struct dw_symbol *symbol)
{
    if (!file->is_opened) {
        int fd = open(file->path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 &&
            dw_symbols_open(fd, file->path, file->build_id, file->build_id_size, &file->symbols))
            file->symbols = NULL;
        if (fd >= 0)
            close(fd);
        file->is_opened = true;
    }
    return file->symbols && dw_symbols_find(file->symbols, address, symbol);
}

static int define_frame(struct dw_sample_log *log, const struct dw_native_file *file,
                        const char *symbol, dw_frame_id *id)
{
    char object[256];
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE};
    const char *slash = strrchr(file->path, '/');
    if (!symbol) {
        const char *base = slash ? slash + 1 : file->path;
        snprintf(object, sizeof object, *base == '[' ? "%s" : "[%s]", base);
        symbol = object;
    }
    int error = dw_sample_log_string(log, symbol, strlen(symbol), &frame.name);
    if (!error)
        error = dw_sample_log_string(log, file->path, strlen(file->path), &frame.file);
    return error ? error : dw_sample_log_frame(log, &frame, id);
}

/* Code that no file stands behind: made at run time. */
static dw_place_id anonymous_place(struct dw_sample_log *log)
{
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE};
    struct dw_place place = {0};
    dw_place_id id = 0;
    if (dw_sample_log_string(log, "[anonymous]", 11, &frame.name) ||
        dw_sample_log_frame(log, &frame, &place.frame))
        return 0;
    return dw_sample_log_place(log, &place, &id) ? 0 : id;
}

/* A sample from before the last refresh may be of code that has gone since, or that had just come.
 */
static const struct dw_native_module *find_module(const struct dw_sample_natives *natives,
                                                  uint64_t address)
{
    const struct dw_native_module *module = dw_native_modules_find(&natives->former, address);
    return module ? module : dw_native_modules_find(&natives->modules, address);
}

dw_place_id dw_sample_natives_place(struct dw_sample_natives *natives, struct dw_sample_log *log,
                                    uint64_t address)
{
    const struct dw_native_module *module = find_module(natives, address);
    struct dw_native_file *file = module ? file_of(natives, module) : NULL;
    struct dw_symbol symbol;
    dw_place_id id = 0;
    if (!file)
        return anonymous_place(log);
    if (copy_unwind_info(natives, module, file))
        publish(natives);
    struct dw_place place = {.address = address - file->bias};
    bool is_named = find_symbol(file, place.address, &symbol);
    if (is_named && !strncmp(symbol.name, EVAL_LOOP, strlen(EVAL_LOOP)))
        return 0;
    if (!file->module && define_module(log, module, file))
        return 0;
    place.module = file->module;
    if (define_frame(log, file, is_named ? symbol.name : NULL, &place.frame))
        return 0;
    return dw_sample_log_place(log, &place, &id) ? 0 : id;
}
