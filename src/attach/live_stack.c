/* SPDX-License-Identifier: MIT
 * Frames of Python code that calls Python code lie one after the other, so one copy, which takes
 * less time than a call, has them all. Frames elsewhere (generators, and those around calls by
 * C code) are copied at nearly the same moment. */
#define _GNU_SOURCE
#include "attach/live_stack.h"

#include "attach/field.h"
#include "attach/live_areas.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define LOOKS 3
#define MAX_PARTS (5 + DW_LIVE_ROUNDS * (DW_LIVE_AREAS + 2)) /* of one system call */
#define CFRAME_BYTES 16u
#define CFRAME_PREVIOUS_AT 16u /* in 3.11, where it is looked at */
#define MAX_THREAD_BYTES 8192u /* dw_py_offsets_init allows no larger ones */
#define GIL_BYTES 24u
#define GENERATOR_OWNER 1

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t gil_start(const struct dw_py_offsets *offsets)
{
    return smaller(offsets->gil_locked, offsets->gil_holder);
}

int dw_live_reader_init(struct dw_live_reader *reader, const struct dw_python *python,
                        uint32_t max_depth)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    if (larger(offsets->gil_locked, offsets->gil_holder) - gil_start(offsets) > GIL_BYTES - 8)
        return DW_ERR_DAMAGED;
    reader->python = python;
    reader->thread_start = smaller(smaller(offsets->thread_frame, offsets->thread_interpreter),
                                   offsets->thread_native_id);
    reader->thread_end = 8 + larger(larger(offsets->thread_frame, offsets->thread_interpreter),
                                    offsets->thread_native_id);
    reader->copies = malloc(DW_LIVE_ROUNDS * (size_t)DW_LIVE_COPY_BYTES);
    int error = dw_stack_reader_init(&reader->walker, python, max_depth);
    if (!error)
        error = dw_raw_stack_init(&reader->spare, max_depth);
    return reader->copies ? error : DW_ERR_MEMORY;
}

void dw_live_reader_release(struct dw_live_reader *reader)
{
    free(reader->copies);
    dw_stack_reader_release(&reader->walker);
    dw_raw_stack_release(&reader->spare);
    *reader = (struct dw_live_reader){0};
}

/* One system call, being put together. */
struct request {
    struct iovec local[MAX_PARTS], remote[MAX_PARTS];
    unsigned long count;
    size_t size;
};

static void ask(struct request *request, uint64_t address, void *to, size_t size)
{
    request->local[request->count] = (struct iovec){to, size};
    request->remote[request->count++] = (struct iovec){(void *)(uintptr_t)address, size};
    request->size += size;
}

/* What one system call brought, in the order in which it was read. */
struct look {
    uint8_t thread[MAX_THREAD_BYTES];
    uint8_t cframe[CFRAME_BYTES];
    struct {
        uint64_t thread_frame, frame; /* after the copy of the frames */
    } rounds[DW_LIVE_ROUNDS];
    uint8_t gil[GIL_BYTES];
};

static uint8_t *copy_of(const struct dw_live_reader *reader, uint32_t round)
{
    return reader->copies + round * (size_t)DW_LIVE_COPY_BYTES;
}

static uint64_t field_of(const struct dw_live_reader *reader, const struct look *look,
                         uint32_t offset)
{
    return dw_u64_at(look->thread, offset - reader->thread_start);
}

static void ask_for_areas(const struct dw_live_thread *thread, uint8_t *copy,
                          struct request *request)
{
    for (uint32_t i = 0; i < thread->area_count; i++) {
        size_t size = (size_t)(thread->areas[i].end - thread->areas[i].start);
        ask(request, thread->areas[i].start, copy, size);
        copy += size;
    }
}

/* The code comes last, since it may be gone, and the rest is good without; or, to be sure that it
 * is that of the stack, between copies of the stack. */
static bool take_look(const struct dw_live_reader *reader, const struct dw_live_thread *thread,
                      uint32_t rounds, struct look *look, struct dw_live_look *found)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    struct request request = {.count = 0};
    uint64_t thread_frame_at = thread->state + offsets->thread_frame, frame_at = thread_frame_at;
    ask(&request, thread->state + reader->thread_start, look->thread,
        reader->thread_end - reader->thread_start);
    if (thread->cframe) {
        frame_at = thread->cframe + offsets->cframe_frame;
        ask(&request, thread->cframe, look->cframe, CFRAME_BYTES);
    }
    for (uint32_t i = 0; i < rounds; i++) {
        ask_for_areas(thread, copy_of(reader, i), &request);
        if (rounds > 1 || offsets->saved_is_pointer)
            ask(&request, frame_at, &look->rounds[i].frame, 8);
        if (rounds > 1)
            ask(&request, thread_frame_at, &look->rounds[i].thread_frame, 8);
        if (thread->code && i + 2 == rounds)
            ask(&request, thread->code, found->code_head, offsets->code_bytecode);
    }
    ask(&request, thread->gil + gil_start(offsets), look->gil, GIL_BYTES);
    size_t needed = request.size;
    if (thread->code && rounds == 1)
        ask(&request, thread->code, found->code_head, offsets->code_bytecode);
    ssize_t got = process_vm_readv(reader->python->target->pid, request.local, request.count,
                                   request.remote, request.count, 0);
    found->code = got == (ssize_t)request.size ? thread->code : 0;
    return got >= (ssize_t)needed;
}

