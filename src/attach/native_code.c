/* SPDX-License-Identifier: MIT */
#include "attach/native_code.h"

#include "base/grow.h"
#include "native/symbols.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REFRESH_AFTER_NS 500000000
#define MAIN_STACK_BYTES ((uint64_t)8 << 20) /* what it may have grown by since */

struct dw_native_file {
    struct dw_mapping mapping; /* owns its path */
    uint64_t bias;
    uint8_t build_id[DW_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t module;            /* in the log; 0: not there yet */
    struct dw_symbols *symbols; /* NULL: none, or not opened yet */
    bool is_opened;
};

struct dw_native_address {
    uint64_t address;
    dw_place_id place;
};

static bool read_target(void *context, uint64_t address, void *to, size_t size)
{
    return !dw_target_read(context, address, to, size);
}

static struct dw_memory memory_of(const struct dw_python *python)
{
    return (struct dw_memory){read_target, (void *)(uintptr_t)python->target};
}

int dw_native_code_init(struct dw_native_code *code, const struct dw_python *python)
{
    *code = (struct dw_native_code){
        .python = python, .cache = dw_unwind_cache_new(), .copy = malloc(DW_NATIVE_COPY_BYTES)};
    return code->cache && code->copy ? 0 : DW_ERR_MEMORY;
}

static void forget_modules(struct dw_native_code *code)
{
    dw_native_modules_release(&code->modules);
    dw_unwind_modules_release(&code->unwind);
    dw_target_release(&code->maps);
    dw_map_release(&code->address_index);
    code->address_count = 0;
}

void dw_native_code_release(struct dw_native_code *code)
{
    forget_modules(code);
    for (uint32_t i = 0; i < code->file_count; i++) {
        if (code->files[i].symbols)
            dw_symbols_close(code->files[i].symbols);
        free(code->files[i].mapping.path);
    }
    free(code->files);
    free(code->addresses);
    free(code->copy);
    if (code->cache)
        dw_unwind_cache_free(code->cache);
    *code = (struct dw_native_code){0};
}

static bool are_same(const struct dw_native_modules *a, const struct dw_native_modules *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct dw_native_module *one = &a->modules[i], *other = &b->modules[i];
        if (one->start != other->start || one->end != other->end || one->hdr != other->hdr ||
            memcmp(one->build_id, other->build_id, sizeof one->build_id) != 0 ||
            strcmp(one->path, other->path) != 0)
            return false;
    }
    return true;
}

/* Addresses mean what they meant as long as the same files are in the same places. */
static int take_modules(struct dw_native_code *code, struct dw_native_modules *fresh)
{
    if (are_same(&code->modules, fresh)) {
        dw_native_modules_release(fresh);
        return 0;
    }
    dw_native_modules_release(&code->modules);
    dw_unwind_modules_release(&code->unwind);
    dw_map_release(&code->address_index);
    code->address_count = 0;
    code->epoch++;
    code->modules = *fresh;
    return dw_unwind_modules_make(&code->modules, &code->unwind);
}

int dw_native_code_refresh(struct dw_native_code *code, uint64_t now_ns)
{
    struct dw_native_modules fresh = {0};
    struct dw_target maps = {0};
    struct dw_memory memory = memory_of(code->python);
    if (code->refreshed_ns && now_ns - code->refreshed_ns < REFRESH_AFTER_NS)
        return 0;
    int error = dw_target_open(code->python->target->pid, &maps);
    if (!error)
        error = dw_native_modules_of(code->python->target->pid, &memory, &fresh);
    if (error) {
        dw_target_release(&maps);
        return error;
    }
    dw_target_release(&code->maps);
    code->maps = maps;
    code->refreshed_ns = now_ns;
    return take_modules(code, &fresh);
}

/* The mapping that the stack pointer is in; that of the main thread grows downwards. */
static uint64_t find_stack_end(const struct dw_native_code *code, uint64_t sp)
{
    for (uint32_t i = 0; i < code->maps.count; i++) {
        const struct dw_mapping *mapping = &code->maps.mappings[i];
        uint64_t grown = strcmp(mapping->path, "[stack]") != 0 ? 0 : MAIN_STACK_BYTES;
        if (sp < mapping->end && sp + grown >= mapping->start)
            return mapping->end;
    }
    return 0;
}

bool dw_native_stack_copy(struct dw_native_code *code, struct dw_native_stack *stack)
{
    uint64_t sp = stack->registers.sp, end = find_stack_end(code, sp);
    if (!end) {
        code->refreshed_ns = 0; /* a thread that is newer than what we know */
        return false;
    }
    size_t size = end - sp < DW_NATIVE_COPY_BYTES ? (size_t)(end - sp) : DW_NATIVE_COPY_BYTES;
    stack->end = sp + size;
    return !dw_target_read(code->python->target, sp, code->copy, size);
}

struct copy {
    const uint8_t *bytes;
    uint64_t start, end;
};

static bool read_copy(void *context, uint64_t address, void *to, size_t size)
{
    const struct copy *copy = context;
    if (address < copy->start || address > copy->end || copy->end - address < size)
        return false;
    memcpy(to, copy->bytes + (address - copy->start), size);
    return true;
}

void dw_native_stack_unwind(struct dw_native_code *code, struct dw_native_stack *stack)
{
    struct copy copy = {code->copy, stack->registers.sp, stack->end};
    struct dw_memory memory = memory_of(code->python);
    struct dw_unwinder unwinder = {.modules = code->unwind,
                                   .cache = code->cache,
                                   .epoch = code->epoch,
                                   .stack = {read_copy, &copy},
                                   .code = memory,
                                   .doubt = memory,
                                   .stack_end = stack->end};
    stack->count = dw_unwind(&unwinder, &stack->registers, stack->frames, DW_NATIVE_DEPTH,
                             &stack->is_complete);
    stack->is_guessed = false;
    for (uint32_t i = 0; i < stack->count; i++)
        stack->is_guessed |= stack->frames[i].how >= DW_UNWIND_POINTER;
}

