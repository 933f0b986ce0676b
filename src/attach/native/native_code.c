/* SPDX-License-Identifier: MIT
 * The list of mapped files is renewed now and then, and what is known of addresses is kept as long
 * as it stays the same. Unwinding works on a copy, so a thread need not stand still for it. */
#include "attach/native/native_code.h"

#include "base/intern.h"
#include "native/unwind/unwind_learn.h"

#include <string.h>

#define REFRESH_AFTER_NS 500000000
#define MAIN_STACK_BYTES ((uint64_t)8 << 20) /* how much it may have grown since */

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

static int open_file(void *context, const struct dw_native_file *file)
{
    const struct dw_native_code *code = context;
    struct dw_mapping mapping = {file->start, file->end, file->file_offset, false, file->path};
    return dw_target_open_file(&code->maps, &mapping);
}

int dw_native_code_init(struct dw_native_code *code, const struct dw_python *python)
{
    *code = (struct dw_native_code){.python = python,
                                    .cache = dw_unwind_cache_new(),
                                    .copy = malloc(DW_NATIVE_COPY_BYTES),
                                    .names = {.open = open_file}};
    return code->cache && code->copy ? 0 : DW_ERR_MEMORY;
}

static void forget_places(struct dw_native_code *code)
{
    dw_map_release(&code->address_index);
    code->address_count = 0;
    code->epoch++;
}