static const uint8_t *find_copy(const struct dw_live_thread *thread, const uint8_t *copy,
                                uint64_t address, size_t size)
{
    for (uint32_t i = 0; i < thread->area_count; i++) {
        const struct dw_live_area *area = &thread->areas[i];
        if (address >= area->start && address < area->end && size <= area->end - address)
            return copy + (address - area->start);
        copy += area->end - area->start;
    }
    return NULL;
}

/* A stack ends where C code called first. A generator that yields is cut off from its caller a
 * moment before it is left; in 3.11, where frames themselves say that C code called them, that
 * looks like an end. */
static bool has_end(const struct dw_py_offsets *offsets, const struct dw_raw_stack *stack)
{
    if (!stack->count || stack->state == DW_STACK_CUT)
        return true;
    const struct dw_raw_frame *last = &stack->frames[stack->count - 1];
    return last->is_entry && !(offsets->frame_entry && last->owner == GENERATOR_OWNER);
}

/* The frame that 3.15 keeps in the thread's state: nothing of Python runs. A chain that ends
 * elsewhere without a function was read from C's stack after its frames had gone. */
static bool is_base(const struct dw_live_thread *thread, uint64_t address)
{
    return !address || (address >= thread->state && address - thread->state < MAX_THREAD_BYTES);
}

/* The chain from that frame outwards, within the copy. */
static bool walk(const struct dw_live_reader *reader, const struct dw_live_thread *thread,
                 const uint8_t *copy, uint64_t address, struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint64_t innermost = address;
    stack->count = 0;
    stack->state = DW_STACK_WHOLE;
    for (uint32_t steps = 0; address; steps++) {
        struct dw_raw_frame frame;
        const uint8_t *bytes =
            address % 8 ? NULL : find_copy(thread, copy, address, offsets->frame_size);
        if (!bytes || steps > DW_LIVE_COPY_BYTES / offsets->frame_size ||
            !dw_raw_frame_parse(offsets, address, bytes, &frame, &address))
            return false;
        dw_raw_stack_add(stack, &frame);
    }
    return has_end(offsets, stack) && (stack->count || is_base(thread, innermost));
}

/* A frame that runs has no callee: whatever the chain has inside of it has returned already. */
static bool drop_returned(struct dw_raw_stack *stack)
{
    for (uint32_t i = stack->count; i-- > 1;) {
        if (!stack->frames[i].runs || stack->frames[i - 1].is_entry)
            continue;
        stack->count -= i;
        memmove(stack->frames, stack->frames + i, stack->count * sizeof *stack->frames);
        return true;
    }
    return false;
}

static void swap(struct dw_raw_stack *a, struct dw_raw_stack *b)
{
    struct dw_raw_stack held = *a;
    *a = *b;
    *b = held;
}

/* Takes the stack that ends in that frame if the frame runs and it is the deeper one. */
static void try_deeper(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                       uint64_t address, const uint8_t *bytes, struct dw_raw_stack *stack)
{
    if (dw_raw_frame_runs(&reader->python->offsets, bytes) &&
        walk(reader, thread, copy_of(reader, 0), address, &reader->spare) &&
        !drop_returned(&reader->spare) && reader->spare.count > stack->count)
        swap(stack, &reader->spare);
}

/* What was called after the innermost frame was read, and before the copy: before 3.14, a frame
 * of the copy that runs and has its callers there is live. It lies above those callers that are
 * in the main area, or is a generator's. Without this, short functions would hardly be seen. */
static void find_deeper(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                        struct dw_raw_stack *stack)
{
    const struct dw_live_area *main = &thread->areas[0];
    uint32_t frame_size = reader->python->offsets.frame_size;
    const uint8_t *copy = copy_of(reader, 0);
    uint64_t start = main->start;
    for (uint32_t i = 0; i < stack->count && start == main->start; i++)
        if (stack->frames[i].address >= main->start && stack->frames[i].address < main->end)
            start = stack->frames[i].address;
    for (uint64_t at = start; at + frame_size <= main->end; at += 8)
        try_deeper(reader, thread, at, copy + (at - main->start), stack);
    for (uint32_t i = 0; i < thread->area_count; i++) {
        if (i && !thread->areas[i].is_internal)
            try_deeper(reader, thread, thread->areas[i].start, copy, stack);
        copy += thread->areas[i].end - thread->areas[i].start;
    }
}

