/* SPDX-License-Identifier: MIT
 * Threads without the GIL use the raw domain while it changes. So the context stays the one that
 * was there, which our functions do not look at, and any mixture of old and new is right. */
#include "probe/memory/python_hooks.h"

#include "probe/memory/heap_events.h"

#include <string.h>

#define DOMAINS 3

static PyMemAllocatorEx originals[DOMAINS];
static bool is_installed[DOMAINS];
static bool has_arenas; /* small objects are cut out of these */

#define SMALL_BYTES 512u /* as CPython has it */

/* The raw domain is malloc itself. */
static enum dw_heap_kind kind_of(const PyMemAllocatorEx *original, size_t size)
{
    return original != &originals[0] && size <= SMALL_BYTES && has_arenas ? DW_HEAP_PYTHON
                                                                          : DW_HEAP_LARGE;
}

static void begin(void)
{
    dw_heap_here.busy++;
    dw_heap_here.is_in_python = true;
}

static void end(void)
{
    dw_heap_here.is_in_python = false;
    dw_heap_here.busy--;
}

static inline __attribute__((always_inline)) void *
allocate(const PyMemAllocatorEx *original, size_t count, size_t size, bool is_cleared)
{
    bool is_quiet = dw_heap_is_quiet();
    if (!is_quiet)
        begin();
    void *block = is_cleared ? original->calloc(original->ctx, count, size)
                             : original->malloc(original->ctx, size);
    if (is_quiet)
        return block;
    end();
    dw_heap_allocated(block, count * size, kind_of(original, count * size), NULL);
    return block;
}

static inline __attribute__((always_inline)) void *reallocate(const PyMemAllocatorEx *original,
                                                              void *before, size_t size)
{
    struct dw_block taken;
    if (dw_heap_is_quiet())
        return original->realloc(original->ctx, before, size);
    bool is_known = dw_heap_take(before, &taken);
    begin();
    void *block = original->realloc(original->ctx, before, size);
    end();
    if (is_known && !block)
        dw_heap_put_back(before, &taken);
    else if (is_known)
        dw_heap_drop(before, &taken);
    dw_heap_allocated(block, size, kind_of(original, size), NULL);
    return block;
}

static inline __attribute__((always_inline)) void release(const PyMemAllocatorEx *original,
                                                          void *block)
{
    bool is_quiet = dw_heap_is_quiet();
    if (!is_quiet) {
        dw_heap_freed(block);
        begin();
    }
    original->free(original->ctx, block);
    if (!is_quiet)
        end();
}

#define HOOKS(domain)                                                                              \
    static void *malloc_##domain(void *context, size_t size)                                       \
    {                                                                                              \
        (void)context;                                                                             \
        return allocate(&originals[domain], 1, size, false);                                       \
    }                                                                                              \
    static void *calloc_##domain(void *context, size_t count, size_t size)                         \
    {                                                                                              \
        (void)context;                                                                             \
        return allocate(&originals[domain], count, size, true);                                    \
    }                                                                                              \
    static void *realloc_##domain(void *context, void *block, size_t size)                         \
    {                                                                                              \
        (void)context;                                                                             \
        return reallocate(&originals[domain], block, size);                                        \
    }                                                                                              \
    static void free_##domain(void *context, void *block)                                          \
    {                                                                                              \
        (void)context;                                                                             \
        release(&originals[domain], block);                                                        \
    }

HOOKS(0)
HOOKS(1)
HOOKS(2)

#define HOOKED(domain)                                                                             \
    {                                                                                              \
        .malloc = malloc_##domain, .calloc = calloc_##domain, .realloc = realloc_##domain,         \
        .free = free_##domain                                                                      \
    }

static const struct {
    PyMemAllocatorDomain domain;
    PyMemAllocatorEx hooks;
} domains[DOMAINS] = {
    {PYMEM_DOMAIN_RAW, HOOKED(0)},
    {PYMEM_DOMAIN_MEM, HOOKED(1)},
    {PYMEM_DOMAIN_OBJ, HOOKED(2)},
};

void dw_python_hooks_install(void)
{
    const char *chosen = getenv("PYTHONMALLOC");
    has_arenas = !chosen || strncmp(chosen, "malloc", 6) != 0;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx now, hooks = domains[i].hooks;
        if (is_installed[i]) /* others that are over them keep them */
            continue;
        PyMem_GetAllocator(domains[i].domain, &now);
        is_installed[i] = true;
        originals[i] = now;
        hooks.ctx = now.ctx;
        PyMem_SetAllocator(domains[i].domain, &hooks);
    }
}

void dw_python_hooks_remove(void)
{
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx now;
        PyMem_GetAllocator(domains[i].domain, &now);
        if (now.malloc != domains[i].hooks.malloc)
            continue;
        is_installed[i] = false;
        PyMem_SetAllocator(domains[i].domain, &originals[i]);
    }
}
