/* SPDX-License-Identifier: MIT
 * An allocator is called from anywhere, with or without the GIL, but the thread's own frames are
 * whole then, and what they run is alive. */
#define _GNU_SOURCE
#include "probe/memory/alloc_stack.h"

#include "cpython/sample_walk.h"
#include "native/elf/memory.h"
#include "native/unwind/registers.h"
#include "probe/sample/sample_merge.h"

#define TOKENS_MAX (1u << 13)
#define SEGMENTS_MAX (1u << 11)
#define NATIVE_MAX (1u << 10)
#define UNKNOWN_STACK_BYTES (8u << 20)

static const struct dw_native_view *_Atomic view;

void dw_alloc_stack_publish(const struct dw_native_view *new_view)
{
    atomic_store_explicit(&view, new_view, memory_order_release);
}

/* One walk at a time: the lock of dw_allocs is held. */
static struct {
    uint64_t python[TOKENS_MAX], tokens[TOKENS_MAX];
    struct dw_segment segments[SEGMENTS_MAX];
    struct dw_native_frame native[NATIVE_MAX];
    uint32_t python_count, segment_count, native_count;
} walked;

static void end_segment(uintptr_t boundary)
{
    if (walked.segment_count < SEGMENTS_MAX)
        walked.segments[walked.segment_count++] =
            (struct dw_segment){boundary, walked.python_count};
}

static void walk_python(PyThreadState *python)
{
    struct dw_py_walk walk;
    struct dw_py_step step;
    walked.python_count = walked.segment_count = 0;
    if (!python)
        return;
    dw_py_walk_begin(&walk, python);
    while (walked.python_count < TOKENS_MAX && dw_py_walk_next(&walk, &step)) {
        if (step.code)
            walked.python[walked.python_count++] = dw_alloc_code_token(step.code, step.unit);
        else
            end_segment(step.boundary);
    }
    end_segment(0); /* whatever is left */
}

static void find_stack(struct dw_alloc_thread *thread)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    thread->stack_start = thread->stack_end = 1;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &start, &size)) {
        thread->stack_start = (uintptr_t)start;
        thread->stack_end = thread->stack_start + size;
    }
    pthread_attr_destroy(&attributes);
}

static void walk_native(struct dw_alloc_thread *thread, const struct dw_native_view *known)
{
    struct dw_registers start;
    struct dw_checked_page page = {0};
    bool complete;
    walked.native_count = 0;
    if (!known || !known->cache)
        return;
    if (!thread->stack_end)
        find_stack(thread);
    dw_registers_here(&start);
    bool is_known = start.sp >= thread->stack_start && start.sp < thread->stack_end;
    struct dw_unwinder unwinder = {
        .modules = known->modules,
        .made = known->made,
        .cache = known->cache,
        .epoch = known->epoch,
        .stack = is_known ? dw_memory_own : dw_memory_own_checked,
        .stack_doubt = is_known ? dw_memory_own : (struct dw_memory){dw_memory_read_paged, &page},
        .code = dw_memory_own_checked,
        .doubt = dw_memory_own_checked,
        .stack_end = is_known ? thread->stack_end : start.sp + UNKNOWN_STACK_BYTES,
        .effort = DW_EFFORT_IN_HANDLER,
    };
    walked.native_count = dw_unwind(&unwinder, &start, walked.native, NATIVE_MAX, &complete);
}

/* Frames of the probe itself come first, and are nobody's. */
static uint32_t count_own(const struct dw_native_view *known)
{
    uint32_t count = 0;
    while (known && count < walked.native_count && walked.native[count].pc >= known->own.start &&
           walked.native[count].pc < known->own.end)
        count++;
    return count;
}

uint32_t dw_alloc_stack_whole(struct dw_alloc_thread *thread, PyThreadState *python)
{
    const struct dw_native_view *known = atomic_load_explicit(&view, memory_order_acquire);
    walk_python(python);
    walk_native(thread, known);
    uint32_t own = count_own(known);
    if (own && own < walked.native_count && walked.native[own].pc)
        walked.native[own].pc--; /* into the call, as the merge does for the others */
    struct dw_merge merge = {
        .native = walked.native + own,
        .native_count = walked.native_count - own,
        .python = walked.python,
        .segments = walked.segments,
        .segment_count = walked.segment_count,
        .collects = python && dw_py_holds_gil(python) && dw_py_collects_garbage(python),
        .tokens = walked.tokens,
        .capacity = TOKENS_MAX,
    };
    dw_merge_run(&merge);
    uint32_t step = 0;
    for (uint32_t i = merge.count; i-- > 0;)
        step = dw_alloc_step(step, walked.tokens[i]);
    return step;
}