/* A frame that waits for what it called, though nothing above it runs: its callee returned while
 * it was copied, and lies right above it. */
static void find_callee(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                        struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const struct dw_live_area *main = &thread->areas[0];
    uint64_t caller = stack->frames[0].address;
    if (stack->frames[0].runs || caller < main->start || caller >= main->end)
        return;
    for (uint64_t at = caller + offsets->frame_size; at + offsets->frame_size <= main->end;
         at += 8) {
        const uint8_t *bytes = copy_of(reader, 0) + (at - main->start);
        if (dw_u64_at(bytes, offsets->frame_previous) != caller)
            continue;
        if (walk(reader, thread, copy_of(reader, 0), at, &reader->spare) &&
            !drop_returned(&reader->spare) && reader->spare.count == stack->count + 1)
            swap(stack, &reader->spare);
        return;
    }
}

/* From 3.14 on, frames do not tell that they returned. The innermost one was read a little before
 * the copy and again a little after it; the one that was live at that moment is the better one. */
static bool find_around_copy(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                             uint64_t before, uint64_t after, struct dw_raw_stack *stack)
{
    bool good = walk(reader, thread, copy_of(reader, 0), before, stack);
    if (good)
        drop_returned(stack);
    if (before == after || (good && stack->count && stack->frames[0].runs))
        return good;
    if (!walk(reader, thread, copy_of(reader, 0), after, &reader->spare))
        return good;
    drop_returned(&reader->spare);
    if (!good || (reader->spare.count && reader->spare.frames[0].runs))
        swap(stack, &reader->spare);
    return true;
}

/* The stack at the moment of the copy. */
static bool find_stack(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                       const struct look *look, uint64_t frame, struct dw_raw_stack *stack)
{
    if (reader->python->offsets.saved_is_pointer)
        return find_around_copy(reader, thread, frame, look->rounds[0].frame, stack);
    bool good = walk(reader, thread, copy_of(reader, 0), frame, stack);
    if (!good && !find_copy(thread, copy_of(reader, 0), frame, 1))
        return false;
    if (good)
        drop_returned(stack);
    else
        stack->count = 0;
    if (frame)
        find_deeper(reader, thread, stack);
    if (stack->count)
        find_callee(reader, thread, stack);
    return good || stack->count;
}

static bool is_same(const struct dw_raw_frame *a, const struct dw_raw_frame *b)
{
    return a->address == b->address && a->code == b->code && a->owner == b->owner;
}

static bool agree(const struct dw_raw_stack *a, const struct dw_raw_stack *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!is_same(&a->frames[i], &b->frames[i]) ||
            (i && a->frames[i].instruction != b->frames[i].instruction))
            return false;
    return true;
}

/* Before 3.14 a frame that returned has put its stack away, which one that is innermost only
 * does for the moment of a call. */
static bool is_innermost(const struct dw_py_offsets *offsets, const struct dw_raw_stack *stack)
{
    return !stack->count || offsets->saved_is_pointer || stack->frames[0].runs;
}

/* Whether all copies have the stack, and the thread was in its innermost frame around each. A
 * single one may have a caller just before or after the call: programs do the same again and
 * again, but not at the pace of the copies. */
static bool find_sure_stack(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                            const struct look *look, uint64_t frame, struct dw_raw_stack *stack)
{
    uint64_t thread_frame = field_of(reader, look, reader->python->offsets.thread_frame);
    for (uint32_t i = 0; i < DW_LIVE_ROUNDS; i++) {
        struct dw_raw_stack *found = i ? &reader->spare : stack;
        if (look->rounds[i].thread_frame != thread_frame ||
            (frame && look->rounds[i].frame != frame) ||
            !walk(reader, thread, copy_of(reader, i), frame, found) ||
            !is_innermost(&reader->python->offsets, found) || drop_returned(found) ||
            !agree(stack, found))
            return false;
    }
    return true;
}

/* Where the innermost frame is now. */
static bool read_innermost(struct dw_live_reader *reader, struct dw_live_thread *thread,
                           uint64_t *frame)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const struct dw_target *target = reader->python->target;
    if (dw_target_read_u64(target, thread->state + offsets->thread_frame, frame))
        return false;
    if (!offsets->has_cframe)
        return true;
    thread->cframe = *frame;
    return !*frame || !dw_target_read_u64(target, *frame + offsets->cframe_frame, frame);
}

static bool is_still_there(const struct dw_live_reader *reader, const struct dw_live_thread *thread,
                           const struct look *look)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    return field_of(reader, look, offsets->thread_interpreter) == thread->interpreter &&
           (field_of(reader, look, offsets->thread_native_id) & 0xffffffff) == thread->native_id;
}