void dw_native_code_release(struct dw_native_code *code)
{
    forget_places(code);
    dw_native_modules_release(&code->modules);
    dw_unwind_modules_release(&code->unwind);
    dw_target_release(&code->maps);
    dw_code_book_release(&code->book);
    dw_native_names_release(&code->names);
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

/* What walks and names need, from what is known of the code now. */
static int renew(struct dw_native_code *code)
{
    struct dw_unwind_modules made = {0};
    dw_unwind_modules_release(&code->unwind);
    dw_code_book_forget(&code->book);
    forget_places(code);
    int error = dw_unwind_modules_make(&code->modules, &made);
    struct dw_unwind_module *list = (struct dw_unwind_module *)(uintptr_t)made.modules;
    if (!error && code->names.has_jit) {
        error = dw_jit_merge_modules(&code->names.jit, &list, &made.count);
        dw_jit_reap(&code->names.jit);
    }
    code->unwind = (struct dw_unwind_modules){list, made.count};
    return error;
}

/* Addresses mean what they meant as long as the same files are in the same places. */
static int take_modules(struct dw_native_code *code, struct dw_native_modules *fresh)
{
    if (are_same(&code->modules, fresh)) {
        dw_native_modules_release(fresh);
        return 0;
    }
    dw_native_modules_release(&code->modules);
    code->modules = *fresh;
    return renew(code);
}

/* Whether code that is made at run time has changed since it was looked at. */
static int look_at_made(struct dw_native_code *code)
{
    bool changed;
    struct dw_memory memory = memory_of(code->python);
    int error = dw_native_names_look(&code->names, (int)code->python->target->pid, &memory,
                                     &code->modules, &changed);
    return !error && changed ? renew(code) : error;
}

int dw_native_code_refresh(struct dw_native_code *code, uint64_t now_ns)
{
    struct dw_native_modules fresh = {0};
    struct dw_target maps = {0};
    struct dw_memory memory = memory_of(code->python);
    code->names.context = code;
    if (code->refreshed_ns && now_ns - code->refreshed_ns < REFRESH_AFTER_NS)
        return code->names.has_jit && dw_jit_has_news(&code->names.jit) ? look_at_made(code) : 0;
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
    uint64_t sp = stack->registers.sp, end = sp ? find_stack_end(code, sp) : 0;
    if (!sp)
        return false; /* the kernel's own, as io_uring has them */
    if (!end) {
        code->refreshed_ns = 0; /* the thread may be newer than the list of mappings */
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

/* All but its stack. */
static struct dw_unwinder unwinder_of(const struct dw_native_code *code)
{
    struct dw_memory memory = memory_of(code->python);
    return (struct dw_unwinder){.modules = code->unwind,
                                .made = dw_code_book_functions(&code->book),
                                .cache = code->cache,
                                .epoch = code->epoch,
                                .code = memory,
                                .doubt = memory,
                                .effort = DW_EFFORT_OUTSIDE};
}

/* The address of the call, or where the thread stands: the return address may be in the next
 * function. */
static uint64_t address_of(const struct dw_native_frame *frame)
{
    return frame->how == DW_UNWIND_FIRST ? frame->pc : frame->pc - 1;
}

static bool learn_rules(struct dw_native_code *code, const struct dw_native_frame *frame)
{
    struct dw_unwinder unwinder = unwinder_of(code);
    uint64_t address = address_of(frame), start, size;
    const struct dw_native_module *module = dw_native_modules_find(&code->modules, address);
    return !dw_unwind_has_rule(&unwinder, address) &&
           dw_native_names_function(&code->names, module, address, &start, &size) &&
           dw_unwind_learn(&unwinder, &code->book, start, size, address);
}

static void unwind(struct dw_native_code *code, struct dw_native_stack *stack)
{
    struct copy copy = {code->copy, stack->registers.sp, stack->end};
    struct dw_unwinder unwinder = unwinder_of(code);
    unwinder.stack = (struct dw_memory){read_copy, &copy};
    unwinder.stack_end = stack->end;
    stack->count = dw_unwind(&unwinder, &stack->registers, stack->frames, DW_NATIVE_DEPTH,
                             &stack->is_complete);
    stack->is_guessed = false;
    for (uint32_t i = 0; i < stack->count; i++)
        stack->is_guessed |= stack->frames[i].how >= DW_UNWIND_POINTER;
}

/* The last certain frame, when the walk had to guess from there or was cut: nothing describes its
 * function. */
static const struct dw_native_frame *find_trouble(const struct dw_native_stack *stack)
{
    uint32_t last = 0;
    while (last + 1 < stack->count && stack->frames[last + 1].how < DW_UNWIND_POINTER)
        last++;
    return stack->is_complete && last + 1 == stack->count ? NULL : &stack->frames[last];
}

/* Each pass makes rules for one more function. */
void dw_native_stack_unwind(struct dw_native_code *code, struct dw_native_stack *stack)
{
    const struct dw_native_frame *trouble;
    do
        unwind(code, stack);
    while (stack->count && (trouble = find_trouble(stack)) && learn_rules(code, trouble));
}

/* The file of the nearest frame farther out that has one. */
static const char *caller_of(const struct dw_native_code *code, const struct dw_native_stack *stack,
                             uint32_t index)
{
    for (uint32_t i = index + 1; i < stack->count; i++) {
        const struct dw_native_module *module =
            dw_native_modules_find(&code->modules, stack->frames[i].pc - 1);
        if (module)
            return module->path;
    }
    return NULL;
}

/* DW_ERR_EMPTY when it is code that nobody has named. */
static int define_place(struct dw_native_code *code, struct dw_ledger *log, uint64_t address,
                        dw_place_id *id)
{
    const struct dw_native_module *module = dw_native_modules_find(&code->modules, address);
    if (module)
        return dw_native_names_place(&code->names, log, module, address, id);
    int error = dw_native_names_made(&code->names, log, address, id);
    if (error != DW_ERR_EMPTY ||
        (code->names.has_jit && !dw_jit_may_tell(&code->names.jit, address)))
        return error;
    error = look_at_made(code);
    return error ? error : dw_native_names_made(&code->names, log, address, id);
}

int dw_native_code_place(struct dw_native_code *code, struct dw_ledger *log,
                         const struct dw_native_stack *stack, uint32_t frame_index,
                         dw_place_id *place)
{
    uint64_t address = address_of(&stack->frames[frame_index]);
    uint32_t index = DW_INTERN_FIND(code->addresses, code->address_index, sizeof address, &address);
    if (index != DW_MAP_NONE) {
        *place = code->addresses[index].place;
        return 0;
    }
    int error = define_place(code, log, address, place);
    if (error == DW_ERR_EMPTY)
        return dw_native_names_unnamed(log, caller_of(code, stack, frame_index), place);
    return error ? error
                 : DW_INTERN(code->addresses, code->address_count, code->address_capacity,
                             code->address_index, sizeof address,
                             (&(struct dw_native_address){address, *place}), &index);
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
