/* SPDX-License-Identifier: MIT
 * One process_vm_readv with many parts, put together anew for each look. The kernel copies them in
 * order, so what must be read before or after the frames is asked for before or after them. */
#include "attach/sampling/live_copy.h"

#include "base/clock.h"

#include <sys/resource.h>
#include <sys/uio.h>

#define MAX_PARTS (6 + DW_LIVE_ROUNDS * (DW_LIVE_AREAS + 3)) /* of one system call */
#define NO_AREA UINT32_MAX
#define SHORT_CHANGE_NS 200000

/* One system call, being put together. */
struct request {
    struct iovec local[MAX_PARTS], remote[MAX_PARTS];
    uint32_t areas[MAX_PARTS]; /* the area that each part is of */
    unsigned long count;
    size_t size;
};

static void ask(struct request *request, uint64_t address, void *to, size_t size)
{
    request->areas[request->count] = NO_AREA;
    request->local[request->count] = (struct iovec){to, size};
    request->remote[request->count++] = (struct iovec){(void *)(uintptr_t)address, size};
    request->size += size;
}

static uint8_t *round_at(const struct dw_live_reader *reader, uint32_t round)
{
    return reader->copies + round * (size_t)DW_LIVE_COPY_BYTES;
}

/* The first areas are those of calls. */
static uint32_t count_calls(const struct dw_live_thread *thread)
{
    uint32_t count = 0;
    while (count < thread->area_count && thread->areas[count].kind == DW_LIVE_CALLS)
        count++;
    return count;
}

static void ask_for_areas(const struct dw_live_thread *thread, uint32_t count, uint8_t *copy,
                          struct request *request)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t size = (size_t)(thread->areas[i].end - thread->areas[i].start);
        ask(request, thread->areas[i].start, copy, size);
        request->areas[request->count - 1] = i;
        copy += size;
    }
}

/* Forgets the part that could not be read, so that it is not asked for again. False when nothing
 * can be read without it. */
static bool forget_missing(const struct request *request, size_t got, struct dw_live_thread *thread)
{
    unsigned long part = 0;
    while (part + 1 < request->count && got >= request->local[part].iov_len)
        got -= request->local[part++].iov_len;
    bool is_code = (uintptr_t)request->remote[part].iov_base == thread->code;
    thread->code = 0;
    if (request->areas[part] != NO_AREA)
        dw_live_areas_remove(thread, request->areas[part]);
    else if (!is_code)
        thread->known = false;
    return thread->known;
}

/* The code object comes last, since it may be gone and the rest is good without it. Where the stack
 * is copied more than once it comes between copies, which proves that it belongs to them. */
static bool take(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                 uint32_t rounds, bool again, struct dw_live_copy *copy, struct dw_live_look *found,
                 bool *is_lost)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    struct request request = {.count = 0};
    uint64_t thread_frame_at = thread->state + offsets->thread_frame;
    copy->asked_cframe = thread->cframe;
    found->is_at_once = false;
    ask(&request, thread->state + reader->thread_start, copy->thread,
        reader->thread_end - reader->thread_start);
    if (thread->cframe)
        ask(&request, thread->cframe + offsets->cframe_frame, &copy->frame, 8);
    if (again)
        ask_for_areas(thread, count_calls(thread), round_at(reader, 1), &request);
    if (again && thread->code)
        ask(&request, thread->code, found->code_head, offsets->code_bytecode);
    for (uint32_t i = 0; i < rounds; i++) {
        ask_for_areas(thread, thread->area_count, round_at(reader, i), &request);
        if (thread->cframe)
            ask(&request, thread->cframe + offsets->cframe_frame, &copy->rounds[i].frame, 8);
        ask(&request, thread_frame_at, &copy->rounds[i].thread_frame, 8);
        if (thread->code && i + 2 == rounds)
            ask(&request, thread->code, found->code_head, offsets->code_bytecode);
    }
    ask(&request, thread->gil + dw_live_gil_start(offsets), copy->gil, DW_LIVE_GIL_BYTES);
    size_t needed = request.size;
    if (thread->code && rounds == 1 && !again)
        ask(&request, thread->code, found->code_head, offsets->code_bytecode);
    ssize_t got = process_vm_readv(reader->python->target->pid, request.local, request.count,
                                   request.remote, request.count, 0);
    found->code = got == (ssize_t)request.size ? thread->code : 0;
    *is_lost =
        got < (ssize_t)needed && !forget_missing(&request, got > 0 ? (size_t)got : 0, thread);
    return got >= (ssize_t)needed;
}

/* Notes whether a change of the memory map kept us from reading for a moment, which the kernel
 * counts as waiting, and whether we had the CPU all the time. A change that takes long is that of a
 * function which is most likely still there after it. */
