/* SPDX-License-Identifier: MIT
 * Samples are a Poisson process over the bytes of a thread: a block of s bytes is met with the
 * chance 1 - exp(-s / period), and then stands for the inverse of that. */
#define _GNU_SOURCE
#include "probe/memory/heap_events.h"

#include "base/grow.h"
#include "cpython/sample_walk.h"
#include "probe/memory/block_shadow.h"
#include "probe/memory/heap_stack.h"
#include "probe/memory/mappings.h"
#include "probe/sample/sample_slot.h"
#include "record/recorder.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

_Atomic bool dw_heap_is_on, dw_heap_is_exact;

static struct {
    char **names;
    uint32_t count, capacity;
    _Atomic uint32_t now; /* 1 + index; 0: none */
} marks;

static struct dw_heap_site_key key_of(struct dw_heap_thread *thread, PyThreadState *python,
                                      enum dw_heap_kind kind)
{
    return (struct dw_heap_site_key){
        .thread = thread->index,
        .labels = python ? dw_py_labels_now(python, &thread->labels) : 0,
        .region = dw_region_here(),
        .mark = atomic_load_explicit(&marks.now, memory_order_relaxed),
        .kind = kind,
    };
}

static uint64_t mark_token(enum dw_mark mark)
{
    return DW_TOKEN(DW_TOKEN_MARK, (uint64_t)mark);
}

/* With the lock. Where native code called malloc is part of the stack. */
static uint32_t enter_site(const struct dw_heap_known *wanted)
{
    struct dw_heap_site_key key = wanted->key;
    if (wanted->mark)
        key.step = dw_heap_step(key.step, mark_token((enum dw_mark)(wanted->mark - 1)));
    if (wanted->caller)
        key.step = dw_heap_step(key.step,
                                DW_TOKEN(DW_TOKEN_NATIVE, (uint64_t)(uintptr_t)wanted->caller - 1));
    return dw_heap_site(&key);
}

static bool is_same(const struct dw_heap_known *a, const struct dw_heap_known *b)
{
    return a->caller == b->caller && a->mark == b->mark && !memcmp(&a->key, &b->key, sizeof a->key);
}

/* The site of a stack of Python functions, mostly one that was met before. */
static uint32_t known_site(struct dw_heap_thread *thread, const struct dw_heap_known *wanted)
{
    if (!thread->known && !(thread->known = calloc(DW_HEAP_CACHE, sizeof *thread->known)))
        return 0;
    uint64_t hash = ((uint64_t)wanted->key.step << 32 ^ (uint64_t)(uintptr_t)wanted->caller ^
                     wanted->key.kind) *
                    UINT64_C(0x9e3779b97f4a7c15);
    struct dw_heap_known *known = &thread->known[hash >> 32 & (DW_HEAP_CACHE - 1)];
    if (known->site && is_same(known, wanted))
        return known->site;
    pthread_mutex_lock(&dw_heap.lock);
    uint32_t site = enter_site(wanted);
    pthread_mutex_unlock(&dw_heap.lock);
    *known = *wanted;
    known->site = site;
    return site;
}

static uint32_t exact_site(struct dw_heap_thread *thread, enum dw_heap_kind kind,
                           const void *caller)
{
    PyThreadState *python = dw_py_sampled_thread();
    struct dw_heap_known wanted = {.caller = caller, .key = key_of(thread, python, kind)};
    if (dw_own_work_is_in(thread->tid)) {
        wanted.mark = 1 + DW_MARK_OWN;
        wanted.caller = NULL;
    } else if (python) {
        bool collects = dw_py_collects_garbage(python) && dw_py_holds_gil(python);
        wanted.mark = collects ? 1 + DW_MARK_GC : 0;
        wanted.key.step = dw_heap_stack_python(thread, python);
    }
    return known_site(thread, &wanted);
}

/* With the lock. */
static uint32_t whole_site(struct dw_heap_thread *thread, enum dw_heap_kind kind)
{
    PyThreadState *python = dw_py_sampled_thread();
    struct dw_heap_site_key key = key_of(thread, python, kind);
    key.step = dw_own_work_is_in(thread->tid) ? dw_heap_step(0, mark_token(DW_MARK_OWN))
                                              : dw_heap_stack_whole(thread, python);
    return dw_heap_site(&key);
}

