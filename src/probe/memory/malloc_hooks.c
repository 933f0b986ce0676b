/* SPDX-License-Identifier: MIT
 * Whoever loads an object of code asks for its symbols next, which is when its calls are caught. */
#define _GNU_SOURCE
#include "probe/memory/malloc_hooks.h"

#include "native/elf/got_patch.h"
#include "native/elf/modules.h"
#include "probe/memory/alloc_events.h"
#include "probe/memory/pool_hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

enum {
    MALLOC,
    CALLOC,
    REALLOC,
    REALLOCARRAY,
    FREE,
    POSIX_MEMALIGN,
    ALIGNED_ALLOC,
    MEMALIGN,
    VALLOC,
    PVALLOC,
    MMAP,
    MMAP64,
    MUNMAP,
    MREMAP,
    DLSYM,
    HOOKS
};

static struct dw_got_hook hooks[HOOKS];
static _Atomic uint64_t generation; /* of objects, when they were looked at */

#define CALLER __builtin_return_address(0)
#define ORIGINAL(which, type) ((type)hooks[which].original)

/* Calls the original, and tells of what it gave. */
#define ALLOCATE(block, size, call)                                                                \
    do {                                                                                           \
        if (dw_alloc_is_quiet())                                                                   \
            return call;                                                                           \
        dw_alloc_here.busy++;                                                                      \
        void *block = call;                                                                        \
        dw_alloc_here.busy--;                                                                      \
        dw_alloc_allocated(block, size, DW_ALLOC_MALLOC, CALLER);                                  \
        return block;                                                                              \
    } while (0)

static void *hook_malloc(size_t size)
{
    ALLOCATE(block, size, ORIGINAL(MALLOC, void *(*)(size_t))(size));
}

static void *hook_calloc(size_t count, size_t size)
{
    ALLOCATE(block, count * size, ORIGINAL(CALLOC, void *(*)(size_t, size_t))(count, size));
}

static void *hook_aligned_alloc(size_t alignment, size_t size)
{
    ALLOCATE(block, size, ORIGINAL(ALIGNED_ALLOC, void *(*)(size_t, size_t))(alignment, size));
}

static void *hook_memalign(size_t alignment, size_t size)
{
    ALLOCATE(block, size, ORIGINAL(MEMALIGN, void *(*)(size_t, size_t))(alignment, size));
}

static void *hook_valloc(size_t size)
{
    ALLOCATE(block, size, ORIGINAL(VALLOC, void *(*)(size_t))(size));
}

static void *hook_pvalloc(size_t size)
{
    ALLOCATE(block, size, ORIGINAL(PVALLOC, void *(*)(size_t))(size));
}

static int hook_posix_memalign(void **block, size_t alignment, size_t size)
{
    bool is_quiet = dw_alloc_is_quiet();
    dw_alloc_here.busy++;
    int error = ORIGINAL(POSIX_MEMALIGN, int (*)(void **, size_t, size_t))(block, alignment, size);
    dw_alloc_here.busy--;
    if (!error && !is_quiet)
        dw_alloc_allocated(*block, size, DW_ALLOC_MALLOC, CALLER);
    return error;
}

static void hook_free(void *block)
{
    dw_alloc_freed(block);
    ORIGINAL(FREE, void (*)(void *))(block);
}

/* Of size 0 the block is gone, though there is no new one. */
static void *reallocate(void *before, size_t size, const void *caller)
{
    struct dw_block taken;
    if (dw_alloc_is_quiet())
        return ORIGINAL(REALLOC, void *(*)(void *, size_t))(before, size);
    bool is_known = dw_alloc_take(before, &taken);
    dw_alloc_here.busy++;
    void *block = ORIGINAL(REALLOC, void *(*)(void *, size_t))(before, size);
    dw_alloc_here.busy--;
    if (is_known && !block && size)
        dw_alloc_put_back(before, &taken);
    else if (is_known)
        dw_alloc_drop(before, &taken);
    dw_alloc_allocated(block, size, DW_ALLOC_MALLOC, caller);
    return block;
}

static void *hook_realloc(void *before, size_t size)
{
    return reallocate(before, size, CALLER);
}

static void *hook_reallocarray(void *before, size_t count, size_t size)
{
    size_t whole;
    if (__builtin_mul_overflow(count, size, &whole))
        return ORIGINAL(REALLOCARRAY, void *(*)(void *, size_t, size_t))(before, count, size);
    return reallocate(before, whole, CALLER);
}

/* Python gets its arenas inside of its allocators, and libraries that have one get memory inside of
 * theirs; what malloc gets is its own. */
