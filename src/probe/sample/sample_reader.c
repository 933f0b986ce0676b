/* SPDX-License-Identifier: MIT
 * Uses the parts of attach/ on our own process: the thread that is read does not run, or the
 * reading is thrown away. */
#define _GNU_SOURCE
#include "probe/sample/sample_reader.h"

#include "base/error.h"
#include "probe/sample/sample_merge.h"
#include "probe/sample/sample_splice.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIST_AFTER_NS 5000000u /* how long the list of threads is believed */
#define STACK_BYTES (8u << 20)

static bool find_python(struct dw_sample_reader *reader, struct dw_own_python *known)
{
    if (!known->is_known)
        return !dw_target_open(getpid(), &reader->target) &&
               !dw_python_locate(&reader->target, &reader->python);
    reader->target = known->target;
    reader->target.pid = getpid();
    reader->python = known->python;
    reader->python.target = &reader->target;
    *known = (struct dw_own_python){0};
    return true;
}

int dw_sample_reader_init(struct dw_sample_reader *reader, struct dw_sample_places *places,
                          struct dw_own_python *known)
{
    *reader = (struct dw_sample_reader){.places = places};
    reader->memory = malloc(sizeof *reader->memory);
    if (!reader->memory)
        return DW_ERR_MEMORY;
    reader->can_read = find_python(reader, known);
    return 0;
}

void dw_sample_reader_leave(struct dw_sample_reader *reader, struct dw_own_python *known)
{
    if (!reader->can_read)
        return;
    *known = (struct dw_own_python){true, reader->target, reader->python};
    reader->target = (struct dw_target){0};
}

void dw_sample_reader_release(struct dw_sample_reader *reader)
{
    dw_code_cache_release(&reader->cache);
    dw_py_threads_release(&reader->listed);
    dw_thread_names_release(&reader->known_names);
    dw_target_release(&reader->target);
    free(reader->memory);
    *reader = (struct dw_sample_reader){0};
}

const struct dw_py_thread *dw_sample_reader_listed(const struct dw_sample_reader *reader, pid_t tid)
{
    for (uint32_t i = 0; i < reader->listed.count; i++)
        if (reader->listed.threads[i].native_id == (uint64_t)tid)
            return &reader->listed.threads[i];
    return NULL;
}

const struct dw_py_thread *dw_sample_reader_thread(struct dw_sample_reader *reader, pid_t tid,
                                                   uint64_t now_ns)
{
    bool is_old = now_ns - reader->listed_ns > LIST_AFTER_NS;
    if (reader->can_read && is_old && !dw_py_threads_read(&reader->python, &reader->listed))
        reader->listed_ns = now_ns;
    return dw_sample_reader_listed(reader, tid);
}

bool dw_stand_read(const struct dw_slot *slot, struct dw_stand *stand)
{
    char path[64];
    uint64_t unused;
    long number;
    *stand = (struct dw_stand){0};
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)slot->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, stand->text, sizeof stand->text - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return false;
    return sscanf(stand->text,
                  "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                  " %" SCNx64 " %" SCNx64,
                  &number, &unused, &unused, &unused, &unused, &unused, &unused, &stand->sp,
                  &stand->pc) == 9;
}

uintptr_t dw_stand_stack_pointer(const struct dw_slot *slot)
{
    struct dw_stand stand;
    return dw_stand_read(slot, &stand) ? (uintptr_t)stand.sp : 0;
}

/* What is known of native code; NULL when it is not wanted. */
static const struct dw_native_view *native_view(const struct dw_sample_reader *reader)
{
    const struct dw_sample_natives *natives = &reader->places->natives;
    const struct dw_native_view *view =
        natives->view_count ? natives->views[natives->view_count - 1] : NULL;
    return view && view->cache ? view : NULL;
}

static uint32_t unwind(struct dw_sample_reader *reader, const struct dw_stand *stand)
{
    const struct dw_native_view *view = native_view(reader);
    bool complete;
    if (!stand->sp || !view)
        return 0;
    struct dw_registers start = {.pc = stand->pc, .sp = stand->sp};
    struct dw_unwinder unwinder = {
        .modules = view->modules,
        .made = view->made,
        .cache = view->cache,
        .epoch = view->epoch,
        .stack = {dw_memory_read_copied, &reader->stack},
        .code = dw_memory_own_checked,
        .doubt = dw_memory_own_checked,
        .stack_end = stand->sp + STACK_BYTES,
        .effort = DW_EFFORT_OUTSIDE,
    };
    reader->stack.start = 0;
    return dw_unwind(&unwinder, &start, reader->memory->native, DW_NATIVE_MAX, &complete);
}

static void put_token(struct dw_sample_reader *reader, struct dw_merge *merge, uint64_t token,
                      uint32_t *count)
{
    if (*count < DW_TOKENS_MAX)
        reader->memory->python[(*count)++] = token;
    merge->is_cut |= *count == DW_TOKENS_MAX;
}

