/* SPDX-License-Identifier: MIT
 * An allocator is called from anywhere, with or without the GIL, but the thread's own frames are
 * whole then, and what they run is alive. */
#define _GNU_SOURCE
#include "probe/memory/heap_stack.h"

#include "base/grow.h"
#include "cpython/sample_walk.h"
#include "native/elf/memory.h"
#include "native/unwind/registers.h"
#include "probe/sample/sample_merge.h"

#define TOKENS_MAX (1u << 13)
#define SEGMENTS_MAX (1u << 11)
#define NATIVE_MAX (1u << 10)
#define UNKNOWN_STACK_BYTES (8u << 20)

static const struct dw_native_view *_Atomic view;

void dw_heap_stack_publish(const struct dw_native_view *new_view)
{
    atomic_store_explicit(&view, new_view, memory_order_release);
}

static bool make_room(struct dw_heap_thread *thread)
{
    uint32_t capacity = thread->capacity;
    if (thread->capacity == DW_HEAP_DEPTH || DW_GROW(thread->walked, capacity, capacity))
        return false;
    capacity = thread->capacity;
    return !DW_GROW(thread->frames, thread->capacity, thread->capacity);
}

static uint32_t enter_new(uint32_t parent, dw_py_frame *frame)
{
    pthread_mutex_lock(&dw_heap.lock);
    uint64_t token = dw_heap_code_token(dw_py_frame_code(frame), _PyInterpreterFrame_LASTI(frame));
    uint32_t step = dw_heap_step(parent, token);
    pthread_mutex_unlock(&dw_heap.lock);
    return step;
}

static uint32_t enter(struct dw_heap_thread *thread, uint32_t parent, dw_py_frame *frame)
{
    const PyCodeObject *code = dw_py_frame_code(frame);
    struct dw_heap_entered wanted = {
        .instruction = DW_PY_FRAME_INSTRUCTION(frame),
        .name = code->co_qualname,
        .version = DW_PY_CODE_VERSION(code),
        .parent = parent,
    };
    if (!thread->entered && !(thread->entered = calloc(DW_HEAP_CACHE, sizeof *thread->entered)))
        return enter_new(parent, frame);
    uint64_t hash = ((uint64_t)(uintptr_t)wanted.instruction ^ (uint64_t)parent << 32) *
                    UINT64_C(0x9e3779b97f4a7c15);
    struct dw_heap_entered *known = &thread->entered[hash >> 32 & (DW_HEAP_CACHE - 1)];
    if (known->instruction == wanted.instruction && known->parent == parent &&
        known->name == wanted.name && known->version == wanted.version && known->step)
        return known->step;
    wanted.step = enter_new(parent, frame);
    *known = wanted;
    return wanted.step;
}

static bool is_same(const struct dw_heap_frame *known, const dw_py_frame *frame)
{
    return known->frame == frame &&
           known->instruction == (const void *)DW_PY_FRAME_INSTRUCTION(frame);
}

/* How many of the outermost functions are those of the last stack, if the frame is one of the
 * innermost that this had, and all that called it are as they were; else 0. Frames are the same if
 * address and instruction are: for other code to be at the same place, this thread would have
 * allocated it, with another stack. */
static uint32_t count_same(const struct dw_heap_thread *thread, dw_py_frame *frame)
{
    uint32_t depth = thread->depth;
    for (int tries = 0; depth && tries < 4 && thread->frames[depth - 1].frame != frame; tries++)
        depth--;
    if (!depth || thread->frames[depth - 1].frame != frame)
        return 0;
    for (uint32_t at = depth - 1; at-- > 0;) {
        frame = frame->previous;
        if (frame && thread->frames[at].frame != frame)
            frame = dw_py_frame_complete(frame);
        if (!frame || !is_same(&thread->frames[at], frame))
            return 0;
    }
    return dw_py_frame_previous(frame) ? 0 : depth;
}

/* Frames that are new, the innermost first, up to one from which on all is the same. */
static uint32_t walk(struct dw_heap_thread *thread, PyThreadState *python, uint32_t *same)
{
    uint32_t count = 0;
    dw_py_frame *frame = dw_py_frame_complete(DW_PY_CURRENT_FRAME(python));
    *same = 0;
    for (int tries = 0; frame; frame = dw_py_frame_previous(frame), tries++) {
        if (tries < 4 && (*same = count_same(thread, frame))) {
            bool moved = !is_same(&thread->frames[*same - 1], frame);
            *same -= moved;
            count += moved;
            if (moved)
                thread->walked[count - 1] = frame;
            return count;
        }
        if (count == thread->capacity && !make_room(thread))
            break;
        thread->walked[count++] = frame;
    }
    return count;
}

uint32_t dw_heap_stack_python(struct dw_heap_thread *thread, PyThreadState *python)
{
    uint32_t same, count = walk(thread, python, &same);
    uint32_t step = same ? thread->frames[same - 1].step : 0;
    while (count && (same < thread->capacity || make_room(thread))) {
        dw_py_frame *frame = thread->walked[--count];
        step = enter(thread, step, frame);
        thread->frames[same++] = (struct dw_heap_frame){
            .frame = frame,
            .instruction = DW_PY_FRAME_INSTRUCTION(frame),
            .step = step,
        };
    }
    thread->depth = same;
    return step;
}

/* One walk at a time: the heap's lock is held. */
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
            walked.python[walked.python_count++] = dw_heap_code_token(step.code, step.unit);
        else
            end_segment(step.boundary);
    }
    end_segment(0); /* whatever is left */
}

static void find_stack(struct dw_heap_thread *thread)
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

static void walk_native(struct dw_heap_thread *thread, const struct dw_native_view *known)
{
    ucontext_t context;
    struct dw_registers start;
    struct dw_checked_page page = {0};
    bool complete;
    walked.native_count = 0;
    if (!known || !known->cache || getcontext(&context))
        return;
    if (!thread->stack_end)
        find_stack(thread);
    dw_registers_of_context(&context, &start);
    bool is_known = start.sp >= thread->stack_start && start.sp < thread->stack_end;
    struct dw_unwinder unwinder = {
        .modules = known->modules,
        .made = known->made,
        .cache = known->cache,
        .epoch = known->epoch,
        .stack = is_known ? dw_memory_own : dw_memory_own_checked,
        .stack_doubt = {dw_memory_read_paged, &page},
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

uint32_t dw_heap_stack_whole(struct dw_heap_thread *thread, PyThreadState *python)
{
    const struct dw_native_view *known = atomic_load_explicit(&view, memory_order_acquire);
    walk_python(python);
    walk_native(thread, known);
    uint32_t own = count_own(known);
    if (own && own < walked.native_count)
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
        step = dw_heap_step(step, walked.tokens[i]);
    return step;
}