/* With the lock: a block at that address was given back without our knowledge. */
static void forget_former(void *block)
{
    struct dw_block former;
    if (dw_block_may_be((uintptr_t)block) && dw_block_take((uintptr_t)block, &former))
        dw_heap_remove(former.site, former.count, former.bytes, false);
}

static void add_sample(struct dw_heap_thread *thread, void *block, size_t size,
                       enum dw_heap_kind kind)
{
    double chance = -expm1(-(double)size / DW_HEAP_PERIOD);
    pthread_mutex_lock(&dw_heap.lock);
    struct dw_block what = {
        .site = whole_site(thread, kind),
        .thread = thread->index,
        .count = (uint64_t)(DW_HEAP_COUNT / chance + 0.5),
        .bytes = (uint64_t)((double)size / chance + 0.5),
        .born = dw_heap_here.count,
    };
    forget_former(block);
    if (what.site && dw_block_put((uintptr_t)block, &what))
        dw_heap_add(what.site, what.count, what.bytes);
    else
        dw_heap.dropped++;
    pthread_mutex_unlock(&dw_heap.lock);
}

/* The bytes until the next sample. */
static int64_t draw(struct dw_heap_thread *thread)
{
    thread->chance ^= thread->chance << 13;
    thread->chance ^= thread->chance >> 7;
    thread->chance ^= thread->chance << 17;
    double uniform = ((double)(thread->chance >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
    return (int64_t)(-log(uniform) * DW_HEAP_PERIOD);
}

static void add_exact(struct dw_heap_thread *thread, void *block, size_t size,
                      enum dw_heap_kind kind, const void *caller)
{
    struct dw_block former = {0};
    uint32_t site = exact_site(thread, kind, caller);
    bool has_former = dw_heap_take_slow(block, &former);
    bool is_known = site && site < DW_SHADOW_SITES && dw_shadow_put((uintptr_t)block, site, size);
    pthread_mutex_lock(&dw_heap.lock);
    if (has_former)
        dw_heap_remove(former.site, former.count, former.bytes, false);
    if (is_known)
        dw_heap_add(site, DW_HEAP_COUNT, size);
    else
        dw_heap.dropped++;
    pthread_mutex_unlock(&dw_heap.lock);
    thread->recent[dw_heap_here.count % DW_HEAP_RECENT] = (uintptr_t)block;
}

/* A thread that is new has no bytes left, and draws its first. */
static void allocated(struct dw_heap_thread *thread, void *block, size_t size,
                      enum dw_heap_kind kind, const void *caller)
{
    bool is_new = !thread->is_begun;
    thread->is_begun = true;
    if (atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed)) {
        add_exact(thread, block, size, kind, caller);
        return;
    }
    dw_heap_here.left = is_new ? draw(thread) - (int64_t)size : -1;
    if (dw_heap_here.left >= 0)
        return;
    add_sample(thread, block, size, kind);
    dw_heap_here.left = draw(thread);
}

void dw_heap_allocated_slow(void *block, size_t size, enum dw_heap_kind kind, const void *caller)
{
    int saved_errno = errno;
    dw_heap_here.busy++;
    struct dw_heap_thread *thread = dw_heap_thread();
    if (thread)
        allocated(thread, block, size, kind, caller);
    dw_heap_here.busy--;
    errno = saved_errno;
}

bool dw_heap_take_slow(void *block, struct dw_block *taken)
{
    if (atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed)) {
        taken->count = DW_HEAP_COUNT;
        return dw_shadow_take((uintptr_t)block, &taken->site, &taken->bytes);
    }
    dw_heap_here.busy++;
    pthread_mutex_lock(&dw_heap.lock);
    bool is_known = dw_block_take((uintptr_t)block, taken);
    pthread_mutex_unlock(&dw_heap.lock);
    dw_heap_here.busy--;
    return is_known;
}

