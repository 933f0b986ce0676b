/* SPDX-License-Identifier: MIT
 * Samples are a Poisson process over the bytes of a thread: a block of s bytes is met with the
 * chance 1 - exp(-s / period), and then stands for the inverse of that. */
#define _GNU_SOURCE
#include "probe/memory/alloc_events.h"

#include "base/grow.h"
#include "cpython/sample_walk.h"
#include "probe/memory/alloc_frames.h"
#include "probe/memory/alloc_known.h"
#include "probe/memory/alloc_stack.h"
#include "probe/memory/block_shadow.h"
#include "probe/memory/mappings.h"
#include "probe/sample/sample_slot.h"
#include "record/recorder.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

_Atomic uint8_t dw_alloc_mode;
_Atomic pid_t dw_alloc_only_thread;

static struct {
    char **names;
    uint32_t count, capacity;
    _Atomic uint32_t now; /* 1 + index; 0: none */
} marks;

static uint32_t mark_now(void)
{
    return atomic_load_explicit(&marks.now, memory_order_relaxed);
}

/* What is inside of the function that runs; 0: nothing that is told apart. */
static inline uint32_t inner_mark(const struct dw_alloc_thread *thread, PyThreadState *python)
{
    if (__builtin_expect(dw_own_work_is_in(thread->tid), 0))
        return 1 + DW_MARK_OWN;
    bool collects = python && dw_py_collects_garbage(python) && dw_py_holds_gil(python);
    return __builtin_expect(collects, 0) ? 1 + DW_MARK_GC : 0;
}

static inline __attribute__((always_inline)) uint32_t
exact_site(struct dw_alloc_thread *thread, enum dw_alloc_kind kind, const void *caller)
{
    PyThreadState *python = dw_py_calling_thread();
    dw_py_frame *running = python ? DW_PY_CURRENT_FRAME(python) : NULL;
    uint32_t inner = inner_mark(thread, python);
    dw_labels_id labels = python ? dw_py_labels_now(python, &thread->labels) : 0;
    struct dw_alloc_place place = {
        .caller = caller,
        .labels_region = dw_alloc_labels_region(labels, dw_region_here()),
        .mark_inner_kind = dw_alloc_mark_inner_kind(mark_now(), inner, kind),
    };
    struct dw_alloc_frame *frame = NULL;
    if (inner == 1 + DW_MARK_OWN)
        place.caller = NULL;
    else if (running && (frame = dw_alloc_frames_find(thread, running)))
        dw_alloc_place_at(&place, frame->frame, frame > thread->frames ? frame[-1].step : 0);
    const struct dw_alloc_known *known =
        dw_alloc_known_find(thread, &place, frame ? frame->frame : NULL);
    if (__builtin_expect(!known, 0))
        return 0;
    if (frame) {
        frame->instruction = place.instruction;
        frame->step = known->step;
    }
    return known->site;
}

/* With the lock. */
static uint32_t whole_site(struct dw_alloc_thread *thread, enum dw_alloc_kind kind)
{
    PyThreadState *python = dw_py_sampled_thread();
    struct dw_alloc_site_key key = {
        .thread = thread->index,
        .labels = python ? dw_py_labels_now(python, &thread->labels) : 0,
        .region = dw_region_here(),
        .mark = mark_now(),
        .kind = kind,
    };
    key.step = dw_own_work_is_in(thread->tid)
                   ? dw_alloc_step(0, DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_OWN))
                   : dw_alloc_stack_whole(thread, python);
    return dw_alloc_site(&key);
}

/* With the lock: a block at that address was given back without our knowledge. */
static void forget_former(void *block)
{
    struct dw_block former;
    if (dw_block_may_be((uintptr_t)block) && dw_block_take((uintptr_t)block, &former))
        dw_alloc_remove(former.site, former.count, former.bytes, false);
}

static void add_sample(struct dw_alloc_thread *thread, void *block, size_t size,
                       enum dw_alloc_kind kind)
{
    double chance = -expm1(-(double)size / DW_ALLOC_PERIOD);
    dw_alloc_lock();
    struct dw_block what = {
        .site = whole_site(thread, kind),
        .thread = thread->index,
        .count = (uint64_t)(DW_ALLOC_COUNT / chance + 0.5),
        .bytes = (uint64_t)((double)size / chance + 0.5),
        .born = dw_alloc_here.count,
    };
    forget_former(block);
    if (what.site && dw_block_put((uintptr_t)block, &what)) {
        dw_alloc_at(thread->index, what.site);
        dw_alloc_add(what.site, what.count, what.bytes);
        dw_alloc_here_add(what.bytes);
    } else {
        dw_allocs.dropped++;
    }
    dw_alloc_unlock();
}

