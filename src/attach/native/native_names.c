/* SPDX-License-Identifier: MIT
 * Symbols of a file are opened when its first address is named, and kept when it is unmapped.
 * Samplers inside and outside share this, so both give a function the same name. */
#include "attach/native/native_names.h"

#include "base/grow.h"
#include "native/elf/symbols.h"
#include "native/unwind/trampolines.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MADE_FILE "[jit]"
#define NAME_BYTES 256

void dw_native_names_release(struct dw_native_names *names)
{
    for (uint32_t i = 0; i < names->file_count; i++) {
        if (names->files[i].symbols)
            dw_symbols_close(names->files[i].symbols);
        free(names->files[i].path);
        free(names->files[i].unwind_info);
    }
    free(names->files);
    if (names->has_jit)
        dw_jit_release(&names->jit);
    *names = (struct dw_native_names){0};
}

static bool is_same(const struct dw_native_file *file, const struct dw_native_module *module)
{
    return file->start == module->start && file->bias == module->bias &&
           file->build_id_size == module->build_id_size &&
           !memcmp(file->build_id, module->build_id, module->build_id_size) &&
           !strcmp(file->path, module->path);
}

struct dw_native_file *dw_native_names_find_file(const struct dw_native_names *names,
                                                 const struct dw_native_module *module)
{
    for (uint32_t i = names->file_count; i-- > 0;)
        if (is_same(&names->files[i], module))
            return &names->files[i];
    return NULL;
}

struct dw_native_file *dw_native_names_file(struct dw_native_names *names,
                                            const struct dw_native_module *module)
{
    struct dw_native_file *known = dw_native_names_find_file(names, module);
    if (known)
        return known;
    char *path = strdup(module->path);
    if (!path || DW_GROW(names->files, names->file_count, names->file_capacity)) {
        free(path);
        return NULL;
    }
    struct dw_native_file *file = &names->files[names->file_count++];
    *file = (struct dw_native_file){.path = path,
                                    .start = module->start,
                                    .end = module->end,
                                    .file_offset = module->file_offset,
                                    .bias = module->bias,
                                    .build_id_size = module->build_id_size};
    memcpy(file->build_id, module->build_id, sizeof file->build_id);
    return file;
}

static bool find_symbol(const struct dw_native_names *names, struct dw_native_file *file,
                        uint64_t address, struct dw_symbol *symbol)
{
    if (!file->is_opened) {
        int fd = names->open(names->context, file);
        if (fd >= 0 &&
            dw_symbols_open(fd, file->path, file->build_id, file->build_id_size, &file->symbols))
            file->symbols = NULL;
        if (fd >= 0)
            close(fd);
        file->is_opened = true;
    }
    return file->symbols && dw_symbols_find(file->symbols, address, symbol);
}

bool dw_native_names_function(struct dw_native_names *names, const struct dw_native_module *module,
                              uint64_t address, uint64_t *start, uint64_t *size)
{
    struct dw_jit_range range;
    struct dw_symbol symbol;
    if (!module) {
        if (!names->has_jit || !dw_jit_range(&names->jit, address, &range))
            return false;
        *start = range.start;
        *size = range.end - range.start;
        return true;
    }
    struct dw_native_file *file = dw_native_names_file(names, module);
    if (!file || !find_symbol(names, file, address - file->bias, &symbol))
        return false;
    *start = symbol.address + file->bias;
    *size = symbol.size;
    return true;
}

const char *dw_native_names_symbol(struct dw_native_names *names,
                                   const struct dw_native_module *module, uint64_t address)
{
    struct dw_symbol symbol;
    struct dw_native_file *file = dw_native_names_file(names, module);
    bool is_found = file && find_symbol(names, file, address - file->bias, &symbol);
    return is_found ? symbol.name : NULL;
}

static int define_module(struct dw_ledger *log, struct dw_native_file *file)
{
    struct dw_module module = {.start = file->start,
                               .end = file->end,
                               .file_offset = file->file_offset,
                               .bias = file->bias,
                               .build_id_size = file->build_id_size};
    memcpy(module.build_id, file->build_id, sizeof module.build_id);
    int error = dw_ledger_string(log, file->path, strlen(file->path), &module.path);
    return error ? error : dw_ledger_module(log, &module, &file->module);
}

static int define_frame(struct dw_ledger *log, const char *file, const char *name, dw_frame_id *id)
{
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE};
    int error = dw_ledger_string(log, name, strlen(name), &frame.name);
    if (!error)
        error = dw_ledger_string(log, file, strlen(file), &frame.file);
    return error ? error : dw_ledger_frame(log, &frame, id);
}

