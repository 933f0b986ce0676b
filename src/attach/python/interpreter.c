/* SPDX-License-Identifier: MIT
 * Lists of interpreters and threads are followed link by link, with a limit. A list that changed
 * while it was read does not hold together, and is read again. */
#include "attach/python/interpreter.h"

#include "attach/python/field.h"
#include "base/error.h"
#include "base/grow.h"

#define MAX_INTERPRETERS 4096
#define MAX_THREADS (1u << 16)
#define TRIES 20
#define MAX_THREAD_BYTES 8192 /* dw_py_offsets_init allows no larger ones */

/* 0 when it cannot be read. */
static uint64_t find_gil(const struct dw_python *python, uint64_t interpreter)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t gil = python->runtime + offsets->runtime_gil;
    if (offsets->interpreter_gil &&
        dw_target_read_u64(python->target, interpreter + offsets->interpreter_gil, &gil))
        return 0;
    return gil;
}

/* The PyThreadState that has the GIL; 0 when none has it or it cannot be read. */
static uint64_t find_gil_holder(const struct dw_python *python, uint64_t gil)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t holder;
    int32_t locked;
    if (!gil || dw_target_read(python->target, gil + offsets->gil_locked, &locked, sizeof locked) ||
        dw_target_read_u64(python->target, gil + offsets->gil_holder, &holder))
        return 0;
    return locked == 1 ? holder : 0;
}

static int add_thread(struct dw_py_threads *threads, const struct dw_py_thread *thread)
{
    int error = DW_GROW(threads->threads, threads->count, threads->capacity);
    if (!error)
        threads->threads[threads->count++] = *thread;
    return error;
}

/* A thread's fields, and the address of the next one. A state that is of another interpreter
 * was freed while we read. */
static int read_thread(const struct dw_python *python, struct dw_py_thread *thread, uint64_t *next)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint8_t bytes[MAX_THREAD_BYTES];
    int error = dw_target_read(python->target, thread->state, bytes, offsets->thread_size);
    if (error)
        return error;
    if (dw_u64_at(bytes, offsets->thread_interpreter) != thread->interpreter)
        return DW_ERR_DAMAGED;
    thread->ident = dw_u64_at(bytes, offsets->thread_ident);
    thread->native_id = dw_u64_at(bytes, offsets->thread_native_id) & 0xffffffff;
    *next = dw_u64_at(bytes, offsets->thread_next);
    return 0;
}

static int read_threads_of(const struct dw_python *python, uint64_t interpreter,
                           struct dw_py_threads *threads)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t id, state, gil = find_gil(python, interpreter);
    uint64_t holder = find_gil_holder(python, gil);
    int error = dw_target_read_u64(python->target, interpreter + offsets->interpreter_id, &id);
    if (!error)
        error =
            dw_target_read_u64(python->target, interpreter + offsets->interpreter_threads, &state);
    while (!error && state) {
        struct dw_py_thread thread = {.state = state,
                                      .interpreter = interpreter,
                                      .gil = gil,
                                      .interpreter_id = (int64_t)id,
                                      .holds_gil = state == holder};
        if (threads->count == MAX_THREADS)
            return DW_ERR_DAMAGED;
        error = read_thread(python, &thread, &state);
        if (!error)
            error = add_thread(threads, &thread);
    }
    return error;
}

static int read_once(const struct dw_python *python, struct dw_py_threads *threads)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t interpreter;
    threads->count = 0;
    int error = dw_target_read_u64(python->target, python->runtime + offsets->runtime_interpreters,
                                   &interpreter);
    for (int i = 0; !error && interpreter; i++) {
        if (i == MAX_INTERPRETERS)
            return DW_ERR_DAMAGED;
        error = read_threads_of(python, interpreter, threads);
        if (!error)
            error = dw_target_read_u64(python->target, interpreter + offsets->interpreter_next,
                                       &interpreter);
    }
    return error;
}

int dw_py_threads_read(const struct dw_python *python, struct dw_py_threads *threads)
{
    int error = 0;
    for (int i = 0; i < TRIES; i++) {
        error = read_once(python, threads);
        if (error != DW_ERR_DAMAGED && error != DW_ERR_UNREADABLE)
            break;
    }
    threads->incomplete = error == DW_ERR_DAMAGED || error == DW_ERR_UNREADABLE;
    if (error && !threads->incomplete)
        return error;
    return threads->count ? 0 : DW_ERR_NO_RUNTIME;
}

void dw_py_threads_release(struct dw_py_threads *threads)
{
    free(threads->threads);
    *threads = (struct dw_py_threads){0};
}
