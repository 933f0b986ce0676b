/* SPDX-License-Identifier: MIT
 * Threads without the GIL use the raw domain while it changes. So the context stays the one that
 * was there, which our functions do not look at, and any mixture of old and new is right.
 *
 * Samples have hooks of their own, and none where CPython's allocator of small objects frees: a
 * block that is sampled comes from the raw domain instead, where that allocator gives back all that
 * is not its own. That allocator calls no other for small objects but the one of arenas, which has
 * a hook too: so for these, nothing need be noted of being inside. */
#include "probe/memory/python_hooks.h"

#include "probe/memory/alloc_events.h"

#include <string.h>

#define DOMAINS 3
#define SMALL_BYTES 512u /* as CPython has it */

struct hooked {
    PyMemAllocatorEx originals[DOMAINS];
    bool is_installed[DOMAINS];
};

static struct hooked of_all, of_samples;
static size_t small_end;   /* what has fewer bytes is cut out of arenas; not in the raw domain */
static bool is_pymalloc;   /* by CPython's own allocator, with nothing before it */
static size_t plain_bytes; /* what is not larger comes from that */
static PyObjectArenaAllocator original_arenas;
static bool has_arena_hook;

/* The raw domain, which is the first, is malloc itself. */
static enum dw_alloc_kind kind_of(int domain, size_t size)
{
    return domain && size < small_end ? DW_ALLOC_PYTHON : DW_ALLOC_LARGE;
}

static inline __attribute__((always_inline)) void *call(const PyMemAllocatorEx *original,
                                                        size_t count, size_t size, bool is_cleared)
{
    return is_cleared ? original->calloc(original->ctx, count, size)
                      : original->malloc(original->ctx, size);
}

static inline __attribute__((always_inline)) void *
call_busy(const PyMemAllocatorEx *original, size_t count, size_t size, bool is_cleared)
{
    dw_alloc_here.busy = DW_ALLOC_IN_PYTHON;
    void *block = call(original, count, size, is_cleared);
    dw_alloc_here.busy = 0;
    return block;
}

static inline __attribute__((always_inline)) void *allocate_any(int domain, size_t count,
                                                                size_t size, bool is_cleared)
{
    const PyMemAllocatorEx *original = &of_all.originals[domain];
    if (dw_alloc_here.busy || dw_alloc_mode_now() != DW_ALLOC_EXACT)
        return call(original, count, size, is_cleared);
    void *block = call_busy(original, count, size, is_cleared);
    return dw_alloc_note(block, count * size, kind_of(domain, count * size), NULL);
}

static __attribute__((noinline)) void *allocate_sampled(int domain, size_t count, size_t size,
                                                        bool is_cleared)
{
    const PyMemAllocatorEx *original = &of_samples.originals[domain];
    if (dw_alloc_here.busy || dw_alloc_mode_now() != DW_ALLOC_SAMPLED)
        return call(original, count, size, is_cleared);
    bool is_sampled = dw_alloc_is_sampled(count * size);
    if (is_sampled && is_pymalloc)
        original = &of_samples.originals[0];
    void *block = call_busy(original, count, size, is_cleared);
    if (is_sampled)
        dw_alloc_sample(block, count * size, kind_of(domain, count * size));
    return block;
}

static __attribute__((noinline)) void *allocate_large(int domain, size_t count, size_t size,
                                                      bool is_cleared)
{
    return call_busy(&of_samples.originals[domain], count, size, is_cleared);
}

/* A block that is small and not sampled needs little more than the call. Of no bytes it is left to
 * the others. */
static inline __attribute__((always_inline)) void *allocate_one(int domain, size_t count,
                                                                size_t size, bool is_cleared)
{
    const PyMemAllocatorEx *original = &of_samples.originals[domain];
    size_t bytes = count * size;
    if (__builtin_expect(dw_alloc_here.busy || dw_alloc_mode_now() != DW_ALLOC_SAMPLED ||
                             dw_alloc_here.left < (int64_t)bytes,
                         0))
        return allocate_sampled(domain, count, size, is_cleared);
    dw_alloc_is_sampled(bytes);
    if (domain && bytes - 1 < plain_bytes)
        return call(original, count, size, is_cleared);
    return allocate_large(domain, count, size, is_cleared);
}

