/* SPDX-License-Identifier: MIT
 * The pointers through which dwell calls malloc are changed as those of the program are. Large
 * blocks are in a list besides, which takes no lock: any thread of dwell may be inside. */
#define _GNU_SOURCE
#include "probe/memory/own_blocks.h"

#include "native/elf/got_patch.h"
#include "native/elf/modules.h"
#include "probe/memory/resident_bytes.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LARGE_BYTES 262144u
#define LARGE_MAX 256 /* in the list; more count as used */
#define HEAD_BYTES 8u /* of the C library, for each block */

enum { MALLOC, CALLOC, REALLOC, FREE, STRDUP, STRNDUP, HOOKS };

static struct dw_got_hook hooks[HOOKS];
#define ORIGINAL(which, type) ((type)hooks[which].original)

static _Atomic int64_t bytes;
static struct large {
    void *_Atomic block;
    _Atomic size_t size;
} larges[LARGE_MAX];

static void enter_large(void *block, size_t size)
{
    for (size_t i = 0; i < LARGE_MAX; i++) {
        void *none = NULL;
        if (!atomic_compare_exchange_strong(&larges[i].block, &none, block))
            continue;
        atomic_store(&larges[i].size, size);
        return;
    }
}

static void leave_large(void *block)
{
    for (size_t i = 0; i < LARGE_MAX; i++) {
        void *found = block;
        if (atomic_load(&larges[i].block) != block)
            continue;
        atomic_store(&larges[i].size, 0);
        atomic_compare_exchange_strong(&larges[i].block, &found, NULL);
        return;
    }
}

static void *enter(void *block)
{
    size_t size = block ? malloc_usable_size(block) : 0;
    if (!block)
        return NULL;
    atomic_fetch_add_explicit(&bytes, (int64_t)(size + HEAD_BYTES), memory_order_relaxed);
    if (size >= LARGE_BYTES)
        enter_large(block, size);
    return block;
}

static void leave(void *block)
{
    size_t size = block ? malloc_usable_size(block) : 0;
    if (!block)
        return;
    atomic_fetch_sub_explicit(&bytes, (int64_t)(size + HEAD_BYTES), memory_order_relaxed);
    if (size >= LARGE_BYTES)
        leave_large(block);
}

static void *own_malloc(size_t size)
{
    return enter(ORIGINAL(MALLOC, void *(*)(size_t))(size));
}

static void *own_calloc(size_t count, size_t size)
{
    return enter(ORIGINAL(CALLOC, void *(*)(size_t, size_t))(count, size));
}

/* Of size 0 the block is gone, though there is no new one. */
static void *own_realloc(void *before, size_t size)
{
    leave(before);
    void *block = ORIGINAL(REALLOC, void *(*)(void *, size_t))(before, size);
    if (!block && size && before)
        enter(before);
    return enter(block);
}

static void own_free(void *block)
{
    leave(block);
    ORIGINAL(FREE, void (*)(void *))(block);
}

static char *own_strdup(const char *text)
{
    return enter(ORIGINAL(STRDUP, char *(*)(const char *))(text));
}

static char *own_strndup(const char *text, size_t size)
{
    return enter(ORIGINAL(STRNDUP, char *(*)(const char *, size_t))(text, size));
}

static struct dw_got_hook hooks[HOOKS] = {
    [MALLOC] = {.name = "malloc", .hook = own_malloc},
    [CALLOC] = {.name = "calloc", .hook = own_calloc},
    [REALLOC] = {.name = "realloc", .hook = own_realloc},
    [FREE] = {.name = "free", .hook = own_free},
    [STRDUP] = {.name = "strdup", .hook = own_strdup},
    [STRNDUP] = {.name = "strndup", .hook = own_strndup},
};

void dw_own_blocks_watch(void)
{
    static struct dw_got_patch patch = {.hooks = hooks, .count = HOOKS, .is_for_spared = true};
    if (patch.spared[0])
        return;
    patch.spared[0] = (const void *)(uintptr_t)&own_malloc;                   /* the extension */
    patch.spared[1] = (const void *)(uintptr_t)&dw_native_modules_generation; /* libdwell */
    if (dw_got_find(&patch))
        dw_got_apply(&patch, true);
}

/* Of the whole pages of a block, which may be gone by now. */
static uint64_t unused_of(void *block, size_t size)
{
    uintptr_t start = ((uintptr_t)block + 4095) & ~(uintptr_t)4095;
    uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)4095;
    uint64_t used = block && end > start ? dw_resident_bytes((void *)start, end - start) : 0;
    return block && end > start ? end - start - used : 0;
}

/* The C library gives a large block a mapping, with two words before it. */
static bool has_mapping(const void *block)
{
    return (uintptr_t)block % 4096 == 16;
}

struct dw_own_use dw_own_blocks_use(void)
{
    int64_t now = atomic_load(&bytes);
    struct dw_own_use use = {.bytes = now > 0 ? (uint64_t)now : 0};
    for (size_t i = 0; i < LARGE_MAX; i++) {
        void *block = atomic_load(&larges[i].block);
        uint64_t unused = unused_of(block, atomic_load(&larges[i].size));
        use.unused += unused;
        use.unused_in_heap += has_mapping(block) ? 0 : unused;
    }
    if (use.unused > use.bytes)
        use.unused = use.bytes;
    return use;
}