static struct dw_native_file *find_file(struct dw_native_code *code,
                                        const struct dw_native_module *module)
{
    for (uint32_t i = 0; i < code->file_count; i++) {
        struct dw_native_file *file = &code->files[i];
        if (file->mapping.start == module->start && file->bias == module->bias &&
            !memcmp(file->build_id, module->build_id, sizeof file->build_id) &&
            !strcmp(file->mapping.path, module->path))
            return file;
    }
    char *path = strdup(module->path);
    if (!path || DW_GROW(code->files, code->file_count, code->file_capacity)) {
        free(path);
        return NULL;
    }
    struct dw_native_file *file = &code->files[code->file_count++];
    *file = (struct dw_native_file){
        .mapping = {module->start, module->end, module->file_offset, false, path},
        .bias = module->bias,
        .build_id_size = module->build_id_size};
    memcpy(file->build_id, module->build_id, sizeof file->build_id);
    return file;
}

static bool find_symbol(const struct dw_native_code *code, struct dw_native_file *file,
                        uint64_t address, struct dw_symbol *symbol)
{
    if (!file->is_opened) {
        int fd = dw_target_open_file(&code->maps, &file->mapping);
        if (fd >= 0 && dw_symbols_open(fd, file->mapping.path, file->build_id, file->build_id_size,
                                       &file->symbols))
            file->symbols = NULL;
        if (fd >= 0)
            close(fd);
        file->is_opened = true;
    }
    return file->symbols && dw_symbols_find(file->symbols, address, symbol);
}

static int define_module(struct dw_sample_log *log, struct dw_native_file *file)
{
    const struct dw_mapping *mapping = &file->mapping;
    struct dw_module module = {.start = mapping->start,
                               .end = mapping->end,
                               .file_offset = mapping->file_offset,
                               .bias = file->bias,
                               .build_id_size = file->build_id_size};
    memcpy(module.build_id, file->build_id, sizeof module.build_id);
    int error = dw_sample_log_string(log, mapping->path, strlen(mapping->path), &module.path);
    return error ? error : dw_sample_log_module(log, &module, &file->module);
}

/* A function without a symbol is called by its object: [libm.so.6]. */
static int define_frame(struct dw_sample_log *log, const char *path, const char *symbol,
                        dw_frame_id *id)
{
    char object[256];
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(object, sizeof object, *base == '[' ? "%s" : "[%s]", base);
    const char *name = symbol ? symbol : object;
    int error = dw_sample_log_string(log, name, strlen(name), &frame.name);
    if (!error)
        error = dw_sample_log_string(log, path, strlen(path), &frame.file);
    return error ? error : dw_sample_log_frame(log, &frame, id);
}

static int define_place(struct dw_native_code *code, struct dw_sample_log *log, uint64_t address,
                        dw_place_id *id)
{
    const struct dw_native_module *module = dw_native_modules_find(&code->modules, address);
    struct dw_native_file *file = module ? find_file(code, module) : NULL;
    struct dw_place place = {0};
    struct dw_symbol symbol;
    int error = 0;
    if (module && !file)
        return DW_ERR_MEMORY;
    if (!file) {
        error = define_frame(log, "[anonymous]", NULL, &place.frame);
        return error ? error : dw_sample_log_place(log, &place, id);
    }
    place.address = address - file->bias;
    if (!file->module)
        error = define_module(log, file);
    place.module = file->module;
    bool is_named = !error && find_symbol(code, file, place.address, &symbol);
    if (!error)
        error = define_frame(log, file->mapping.path, is_named ? symbol.name : NULL, &place.frame);
    return error ? error : dw_sample_log_place(log, &place, id);
}

static bool is_address(const void *entries, uint32_t id, const void *key)
{
    return ((const struct dw_native_address *)entries)[id].address == *(const uint64_t *)key;
}

static uint64_t hash_address(const void *entries, uint32_t id)
{
    return dw_hash_mix(((const struct dw_native_address *)entries)[id].address);
}

/* Where a call returns to may be the next function: what called is before it. */
int dw_native_code_place(struct dw_native_code *code, struct dw_sample_log *log,
                         const struct dw_native_frame *frame, dw_place_id *place)
{
    uint64_t address = frame->how == DW_UNWIND_FIRST ? frame->pc : frame->pc - 1;
    uint64_t hash = dw_hash_mix(address);
    uint32_t index = dw_map_find(&code->address_index, hash, is_address, code->addresses, &address);
    if (index != DW_MAP_NONE) {
        *place = code->addresses[index].place;
        return 0;
    }
    int error = define_place(code, log, address, place);
    if (!error)
        error = DW_GROW(code->addresses, code->address_count, code->address_capacity);
    if (error)
        return error;
    code->addresses[code->address_count] = (struct dw_native_address){address, *place};
    error =
        dw_map_add(&code->address_index, hash, code->address_count, hash_address, code->addresses);
    code->address_count += !error;
    return error;
}

bool dw_native_code_is_python(const struct dw_native_code *code, uint64_t address)
{
    const struct dw_native_module *module = dw_native_modules_find(&code->modules, address);
    const struct dw_target *maps = &code->maps;
    for (uint32_t i = 0; module && i < maps->count; i++)
        if (code->python->runtime >= maps->mappings[i].start &&
            code->python->runtime < maps->mappings[i].end)
            return !strcmp(maps->mappings[i].path, module->path);
    return false;
}