static inline __attribute__((always_inline)) void *reallocate(const struct hooked *hooked,
                                                              int domain, void *before, size_t size)
{
    const PyMemAllocatorEx *original = &hooked->originals[domain];
    struct dw_block taken;
    if (dw_alloc_is_quiet())
        return original->realloc(original->ctx, before, size);
    bool is_known = dw_alloc_take(before, &taken);
    dw_alloc_here.busy = DW_ALLOC_IN_PYTHON;
    void *block = original->realloc(original->ctx, before, size);
    dw_alloc_here.busy = 0;
    if (is_known && !block)
        dw_alloc_put_back(before, &taken);
    else if (is_known)
        dw_alloc_drop(before, &taken);
    return block;
}

static inline __attribute__((always_inline)) void *reallocate_any(int domain, void *before,
                                                                  size_t size)
{
    void *block = reallocate(&of_all, domain, before, size);
    if (!dw_alloc_is_quiet())
        dw_alloc_allocated(block, size, kind_of(domain, size), NULL);
    return block;
}

/* From where its free would not be seen. The same block when there is no memory. */
static void *move_to_raw(int domain, void *block, size_t size)
{
    const PyMemAllocatorEx *raw = &of_samples.originals[0], *former = &of_samples.originals[domain];
    void *moved = call_busy(raw, 1, size, false);
    if (!moved)
        return block;
    memcpy(moved, block, size);
    former->free(former->ctx, block);
    return moved;
}

static void *reallocate_one(int domain, void *before, size_t size)
{
    if (!before)
        return allocate_one(domain, 1, size, false);
    void *block = reallocate(&of_samples, domain, before, size);
    if (!block || dw_alloc_here.busy || dw_alloc_mode_now() != DW_ALLOC_SAMPLED ||
        !dw_alloc_is_sampled(size))
        return block;
    if (is_pymalloc && kind_of(domain, size) == DW_ALLOC_PYTHON) {
        void *moved = move_to_raw(domain, block, size);
        if (moved == block)
            return block;
        block = moved;
    }
    dw_alloc_sample(block, size, kind_of(domain, size));
    return block;
}

/* What the original gives back in its turn is not known. */
static inline __attribute__((always_inline)) void release(const struct hooked *hooked, int domain,
                                                          void *block)
{
    dw_alloc_freed(block);
    hooked->originals[domain].free(hooked->originals[domain].ctx, block);
}

#define HOOKS(domain)                                                                              \
    static void *malloc_any_##domain(void *context, size_t size)                                   \
    {                                                                                              \
        (void)context;                                                                             \
        return allocate_any(domain, 1, size, false);                                               \
    }                                                                                              \
    static void *calloc_any_##domain(void *context, size_t count, size_t size)                     \
    {                                                                                              \
        (void)context;                                                                             \
        return allocate_any(domain, count, size, true);                                            \
    }                                                                                              \
    static void *realloc_any_##domain(void *context, void *block, size_t size)                     \
    {                                                                                              \
        (void)context;                                                                             \
        return reallocate_any(domain, block, size);                                                \
    }                                                                                              \
    static void free_any_##domain(void *context, void *block)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        release(&of_all, domain, block);                                                           \
    }                                                                                              \
    static void *malloc_one_##domain(void *context, size_t size)                                   \
    {                                                                                              \
        (void)context;                                                                             \
        return allocate_one(domain, 1, size, false);                                               \
    }                                                                                              \
    static void *calloc_one_##domain(void *context, size_t count, size_t size)                     \
    {                                                                                              \
        (void)context;                                                                             \
        return allocate_one(domain, count, size, true);                                            \
    }                                                                                              \
    static void *realloc_one_##domain(void *context, void *block, size_t size)                     \
    {                                                                                              \
        (void)context;                                                                             \
        return reallocate_one(domain, block, size);                                                \
    }                                                                                              \
    static void free_one_##domain(void *context, void *block)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        release(&of_samples, domain, block);                                                       \
    }

HOOKS(0)
HOOKS(1)
HOOKS(2)

