/* SPDX-License-Identifier: MIT
 * The list of modules is renewed when the dynamic linker's counters change, and a new view is
 * published for handlers. Old views stay until no handler can be in them. */
#define _GNU_SOURCE
#include "probe/sample/sample_natives.h"

#include "base/clock.h"
#include "base/grow.h"
#include "native/elf/memory.h"
#include "native/unwind/unwind_learn.h"

#include <Python.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Python functions stand in for the frames of the interpreter's loop. */
#define EVAL_LOOP "_PyEval_EvalFrameDefault"
#define MAX_COPIED_BYTES (32u << 20) /* of unwind information of all modules */
#define MAX_AHEAD_BYTES (4u << 20)   /* of a module that no sample has been in */
#define AHEAD_NS 4000000u            /* time for modules that no sample has been in */

static int open_file(void *unused, const struct dw_native_file *file)
{
    (void)unused;
    return open(file->path, O_RDONLY | O_CLOEXEC);
}

int dw_sample_natives_init(struct dw_sample_natives *natives,
                           void (*publish)(const struct dw_native_view *view))
{
    natives->publish = publish;
    natives->names = (struct dw_native_names){.open = open_file, .left_out = EVAL_LOOP};
    if (natives->with_frames && !(natives->cache = dw_unwind_cache_new()))
        return DW_ERR_MEMORY;
    return dw_sample_natives_refresh(natives);
}

static void free_view(struct dw_native_view *view)
{
    free((void *)(uintptr_t)view->modules.modules);
    free((void *)(uintptr_t)view->made.functions);
    free(view);
}

void dw_sample_natives_release(struct dw_sample_natives *natives)
{
    if (natives->publish)
        natives->publish(NULL);
    for (uint32_t i = 0; i < natives->view_count; i++)
        free_view(natives->views[i]);
    free(natives->views);
    dw_native_names_release(&natives->names);
    dw_native_modules_release(&natives->modules);
    dw_native_modules_release(&natives->former);
    dw_code_book_release(&natives->book);
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

/* All code, on the heap. */
static int list_modules(const struct dw_sample_natives *natives, struct dw_unwind_module **result,
                        uint32_t *count)
{
    *count = natives->modules.count;
    struct dw_unwind_module *list = *result = calloc(*count + 1, sizeof *list);
    if (!list)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < *count; i++) {
        const struct dw_native_module *module = &natives->modules.modules[i];
        const struct dw_native_file *file = dw_native_names_find_file(&natives->names, module);
        list[i] = dw_unwind_module_of(module);
        list[i].copy = file ? file->unwind_info : NULL;
    }
    return natives->names.has_jit ? dw_jit_merge_modules(&natives->names.jit, result, count) : 0;
}

static void find_system(const struct dw_sample_natives *natives, struct dw_native_view *view)
{
    for (uint32_t i = 0; i < natives->modules.count; i++) {
        const struct dw_native_module *module = &natives->modules.modules[i];
        if (view->system_count < DW_VIEW_SYSTEM_MAX && is_system(module))
            view->system[view->system_count++] = (struct dw_code_range){module->start, module->end};
    }
}

static struct dw_code_range range_of(const struct dw_native_module *module)
{
    return (struct dw_code_range){module ? module->start : 0, module ? module->end : 0};
}

static int publish(struct dw_sample_natives *natives);

static int make_view(const struct dw_sample_natives *natives, struct dw_native_view **made)
{
    uint32_t count;
    struct dw_native_view *view = calloc(1, sizeof *view);
    struct dw_unwind_module *list = NULL;
    int error = view ? list_modules(natives, &list, &count) : DW_ERR_MEMORY;
    if (!error)
        error = dw_code_book_copy(&natives->book, &view->made);
    if (error) {
        free(view);
        free(list);
        return error;
    }
    const struct dw_native_module *python =
        dw_native_modules_find(&natives->modules, (uint64_t)(uintptr_t)&PyEval_EvalCode);
    *view = (struct dw_native_view){
        .modules = {list, count},
        .made = view->made,
        .cache = natives->cache,
        .epoch = natives->epoch,
        .python = range_of(python),
        .own = range_of(dw_native_modules_find(&natives->modules, (uint64_t)(uintptr_t)&publish)),
    };
    find_system(natives, view);
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
    natives->publish(view);
    return 0;
}

/* Handlers read the copy without asking the kernel, since it is never freed under them. False when
 * there is no new copy. */
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
 * interpreter. There may be many other modules, so they are copied while there is time; the rest
 * when the first sample is in them. */