static uint64_t gil_holder(const struct dw_live_reader *reader, const struct look *look)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint32_t start = gil_start(offsets);
    return dw_u32_at(look->gil, offsets->gil_locked - start) == 1
               ? dw_u64_at(look->gil, offsets->gil_holder - start)
               : 0;
}

/* Deep stacks take several system calls: they count when readings agree. */
static enum dw_live_result read_deep(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                     bool sure, struct dw_raw_stack *stack)
{
    for (uint32_t i = 0; i < (sure ? DW_LIVE_ROUNDS : 2); i++) {
        struct dw_raw_stack *found = i ? &reader->spare : stack;
        dw_stack_read(&reader->walker, thread->state, found);
        if (found->state == DW_STACK_BROKEN || !agree(stack, found) ||
            (sure && !is_innermost(&reader->python->offsets, found)))
            return DW_LIVE_AGAIN;
    }
    thread->is_deep = thread->known = stack->count > 100;
    return DW_LIVE_GOOD;
}

/* The innermost frame as it was before the copy; false when the way to it was another one. */
static bool find_innermost(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                           const struct look *look, uint64_t *frame)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    *frame = field_of(reader, look, offsets->thread_frame);
    if (!offsets->has_cframe)
        return true;
    uint64_t known = thread->cframe;
    thread->cframe = *frame;
    *frame = *frame ? dw_u64_at(look->cframe, offsets->cframe_frame) : 0;
    return known == thread->cframe;
}

static enum dw_live_result look_once(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                     bool sure, struct dw_raw_stack *stack,
                                     struct dw_live_look *found)
{
    struct look look;
    uint64_t frame;
    if (!thread->known) {
        if (!read_innermost(reader, thread, &frame))
            return DW_LIVE_GONE;
        dw_live_areas_learn(reader, thread, frame);
    }
    if (!take_look(reader, thread, sure ? DW_LIVE_ROUNDS : 1, &look, found)) {
        thread->known = false;
        thread->code = 0;
        thread->area_count = 0; /* some of it is not there any more */
        return DW_LIVE_AGAIN;
    }
    if (!is_still_there(reader, thread, &look))
        return DW_LIVE_GONE;
    found->gil_holder = gil_holder(reader, &look);
    if (thread->is_deep)
        return read_deep(reader, thread, sure, stack);
    bool is_known = find_innermost(reader, thread, &look, &frame);
    if (!find_stack(reader, thread, &look, frame, stack)) {
        if (is_known)
            dw_live_areas_adapt(reader, thread, frame);
        return DW_LIVE_AGAIN;
    }
    bool is_good = sure ? is_known && find_sure_stack(reader, thread, &look, frame, stack)
                        : is_known || (stack->count && stack->frames[0].runs);
    return is_good ? DW_LIVE_GOOD : DW_LIVE_AGAIN;
}

/* When the stack has grown out of what was copied, the next copy has it. */
enum dw_live_result dw_live_read(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                 bool sure, struct dw_raw_stack *stack, struct dw_live_look *found)
{
    enum dw_live_result result = DW_LIVE_AGAIN;
    for (int i = 0; i < LOOKS && result == DW_LIVE_AGAIN; i++)
        result = look_once(reader, thread, sure, stack, found);
    if (result == DW_LIVE_GOOD)
        thread->code = stack->count ? stack->frames[0].code : 0;
    return result;
}

enum dw_live_result dw_live_read_stopped(struct dw_live_reader *reader,
                                         struct dw_live_thread *thread, struct dw_raw_stack *stack,
                                         struct dw_live_look *found)
{
    struct look look;
    thread->area_count = 0;
    thread->cframe = thread->code = 0;
    thread->known = false;
    if (!take_look(reader, thread, 1, &look, found) || !is_still_there(reader, thread, &look))
        return DW_LIVE_GONE;
    found->gil_holder = gil_holder(reader, &look);
    dw_stack_read(&reader->walker, thread->state, stack);
    bool whole = stack->state != DW_STACK_BROKEN && has_end(&reader->python->offsets, stack);
    return whole ? DW_LIVE_GOOD : DW_LIVE_AGAIN;
}

/* Each run of the interpreter's loop has a cframe on the C stack, the innermost first. */
void dw_live_find_entries(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                          struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    const struct dw_target *target = reader->python->target;
    uint64_t cframe;
    if (!offsets->frame_entry ||
        dw_target_read_u64(target, thread->state + offsets->thread_frame, &cframe))
        return;
    for (uint32_t i = 0; cframe && i < stack->count; i++) {
        if (!stack->frames[i].is_entry)
            continue;
        stack->frames[i].entry = cframe;
        if (dw_target_read_u64(target, cframe + CFRAME_PREVIOUS_AT, &cframe))
            return;
    }
}