#define HOOKED(which, domain)                                                                      \
    {                                                                                              \
        .malloc = malloc_##which##_##domain, .calloc = calloc_##which##_##domain,                  \
        .realloc = realloc_##which##_##domain, .free = free_##which##_##domain                     \
    }

static const struct {
    PyMemAllocatorDomain domain;
    PyMemAllocatorEx any, one;
} domains[DOMAINS] = {
    {PYMEM_DOMAIN_RAW, HOOKED(any, 0), HOOKED(one, 0)},
    {PYMEM_DOMAIN_MEM, HOOKED(any, 1), HOOKED(one, 1)},
    {PYMEM_DOMAIN_OBJ, HOOKED(any, 2), HOOKED(one, 2)},
};

/* What is mapped inside is an arena. */
static void *allocate_arena(void *context, size_t size)
{
    uint32_t busy = dw_alloc_here.busy;
    dw_alloc_here.busy = DW_ALLOC_IN_PYTHON;
    void *arena = original_arenas.alloc(context, size);
    dw_alloc_here.busy = busy;
    return arena;
}

static void install_arena_hook(void)
{
    PyObjectArenaAllocator hooked;
    if (has_arena_hook)
        return;
    PyObject_GetArenaAllocator(&original_arenas);
    hooked = original_arenas;
    hooked.alloc = allocate_arena;
    has_arena_hook = true;
    PyObject_SetArenaAllocator(&hooked);
}

static void remove_arena_hook(void)
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    if (!has_arena_hook || now.alloc != allocate_arena)
        return;
    has_arena_hook = false;
    plain_bytes = 0;
    PyObject_SetArenaAllocator(&original_arenas);
}

/* Python's own allocator is the same for both domains, and needs no context; those that others put
 * before it do. */
static bool find_pymalloc(const PyMemAllocatorEx now[DOMAINS])
{
    return now[1].malloc == now[2].malloc && now[1].malloc != now[0].malloc && !now[1].ctx &&
           !now[2].ctx;
}

static void install(struct hooked *hooked, int domain, const PyMemAllocatorEx *now,
                    PyMemAllocatorEx hooks)
{
    hooked->is_installed[domain] = true;
    hooked->originals[domain] = *now;
    hooks.ctx = now->ctx;
    if (hooked == &of_samples && domain && is_pymalloc)
        hooks.free = now->free;
    PyMem_SetAllocator(domains[domain].domain, &hooks);
}

void dw_python_hooks_install(bool is_exact)
{
    struct hooked *hooked = is_exact ? &of_all : &of_samples;
    PyMemAllocatorEx now[DOMAINS];
    const char *chosen = getenv("PYTHONMALLOC");
    bool has_arenas = !chosen || strncmp(chosen, "malloc", 6) != 0;
    bool is_mimalloc = chosen && !strncmp(chosen, "mimalloc", 8);
    small_end = !has_arenas ? 0 : is_mimalloc ? SIZE_MAX : SMALL_BYTES + 1;
    for (int i = 0; i < DOMAINS; i++)
        PyMem_GetAllocator(domains[i].domain, &now[i]);
    if (!is_exact && !of_samples.is_installed[0])
        is_pymalloc = has_arenas && !is_mimalloc && find_pymalloc(now);
    if (!is_exact && is_pymalloc) {
        install_arena_hook();
        plain_bytes = SMALL_BYTES;
    }
    for (int i = 0; i < DOMAINS; i++)
        if (!hooked->is_installed[i]) /* others that are over them keep them */
            install(hooked, i, &now[i], is_exact ? domains[i].any : domains[i].one);
}

static void remove_from(struct hooked *hooked, int domain, const PyMemAllocatorEx *hooks)
{
    PyMemAllocatorEx now;
    PyMem_GetAllocator(domains[domain].domain, &now);
    if (now.malloc != hooks->malloc)
        return;
    hooked->is_installed[domain] = false;
    PyMem_SetAllocator(domains[domain].domain, &hooked->originals[domain]);
}

void dw_python_hooks_remove(void)
{
    remove_arena_hook();
    for (int i = 0; i < DOMAINS; i++) {
        remove_from(&of_all, i, &domains[i].any);
        remove_from(&of_samples, i, &domains[i].one);
        remove_from(&of_all, i, &domains[i].any);
    }
}