/* A function without a symbol is called by its object: [libm.so.6]. */
static int define_place(struct dw_ledger *log, const struct dw_native_file *file,
                        const char *symbol, uint64_t address, dw_place_id *place)
{
    char object[NAME_BYTES];
    const char *base = basename(file->path);
    struct dw_place made = {.module = file->module, .address = address};
    snprintf(object, sizeof object, *base == '[' ? "%s" : "[%s]", base);
    int error = define_frame(log, file->path, symbol ? symbol : object, &made.frame);
    return error ? error : dw_ledger_place(log, &made, place);
}

int dw_native_names_place(struct dw_native_names *names, struct dw_ledger *log,
                          const struct dw_native_module *module, uint64_t address,
                          dw_place_id *place)
{
    struct dw_native_file *file = dw_native_names_file(names, module);
    struct dw_symbol symbol;
    if (!file)
        return DW_ERR_MEMORY;
    bool is_named = find_symbol(names, file, address - file->bias, &symbol);
    if (is_named && names->left_out &&
        !strncmp(symbol.name, names->left_out, strlen(names->left_out))) {
        *place = 0;
        return 0;
    }
    int error = file->module ? 0 : define_module(log, file);
    return error ? error
                 : define_place(log, file, is_named ? symbol.name : NULL, address - file->bias,
                                place);
}

static void search_file(struct dw_native_names *names, struct dw_native_file *file)
{
    struct dw_elf elf;
    uint64_t address;
    file->is_searched = true;
    int fd = names->open(names->context, file);
    if (fd < 0)
        return;
    if (!dw_elf_open(fd, &elf)) {
        bool is_right =
            !file->build_id_size || dw_elf_has_build_id(&elf, file->build_id, file->build_id_size);
        if (is_right && dw_jit_list_search(&elf, &address))
            dw_jit_lists_add(&names->jit.lists, file->bias + address);
        dw_elf_release(&elf);
    }
    close(fd);
}

static int search_files(struct dw_native_names *names, const struct dw_native_modules *modules)
{
    for (uint32_t i = 0; i < modules->count; i++) {
        struct dw_native_file *file = dw_native_names_file(names, &modules->modules[i]);
        if (!file)
            return DW_ERR_MEMORY;
        if (!file->is_searched)
            search_file(names, file);
    }
    return 0;
}

int dw_native_names_look(struct dw_native_names *names, int pid, const struct dw_memory *memory,
                         const struct dw_native_modules *modules, bool *changed)
{
    int error = names->has_jit ? 0 : dw_jit_init(&names->jit, pid, memory);
    names->has_jit |= !error;
    if (!error)
        error = dw_jit_look_at_memory(&names->jit, changed);
    if (!error && dw_jit_has_code(&names->jit)) /* else there are no lists of it */
        error = search_files(names, modules);
    return error ? error : dw_jit_look(&names->jit, changed);
}

static int made_place(struct dw_ledger *log, const char *name, dw_place_id *place)
{
    return dw_ledger_named_place(log, DW_FRAME_NATIVE, (struct dw_string){name, strlen(name)},
                                 (struct dw_string){MADE_FILE, strlen(MADE_FILE)}, 0, place);
}

int dw_native_names_made(struct dw_native_names *names, struct dw_ledger *log, uint64_t address,
                         dw_place_id *place)
{
    const char *name = names->has_jit ? dw_jit_find(&names->jit, address) : NULL;
    bool is_trampoline = name ? dw_trampoline_is_name(name)
                              : names->has_jit && dw_jit_is_trampoline(&names->jit, address);
    if (is_trampoline) { /* the Python function is there already */
        *place = 0;
        return 0;
    }
    if (!name)
        return DW_ERR_EMPTY;
    return made_place(log, name, place);
}

/* libfoo of /usr/lib/libfoo.so.1, and mod of mod.cpython-313-x86_64-linux-gnu.so. */
static size_t stem_size(const char *base)
{
    static const char *const tails[] = {".cpython-", ".abi3.so", ".so"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const char *tail = strstr(base, tails[i]);
        if (tail && tail > base)
            return (size_t)(tail - base);
    }
    return strlen(base);
}

int dw_native_names_unnamed(struct dw_ledger *log, const char *caller, dw_place_id *place)
{
    char name[NAME_BYTES];
    const char *base = caller ? basename(caller) : "";
    snprintf(name, sizeof name, "[jit of %.*s]", (int)stem_size(base), base);
    return made_place(log, *base ? name : MADE_FILE, place);
}

const char *dw_native_names_caller(struct dw_ledger *log, dw_path_id path)
{
    const char *caller = NULL; /* strings stay where they are */
    pthread_mutex_lock(&log->tables);
    for (; path != DW_PATH_ROOT && !caller; path = log->paths.paths[path].parent) {
        uint32_t module = log->places.places[log->paths.paths[path].step].module;
        if (module)
            caller = log->strings.strings[log->modules[module - 1].path].bytes;
    }
    pthread_mutex_unlock(&log->tables);
    return caller;
}