/* The bytes until the next sample. */
static int64_t draw(struct dw_alloc_thread *thread)
{
    thread->chance ^= thread->chance << 13;
    thread->chance ^= thread->chance >> 7;
    thread->chance ^= thread->chance << 17;
    double uniform = ((double)(thread->chance >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
    return (int64_t)(-log(uniform) * DW_ALLOC_PERIOD);
}

/* A thread that is new has no bytes left, and draws its first. */
static void sample(struct dw_alloc_thread *thread, void *block, size_t size,
                   enum dw_alloc_kind kind)
{
    bool is_new = !thread->is_begun;
    thread->is_begun = true;
    dw_alloc_here.left = is_new ? draw(thread) - (int64_t)size : -1;
    if (dw_alloc_here.left >= 0)
        return;
    add_sample(thread, block, size, kind);
    dw_alloc_here.left = draw(thread);
}

/* NULL: nothing of the calling thread is recorded. */
static inline struct dw_alloc_thread *recorded_thread(void)
{
    struct dw_alloc_thread *thread = dw_alloc_thread();
    pid_t only = atomic_load_explicit(&dw_alloc_only_thread, memory_order_relaxed);
    return thread && (!only || only == thread->tid) ? thread : NULL;
}

void dw_alloc_sample(void *block, size_t size, enum dw_alloc_kind kind)
{
    int saved_errno = errno;
    dw_alloc_here.busy++;
    struct dw_alloc_thread *thread = block ? recorded_thread() : NULL;
    if (thread)
        sample(thread, block, size, kind);
    else
        dw_alloc_here.left = (int64_t)DW_ALLOC_PERIOD; /* it need not come back soon */
    dw_alloc_here.busy--;
    errno = saved_errno;
}

static uint32_t recent_of(const void *block)
{
    return (uint32_t)((uintptr_t)block >> 4);
}

/* A block was given back without our knowledge. */
static void forget_stale(const struct dw_shadowed *stale)
{
    dw_alloc_lock();
    dw_alloc_remove(stale->site, DW_ALLOC_COUNT, stale->size, false);
    dw_alloc_unlock();
}

static __attribute__((noinline)) void note_slow(const struct dw_alloc_thread *thread, void *block,
                                                uint32_t site, size_t size)
{
    struct dw_shadowed stale;
    bool is_noted = dw_shadow_put((uintptr_t)block, site, size, &stale);
    while (__builtin_expect(stale.site, 0)) {
        forget_stale(&stale);
        is_noted = dw_shadow_put((uintptr_t)block, site, size, &stale);
    }
    dw_alloc_lock();
    if (is_noted) {
        dw_alloc_at(thread->index, site);
        dw_alloc_add(site, DW_ALLOC_COUNT, size);
    } else {
        dw_allocs.dropped++;
    }
    dw_alloc_unlock();
}

/* Nothing is recorded of the block. */
static void note_nothing(const void *block)
{
    struct dw_shadowed stale = dw_shadow_take((uintptr_t)block);
    if (stale.site)
        forget_stale(&stale);
}

/* Mostly the thread owns the lock and nothing is in the way, so that nothing is called. */
static inline void note(struct dw_alloc_thread *thread, void *block, uint32_t site, size_t size)
{
    dw_alloc_here_add(size);
    thread->recent[dw_alloc_here.count++ % DW_ALLOC_RECENT] = recent_of(block);
    if (!dw_alloc_lock_as_owner() || !dw_shadow_put_soon((uintptr_t)block, site, size)) {
        dw_alloc_unlock_as_owner();
        note_slow(thread, block, site, size);
        return;
    }
    dw_alloc_at(thread->index, site);
    dw_alloc_add(site, DW_ALLOC_COUNT, size);
    dw_alloc_unlock_as_owner();
}

void *dw_alloc_note(void *block, size_t size, enum dw_alloc_kind kind, const void *caller)
{
    if (!block)
        return NULL;
    dw_alloc_here.busy = 1;
    struct dw_alloc_thread *thread = recorded_thread();
    uint32_t site = thread ? exact_site(thread, kind, caller) : 0;
    if (__builtin_expect(site && site < DW_SHADOW_SITES, 1))
        note(thread, block, site, size);
    else
        note_nothing(block);
    dw_alloc_here.busy = 0;
    return block;
}

bool dw_alloc_take_slow(void *block, struct dw_block *taken)
{
    if (dw_alloc_mode_now() == DW_ALLOC_EXACT) {
        struct dw_shadowed found = dw_shadow_take((uintptr_t)block);
        *taken =
            (struct dw_block){.site = found.site, .bytes = found.size, .count = DW_ALLOC_COUNT};
        return found.site;
    }
    dw_alloc_here.busy++;
    dw_alloc_lock();
    bool is_known = dw_block_take((uintptr_t)block, taken);
    dw_alloc_unlock();
    dw_alloc_here.busy--;
    return is_known;
}

/* Four at a time. */
static inline bool is_recent(const void *block)
{
    typedef uint32_t four __attribute__((vector_size(16)));
    typedef int64_t two __attribute__((vector_size(16)));
    const struct dw_alloc_thread *thread = dw_alloc_here.thread;
    if (!thread)
        return false;
    const four *recent = (const four *)thread->recent;
    two found = (two)(recent[0] == recent_of(block)) | (two)(recent[1] == recent_of(block));
    return found[0] | found[1];
}

static bool is_temporary(const void *block, const struct dw_block *taken)
{
    const struct dw_alloc_thread *thread = dw_alloc_here.thread;
    if (dw_alloc_mode_now() == DW_ALLOC_EXACT)
        return is_recent(block);
    return thread && taken->thread == thread->index &&
           dw_alloc_here.count - taken->born < DW_ALLOC_RECENT;
}

void dw_alloc_drop(void *block, const struct dw_block *taken)
{
    dw_alloc_here.busy = 1;
    dw_alloc_lock();
    dw_alloc_remove(taken->site, taken->count, taken->bytes, is_temporary(block, taken));
    dw_alloc_unlock();
    dw_alloc_here.net -= (int64_t)taken->bytes;
    dw_alloc_here.busy = 0;
}

void dw_alloc_forget_sample(void *block)
{
    struct dw_block taken;
    if (block && !dw_alloc_here.busy && dw_alloc_take_slow(block, &taken))
        dw_alloc_drop(block, &taken);
}

static __attribute__((noinline)) void forget_slow(void *block)
{
    struct dw_block taken;
    dw_alloc_unlock_as_owner();
    dw_alloc_here.busy = 0;
    if (dw_alloc_take_slow(block, &taken))
        dw_alloc_drop(block, &taken);
}

/* Mostly the thread owns the lock, so that nothing is called. */
void dw_alloc_forget(void *block)
{
    if (dw_alloc_here.busy)
        return;
    dw_alloc_here.busy = 1;
    if (!dw_alloc_lock_as_owner()) {
        forget_slow(block);
        return;
    }
    struct dw_shadowed found = dw_shadow_take((uintptr_t)block);
    if (found.site) {
        dw_alloc_remove(found.site, DW_ALLOC_COUNT, found.size, is_recent(block));
        dw_alloc_here.net -= (int64_t)found.size;
    }
    dw_alloc_unlock_as_owner();
    dw_alloc_here.busy = 0;
}

void dw_alloc_put_back(void *block, const struct dw_block *taken)
{
    struct dw_shadowed stale;
    if (dw_alloc_mode_now() == DW_ALLOC_EXACT) {
        dw_shadow_put((uintptr_t)block, taken->site, taken->bytes, &stale);
        return;
    }
    dw_alloc_here.busy++;
    dw_alloc_lock();
    dw_block_put((uintptr_t)block, taken);
    dw_alloc_unlock();
    dw_alloc_here.busy--;
}

/* Python's arenas have no stack: whoever needs the first object of one is not to blame. */
static void add_arena(struct dw_alloc_thread *thread, void *start, size_t size)
{
    struct dw_alloc_site_key key = {.thread = thread->index, .kind = DW_ALLOC_ARENA};
    dw_alloc_lock();
    key.step = dw_alloc_step(0, DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_ARENAS));
    dw_mapping_put((uintptr_t)start, size, (struct dw_mapping_of){.site = dw_alloc_site(&key)});
    dw_alloc_unlock();
}

/* Mappings are few, so that each is looked at. */
static void add_mapping(struct dw_alloc_thread *thread, void *start, size_t size,
                        struct dw_mapping_of of)
{
    bool is_exact = dw_alloc_mode_now() == DW_ALLOC_EXACT;
    of.site = is_exact ? exact_site(thread, DW_ALLOC_MMAP, of.caller) : 0;
    dw_alloc_lock();
    if (!is_exact)
        of.site = whole_site(thread, DW_ALLOC_MMAP);
    dw_mapping_put((uintptr_t)start, size, of);
    dw_alloc_unlock();
}

void dw_alloc_mapped(void *start, size_t size, bool is_file, const void *caller)
{
    int saved_errno = errno;
    dw_alloc_here.busy++;
    struct dw_alloc_thread *thread = recorded_thread();
    if (thread && dw_alloc_here.busy & DW_ALLOC_IN_PYTHON)
        add_arena(thread, start, size);
    else if (thread)
        add_mapping(thread, start, size,
                    (struct dw_mapping_of){.caller = caller, .is_file = is_file});
    dw_alloc_here.busy--;
    errno = saved_errno;
}

bool dw_alloc_unmapped(void *start, size_t size)
{
    dw_alloc_here.busy++;
    dw_alloc_lock();
    bool is_file = dw_mapping_remove((uintptr_t)start, size);
    dw_alloc_unlock();
    dw_alloc_here.busy--;
    return is_file;
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

int dw_alloc_mark(const char *name)
{
    uint32_t mark;
    dw_alloc_here.busy++;
    dw_alloc_lock();
    int error = name ? find_mark(name, &mark) : 0;
    if (!error)
        atomic_store(&marks.now, name ? mark + 1 : 0);
    dw_alloc_unlock();
    dw_alloc_here.busy--;
    return error;
}

const char *dw_alloc_mark_name(uint32_t mark)
{
    dw_alloc_lock();
    const char *name = marks.names[mark - 1];
    dw_alloc_unlock();
    return name;
}