static void copy_ahead(struct dw_sample_natives *natives)
{
    uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + AHEAD_NS;
    for (int others = 0; others < (natives->is_rare ? 1 : 2); others++) {
        for (uint32_t i = 0; i < natives->modules.count; i++) {
            const struct dw_native_module *module = &natives->modules.modules[i];
            bool is_large = others && module->info_end - module->hdr > MAX_AHEAD_BYTES;
            if (is_of_python(module) == others || is_large)
                continue;
            if (others && dw_clock_ns(CLOCK_MONOTONIC) >= until_ns)
                return;
            struct dw_native_file *file = dw_native_names_file(&natives->names, module);
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
    if (modules.unloads != natives->modules.unloads)
        dw_code_book_forget(&natives->book);
    natives->former = natives->modules;
    natives->modules = modules;
    natives->generation = generation;
    natives->epoch++;
    copy_ahead(natives);
    return publish(natives);
}

void dw_sample_natives_forget_former(struct dw_sample_natives *natives)
{
    dw_native_modules_release(&natives->former);
}

void dw_sample_natives_leave(struct dw_sample_natives *natives, struct dw_sample_natives *heir)
{
    if (natives->names.has_jit || !natives->view_count) {
        dw_sample_natives_release(natives);
        return;
    }
    natives->publish(NULL);
    dw_sample_natives_forget_former(natives);
    for (uint32_t i = 0; i < natives->names.file_count; i++)
        natives->names.files[i].module = 0;
    *heir = *natives;
    *natives = (struct dw_sample_natives){0};
}

int dw_sample_natives_inherit(struct dw_sample_natives *natives, struct dw_sample_natives *heir)
{
    *natives = *heir;
    *heir = (struct dw_sample_natives){0};
    return dw_sample_natives_changed(natives) ? dw_sample_natives_refresh(natives)
                                              : publish(natives);
}

void dw_sample_natives_reap(struct dw_sample_natives *natives)
{
    for (uint32_t i = 0; i + 1 < natives->view_count; i++)
        free_view(natives->views[i]);
    if (natives->view_count > 1) {
        natives->views[0] = natives->views[natives->view_count - 1];
        natives->view_count = 1;
    }
    if (natives->names.has_jit)
        dw_jit_reap(&natives->names.jit);
}

bool dw_sample_natives_made_changed(const struct dw_sample_natives *natives)
{
    return natives->is_renamed || (natives->names.has_jit && dw_jit_has_news(&natives->names.jit));
}

int dw_sample_natives_look_at_made(struct dw_sample_natives *natives)
{
    bool changed = false;
    int error = dw_native_names_look(&natives->names, getpid(), &dw_memory_own_checked,
                                     &natives->modules, &changed);
    if (error || !changed)
        return error;
    natives->is_renamed = true;
    natives->epoch++;
    dw_code_book_forget(&natives->book);
    return publish(natives);
}

/* A sample from before the last refresh may be of code that has gone since, or that had just come.
 */
static const struct dw_native_module *find_module(const struct dw_sample_natives *natives,
                                                  uint64_t address)
{
    const struct dw_native_module *module = dw_native_modules_find(&natives->former, address);
    return module ? module : dw_native_modules_find(&natives->modules, address);
}

/* A module that came since the list was read. Not if others have gone meanwhile: samples from
 * before are read first then. */
static const struct dw_native_module *find_new_module(struct dw_sample_natives *natives,
                                                      uint64_t address)
{
    if ((natives->former.count && natives->former.unloads != natives->modules.unloads) ||
        !dw_sample_natives_changed(natives) ||
        dw_native_modules_unloads() != natives->modules.unloads ||
        dw_sample_natives_refresh(natives))
        return NULL;
    if (natives->former.unloads == natives->modules.unloads)
        dw_sample_natives_forget_former(natives);
    return dw_native_modules_find(&natives->modules, address);
}

/* Rules for a function that a sample was in, if nothing describes it: handlers only guess there.
 * Not while samples of former modules are read: other code may be there now. */
static void learn_rules(struct dw_sample_natives *natives, const struct dw_native_module *module,
                        uint64_t address)
{
    uint64_t start, size;
    if (!natives->cache || !natives->view_count || natives->former.count)
        return;
    const struct dw_native_view *view = natives->views[natives->view_count - 1];
    struct dw_unwinder unwinder = {.modules = view->modules,
                                   .made = view->made,
                                   .cache = view->cache,
                                   .epoch = view->epoch,
                                   .code = dw_memory_own_checked,
                                   .doubt = dw_memory_own_checked};
    if (!dw_unwind_has_rule(&unwinder, address) &&
        dw_native_names_function(&natives->names, module, address, &start, &size) &&
        dw_unwind_learn(&unwinder, &natives->book, start, size, address))
        publish(natives);
}

static dw_place_id file_place(struct dw_sample_natives *natives, struct dw_ledger *log,
                              const struct dw_native_module *module, uint64_t address)
{
    struct dw_native_file *file = dw_native_names_file(&natives->names, module);
    dw_place_id id = 0;
    if (file && copy_unwind_info(natives, module, file))
        publish(natives);
    learn_rules(natives, module, address);
    return dw_native_names_place(&natives->names, log, module, address, &id) ? 0 : id;
}

/* Code that was not announced before may be by now. */
static int made_place(struct dw_sample_natives *natives, struct dw_ledger *log, uint64_t address,
                      dw_place_id *id)
{
    struct dw_native_names *names = &natives->names;
    int error = dw_native_names_made(names, log, address, id);
    if (error != DW_ERR_EMPTY || (names->has_jit && !dw_jit_may_tell(&names->jit, address)))
        return error;
    error = dw_sample_natives_look_at_made(natives);
    return error ? error : dw_native_names_made(names, log, address, id);
}

dw_place_id dw_sample_natives_place(struct dw_sample_natives *natives, struct dw_ledger *log,
                                    uint64_t address, dw_path_id outer, bool *lasts)
{
    const struct dw_native_module *module = find_module(natives, address);
    dw_place_id id = 0;
    if (!module)
        module = find_new_module(natives, address);
    *lasts = true;
    if (module)
        return file_place(natives, log, module, address);
    int error = made_place(natives, log, address, &id);
    learn_rules(natives, NULL, address);
    if (!error)
        return id;
    *lasts = false;
    return dw_native_names_unnamed(log, dw_native_names_caller(log, outer), &id) ? 0 : id;
}