static void put_task(struct dw_sample_reader *reader, struct dw_merge *merge, PyObject *handle,
                     uint32_t *count)
{
    struct dw_py_task_name *name = &reader->memory->task;
    if (!dw_py_task_name(handle, dw_py_read, name))
        return;
    uint32_t number = dw_task_number(name);
    if (number && !dw_task_is_known(number))
        dw_sample_places_learn_task(reader->places, number, name);
    put_token(reader, merge, dw_task_token(number), count);
}

static bool put_function(struct dw_sample_reader *reader, struct dw_merge *merge,
                         const struct dw_py_step *step, uint64_t now_ns, uint32_t *count)
{
    struct dw_raw_frame frame = {
        .address = step->frame,
        .code = (uint64_t)(uintptr_t)step->code,
        .instruction = step->instruction,
        .owner = step->owner,
    };
    struct dw_code_place found;
    if (dw_code_cache_place(&reader->cache, &reader->python, reader->places->log, &frame, now_ns,
                            &found))
        return false;
    if (step->handle)
        put_task(reader, merge, step->handle, count);
    if (found.place)
        put_token(reader, merge, DW_TOKEN(DW_TOKEN_PLACE, (uint64_t)found.place), count);
    return true;
}

static void end_segment(struct dw_sample_reader *reader, struct dw_merge *merge, uintptr_t boundary,
                        uint32_t end)
{
    if (merge->segment_count < DW_SEGMENTS_MAX)
        reader->memory->segments[merge->segment_count++] = (struct dw_segment){boundary, end};
}

static bool walk_python(struct dw_sample_reader *reader, struct dw_merge *merge,
                        const struct dw_py_thread *thread, uint64_t now_ns)
{
    struct dw_py_walk walk;
    struct dw_py_step step;
    uint32_t count = 0;
    dw_py_sleeper_begin(&walk, (const PyThreadState *)(uintptr_t)thread->state, &reader->frames);
    while (!merge->is_cut && dw_py_sleeper_next(&walk, &step)) {
        if (!step.code)
            end_segment(reader, merge, step.boundary, count);
        else if (!put_function(reader, merge, &step, now_ns, &count))
            return false;
    }
    end_segment(reader, merge, 0, count);
    return !walk.broken;
}

bool dw_sample_reader_wants_natives(const struct dw_sample_reader *reader)
{
    return native_view(reader) != NULL;
}

bool dw_sample_reader_lacks_natives(const struct dw_sample_reader *reader,
                                    const struct dw_stand *stand)
{
    return !stand->sp && dw_sample_reader_wants_natives(reader);
}

static int path_of(struct dw_sample_reader *reader, const struct dw_merge *merge,
                   const struct dw_slot *spliced_to, dw_path_id *path)
{
    int error = 0;
    uint32_t count = merge->count;
    *path = DW_PATH_ROOT;
    if (spliced_to)
        count = dw_splice_outer(reader->places, spliced_to, merge->tokens, count, path);
    for (uint32_t i = count; i-- > 0 && !error;)
        error = dw_sample_places_extend(reader->places, merge->tokens[i], path);
    return error;
}

bool dw_sample_reader_path(struct dw_sample_reader *reader, const struct dw_slot *slot,
                           const struct dw_py_thread *thread, const struct dw_stand *stand,
                           uint64_t now_ns, dw_path_id *path)
{
    if (dw_own_work_is_in(atomic_load(&slot->tid)))
        return !dw_ledger_path(reader->places->log, DW_PATH_ROOT,
                               reader->places->marks[DW_MARK_OWN], path);
    struct dw_merge merge = {
        .native = reader->memory->native,
        .native_count = unwind(reader, stand),
        .python = reader->memory->python,
        .segments = reader->memory->segments,
        .tokens = reader->memory->tokens[0],
        .capacity = DW_TOKENS_MAX,
    };
    if (thread && !walk_python(reader, &merge, thread, now_ns))
        return false;
    dw_merge_run(&merge);
    return !path_of(reader, &merge, dw_sample_reader_lacks_natives(reader, stand) ? slot : NULL,
                    path);
}

bool dw_sample_reader_holds_gil(const struct dw_sample_reader *reader,
                                const struct dw_py_thread *thread)
{
    const struct dw_py_offsets *offsets = &reader->python.offsets;
    uint64_t holder;
    int locked;
    return thread && thread->gil &&
           !dw_target_read(&reader->target, thread->gil + offsets->gil_locked, &locked,
                           sizeof locked) &&
           locked == 1 &&
           !dw_target_read_u64(&reader->target, thread->gil + offsets->gil_holder, &holder) &&
           holder == thread->state;
}