static bool is_mapping_ours(void)
{
    return !dw_alloc_is_quiet() ||
           ((dw_alloc_here.busy == DW_ALLOC_IN_PYTHON || dw_alloc_here.busy == DW_ALLOC_IN_POOL) &&
            dw_alloc_mode_now() != DW_ALLOC_OFF);
}

static void *hook_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset)
{
    void *mapped = ORIGINAL(MMAP, void *(*)(void *, size_t, int, int, int, off_t))(
        start, size, protection, flags, file, offset);
    if (mapped != MAP_FAILED && is_mapping_ours())
        dw_alloc_mapped(mapped, size, file >= 0 && !(flags & MAP_ANONYMOUS), CALLER);
    return mapped;
}

static int hook_munmap(void *start, size_t size)
{
    if (is_mapping_ours())
        dw_alloc_unmapped(start, size);
    return ORIGINAL(MUNMAP, int (*)(void *, size_t))(start, size);
}

static void *hook_mremap(void *start, size_t before, size_t size, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    void *mapped = ORIGINAL(MREMAP, void *(*)(void *, size_t, size_t, int, ...))(
        start, before, size, flags, wanted);
    if (mapped == MAP_FAILED || !is_mapping_ours())
        return mapped;
    bool is_file = dw_alloc_unmapped(start, before);
    dw_alloc_mapped(mapped, size, is_file, CALLER);
    return mapped;
}

static void *hook_dlsym(void *handle, const char *name)
{
    if (!dw_alloc_is_quiet())
        dw_malloc_hooks_renew();
    return ORIGINAL(DLSYM, void *(*)(void *, const char *))(handle, name);
}

static struct dw_got_hook hooks[HOOKS] = {
    [MALLOC] = {.name = "malloc", .hook = hook_malloc},
    [CALLOC] = {.name = "calloc", .hook = hook_calloc},
    [REALLOC] = {.name = "realloc", .hook = hook_realloc},
    [REALLOCARRAY] = {.name = "reallocarray", .hook = hook_reallocarray},
    [FREE] = {.name = "free", .hook = hook_free},
    [POSIX_MEMALIGN] = {.name = "posix_memalign", .hook = hook_posix_memalign},
    [ALIGNED_ALLOC] = {.name = "aligned_alloc", .hook = hook_aligned_alloc},
    [MEMALIGN] = {.name = "memalign", .hook = hook_memalign},
    [VALLOC] = {.name = "valloc", .hook = hook_valloc},
    [PVALLOC] = {.name = "pvalloc", .hook = hook_pvalloc},
    [MMAP] = {.name = "mmap", .hook = hook_mmap},
    [MMAP64] = {.name = "mmap64", .hook = hook_mmap},
    [MUNMAP] = {.name = "munmap", .hook = hook_munmap},
    [MREMAP] = {.name = "mremap", .hook = hook_mremap},
    [DLSYM] = {.name = "dlsym", .hook = hook_dlsym, .is_loaders = true},
};

static struct dw_got_patch patch = {
    .hooks = hooks, .count = HOOKS, .loaders = {"/_ctypes.", "/_cffi_backend."}};

static void apply(bool is_on)
{
    dw_alloc_here.busy++;
    uint64_t now = dw_native_modules_generation();
    bool are_all = dw_got_apply(&patch, is_on);
    are_all &= dw_pool_hooks_apply(is_on);
    atomic_store(&generation, are_all ? now : 0);
    dw_alloc_here.busy--;
}

bool dw_malloc_hooks_install(void)
{
    static bool is_found, was_looked_for;
    if (!was_looked_for) {
        patch.loader = (const void *)(uintptr_t)&PyEval_EvalCode;
        patch.spared[0] = (const void *)(uintptr_t)&hook_malloc; /* the extension */
        patch.spared[1] = (const void *)(uintptr_t)&dw_native_modules_generation; /* libdwell */
        patch.spared[2] = dlsym(RTLD_DEFAULT, "__tls_get_addr");                  /* the linker */
        was_looked_for = true;
        is_found = dw_got_find(&patch);
        patch.spared[3] = hooks[MALLOC].original; /* what an allocator maps is its own */
    }
    if (is_found)
        apply(true);
    return is_found;
}

void dw_malloc_hooks_remove(void)
{
    if (hooks[MALLOC].original)
        apply(false);
}

void dw_malloc_hooks_renew(void)
{
    dw_alloc_here.busy++;
    int saved_errno = errno;
    bool is_old = atomic_load(&generation) != dw_native_modules_generation();
    dw_alloc_here.busy--;
    if (is_old)
        apply(true);
    errno = saved_errno;
}