static bool take_first(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                       uint32_t rounds, bool again, struct dw_live_copy *copy,
                       struct dw_live_look *found, bool *is_lost)
{
    struct rusage before = {0}, after = {0};
    getrusage(RUSAGE_THREAD, &before);
    uint64_t began_ns = dw_clock_ns(CLOCK_MONOTONIC);
    bool is_taken = take(reader, thread, rounds, again, copy, found, is_lost);
    uint64_t took_ns = dw_clock_ns(CLOCK_MONOTONIC) - began_ns;
    getrusage(RUSAGE_THREAD, &after);
    bool has_waited = after.ru_nvcsw != before.ru_nvcsw;
    found->is_begun = true;
    found->has_waited = has_waited && took_ns < SHORT_CHANGE_NS;
    found->is_at_once = !has_waited && after.ru_nivcsw == before.ru_nivcsw;
    return is_taken;
}

/* Memory of greenlets that have ended is gone; what is left is copied at once. */
bool dw_live_copy_take(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                       uint32_t rounds, bool again, struct dw_live_copy *copy,
                       struct dw_live_look *found)
{
    bool is_taken = false, is_lost = false;
    for (uint32_t tries = thread->area_count + 1; tries && !is_taken && !is_lost; tries--)
        is_taken = (found->is_begun ? take : take_first)(reader, thread, rounds, again, copy, found,
                                                         &is_lost);
    return is_taken;
}

const uint8_t *dw_live_copy_find(const struct dw_live_reader *reader,
                                 const struct dw_live_thread *thread, uint32_t round,
                                 uint64_t address, size_t size)
{
    const uint8_t *copy = round_at(reader, round);
    for (uint32_t i = 0; i < thread->area_count; i++) {
        const struct dw_live_area *area = &thread->areas[i];
        if (address >= area->start && address < area->end && size <= area->end - address)
            return copy + (address - area->start);
        copy += area->end - area->start;
    }
    return NULL;
}

const uint8_t *dw_live_copy_area(const struct dw_live_reader *reader,
                                 const struct dw_live_thread *thread,
                                 const struct dw_live_area *area)
{
    const uint8_t *copy = round_at(reader, 0);
    for (const struct dw_live_area *before = thread->areas; before < area; before++)
        copy += before->end - before->start;
    return copy;
}

static uint64_t field_of(const struct dw_live_reader *reader, const struct dw_live_copy *copy,
                         uint32_t offset)
{
    return dw_u64_at(copy->thread, offset - reader->thread_start);
}

uint64_t dw_live_copy_thread_frame(const struct dw_live_reader *reader,
                                   const struct dw_live_copy *copy)
{
    return field_of(reader, copy, reader->python->offsets.thread_frame);
}

/* What the thread's state had for it; `frame` is what the cframe that was asked for had. */
static bool find_innermost(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                           const struct dw_live_copy *copy, uint64_t thread_frame, uint64_t *frame)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    if (!offsets->has_cframe || !thread_frame)
        *frame = thread_frame;
    if (!offsets->has_cframe || !thread_frame || thread_frame == copy->asked_cframe)
        return true;
    const uint8_t *bytes =
        dw_live_copy_find(reader, thread, 0, thread_frame + offsets->cframe_frame, 8);
    if (bytes)
        *frame = dw_u64_at(bytes, 0);
    return bytes != NULL;
}

bool dw_live_copy_before(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         const struct dw_live_copy *copy, uint64_t *frame)
{
    *frame = copy->frame;
    return find_innermost(reader, thread, copy, dw_live_copy_thread_frame(reader, copy), frame);
}

bool dw_live_copy_after(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                        const struct dw_live_copy *copy, uint32_t round, uint64_t *frame)
{
    *frame = copy->rounds[round].frame;
    return find_innermost(reader, thread, copy, copy->rounds[round].thread_frame, frame);
}

bool dw_live_copy_is_of(const struct dw_live_reader *reader, const struct dw_live_thread *thread,
                        const struct dw_live_copy *copy)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    return field_of(reader, copy, offsets->thread_interpreter) == thread->interpreter &&
           (field_of(reader, copy, offsets->thread_native_id) & 0xffffffff) == thread->native_id;
}

uint64_t dw_live_copy_gil_holder(const struct dw_live_reader *reader,
                                 const struct dw_live_copy *copy)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint32_t start = dw_live_gil_start(offsets);
    return dw_u32_at(copy->gil, offsets->gil_locked - start) == 1
               ? dw_u64_at(copy->gil, offsets->gil_holder - start)
               : 0;
}