static bool is_recent(void *block, const struct dw_block *taken)
{
    const struct dw_heap_thread *thread = dw_heap_here.thread;
    bool is_found = false;
    if (!thread)
        return false;
    if (!atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed))
        return taken->thread == thread->index && dw_heap_here.count - taken->born < DW_HEAP_RECENT;
    for (uint32_t i = 0; i < DW_HEAP_RECENT; i++)
        is_found |= thread->recent[i] == (uintptr_t)block;
    return is_found;
}

void dw_heap_drop(void *block, const struct dw_block *taken)
{
    bool is_temporary = is_recent(block, taken);
    dw_heap_here.busy++;
    pthread_mutex_lock(&dw_heap.lock);
    dw_heap_remove(taken->site, taken->count, taken->bytes, is_temporary);
    pthread_mutex_unlock(&dw_heap.lock);
    dw_heap_here.busy--;
}

void dw_heap_put_back(void *block, const struct dw_block *taken)
{
    if (atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed)) {
        dw_shadow_put((uintptr_t)block, taken->site, taken->bytes);
        return;
    }
    dw_heap_here.busy++;
    pthread_mutex_lock(&dw_heap.lock);
    dw_block_put((uintptr_t)block, taken);
    pthread_mutex_unlock(&dw_heap.lock);
    dw_heap_here.busy--;
}

/* Python's arenas have no stack: whoever needs the first object of one is not to blame. */
static void add_arena(struct dw_heap_thread *thread, void *start, size_t size)
{
    struct dw_heap_known arena = {.key = {.thread = thread->index, .kind = DW_HEAP_ARENA},
                                  .mark = 1 + DW_MARK_ARENAS};
    pthread_mutex_lock(&dw_heap.lock);
    dw_mapping_put((uintptr_t)start, size, enter_site(&arena));
    pthread_mutex_unlock(&dw_heap.lock);
}

/* Mappings are few, so that each is looked at. */
static void add_mapping(struct dw_heap_thread *thread, void *start, size_t size, const void *caller)
{
    bool is_exact = atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed);
    uint32_t site = is_exact ? exact_site(thread, DW_HEAP_MMAP, caller) : 0;
    pthread_mutex_lock(&dw_heap.lock);
    if (!is_exact)
        site = whole_site(thread, DW_HEAP_MMAP);
    dw_mapping_put((uintptr_t)start, size, site);
    pthread_mutex_unlock(&dw_heap.lock);
}

void dw_heap_mapped(void *start, size_t size, const void *caller)
{
    int saved_errno = errno;
    dw_heap_here.busy++;
    struct dw_heap_thread *thread = dw_heap_thread();
    if (thread && dw_heap_here.is_in_python)
        add_arena(thread, start, size);
    else if (thread)
        add_mapping(thread, start, size, caller);
    dw_heap_here.busy--;
    errno = saved_errno;
}

void dw_heap_unmapped(void *start, size_t size)
{
    dw_heap_here.busy++;
    pthread_mutex_lock(&dw_heap.lock);
    dw_mapping_remove((uintptr_t)start, size);
    pthread_mutex_unlock(&dw_heap.lock);
    dw_heap_here.busy--;
}

/* With the lock. */
static int find_mark(const char *name, uint32_t *mark)
{
    *mark = 0;
    while (*mark < marks.count && strcmp(marks.names[*mark], name) != 0)
        ++*mark;
    if (*mark < marks.count)
        return 0;
    int error = DW_GROW(marks.names, marks.count, marks.capacity);
    char *copy = error ? NULL : strdup(name);
    if (!copy)
        return DW_ERR_MEMORY;
    marks.names[marks.count++] = copy;
    return 0;
}

int dw_heap_mark(const char *name)
{
    uint32_t mark;
    dw_heap_here.busy++;
    pthread_mutex_lock(&dw_heap.lock);
    int error = name ? find_mark(name, &mark) : 0;
    if (!error)
        atomic_store(&marks.now, name ? mark + 1 : 0);
    pthread_mutex_unlock(&dw_heap.lock);
    dw_heap_here.busy--;
    return error;
}

const char *dw_heap_mark_name(uint32_t mark)
{
    pthread_mutex_lock(&dw_heap.lock);
    const char *name = marks.names[mark - 1];
    pthread_mutex_unlock(&dw_heap.lock);
    return name;
}
