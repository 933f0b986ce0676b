/* SPDX-License-Identifier: MIT
 * The names of the functions have the types of their arguments, so a function of that name is
 * called as it is here: a Status is returned through a pointer that comes first, and is NULL inside
 * when all went well. An Arrow without these names is left alone. */
#include "probe/memory/pool_hooks.h"

#include "native/elf/got_patch.h"
#include "probe/memory/alloc_events.h"

#define MIMALLOC "_ZN5arrow18BaseMemoryPoolImplINS_12_GLOBAL__N_117MimallocAllocatorEE"
#define JEMALLOC "_ZN5arrow18BaseMemoryPoolImplINS_11memory_pool8internal17JemallocAllocatorEE"
#define CALLER __builtin_return_address(0)

enum { ALLOCATE, REALLOCATE, FREE, FUNCTIONS };
enum { OF_MIMALLOC, OF_JEMALLOC = FUNCTIONS, HOOKS = 2 * FUNCTIONS };

struct status {
    void *failure;
};

typedef struct status *allocate_function(struct status *, void *pool, int64_t size,
                                         int64_t alignment, void **block);
typedef struct status *reallocate_function(struct status *, void *pool, int64_t before,
                                           int64_t size, int64_t alignment, void **block);
typedef void free_function(void *pool, void *block, int64_t size, int64_t alignment);

static struct dw_got_hook hooks[HOOKS];

/* A block of no bytes is the same for all. */
static void note(const struct status *status, void *block, int64_t size, enum dw_alloc_kind kind,
                 const void *caller)
{
    if (!status->failure && size > 0)
        dw_alloc_allocated(block, (size_t)size, kind, caller);
}

static inline __attribute__((always_inline)) struct status *
allocate(int of, enum dw_alloc_kind kind, struct status *status, void *pool, int64_t size,
         int64_t alignment, void **block, const void *caller)
{
    allocate_function *original = (allocate_function *)hooks[of + ALLOCATE].original;
    if (dw_alloc_is_quiet())
        return original(status, pool, size, alignment, block);
    dw_alloc_here.busy = DW_ALLOC_IN_POOL;
    struct status *result = original(status, pool, size, alignment, block);
    dw_alloc_here.busy = 0;
    note(status, *block, size, kind, caller);
    return result;
}

static inline __attribute__((always_inline)) struct status *
reallocate(int of, enum dw_alloc_kind kind, struct status *status, void *pool, int64_t before,
           int64_t size, int64_t alignment, void **block, const void *caller)
{
    reallocate_function *original = (reallocate_function *)hooks[of + REALLOCATE].original;
    struct dw_block taken;
    void *former = *block;
    if (dw_alloc_is_quiet())
        return original(status, pool, before, size, alignment, block);
    bool is_known = before > 0 && dw_alloc_take(former, &taken);
    dw_alloc_here.busy = DW_ALLOC_IN_POOL;
    struct status *result = original(status, pool, before, size, alignment, block);
    dw_alloc_here.busy = 0;
    if (is_known && status->failure)
        dw_alloc_put_back(former, &taken);
    else if (is_known)
        dw_alloc_drop(former, &taken);
    note(status, *block, size, kind, caller);
    return result;
}

#define HOOKS_OF(name, of, kind)                                                                   \
    static struct status *name##_allocate(struct status *status, void *pool, int64_t size,         \
                                          int64_t alignment, void **block)                         \
    {                                                                                              \
        return allocate(of, kind, status, pool, size, alignment, block, CALLER);                   \
    }                                                                                              \
    static struct status *name##_reallocate(struct status *status, void *pool, int64_t before,     \
                                            int64_t size, int64_t alignment, void **block)         \
    {                                                                                              \
        return reallocate(of, kind, status, pool, before, size, alignment, block, CALLER);         \
    }                                                                                              \
    static void name##_free(void *pool, void *block, int64_t size, int64_t alignment)              \
    {                                                                                              \
        if (size > 0)                                                                              \
            dw_alloc_freed(block);                                                                 \
        ((free_function *)hooks[(of) + FREE].original)(pool, block, size, alignment);              \
    }

HOOKS_OF(mimalloc, OF_MIMALLOC, DW_ALLOC_MIMALLOC)
HOOKS_OF(jemalloc, OF_JEMALLOC, DW_ALLOC_JEMALLOC)

#define IN_ARROW(mangled, function)                                                                \
    {                                                                                              \
        .name = (mangled), .hook = (function), .object = "/libarrow.so"                            \
    }

static struct dw_got_hook hooks[HOOKS] = {
    [OF_MIMALLOC + ALLOCATE] = IN_ARROW(MIMALLOC "8AllocateEllPPh", mimalloc_allocate),
    [OF_MIMALLOC + REALLOCATE] = IN_ARROW(MIMALLOC "10ReallocateElllPPh", mimalloc_reallocate),
    [OF_MIMALLOC + FREE] = IN_ARROW(MIMALLOC "4FreeEPhll", mimalloc_free),
    [OF_JEMALLOC + ALLOCATE] = IN_ARROW(JEMALLOC "8AllocateEllPPh", jemalloc_allocate),
    [OF_JEMALLOC + REALLOCATE] = IN_ARROW(JEMALLOC "10ReallocateElllPPh", jemalloc_reallocate),
    [OF_JEMALLOC + FREE] = IN_ARROW(JEMALLOC "4FreeEPhll", jemalloc_free),
};

static struct dw_got_patch patch = {.hooks = hooks, .count = HOOKS};

bool dw_pool_hooks_watch(enum dw_alloc_kind kind, uint64_t base)
{
    const struct dw_got_hook *hook =
        &hooks[(kind == DW_ALLOC_MIMALLOC ? OF_MIMALLOC : OF_JEMALLOC) + ALLOCATE];
    return hook->original && hook->base == base;
}

bool dw_pool_hooks_apply(bool is_on)
{
    return dw_got_apply(&patch, is_on);
}
