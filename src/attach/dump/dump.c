/* SPDX-License-Identifier: MIT
 * The stack of a thread that slept all the while is right; that of one that ran counts when several
 * readings agree and its code objects make sense. */
#include "attach/dump/dump.h"

#include "attach/dump/native_dump.h"
#include "attach/python/interpreter.h"
#include "attach/python/py_code.h"
#include "attach/python/py_value.h"
#include "attach/python/thread_names.h"
#include "attach/target/task.h"
#include "base/error.h"
#include "base/grow.h"

#include <string.h>

#define TRIES 5

struct collector {
    const struct dw_python *python;
    struct dw_dump *dump;
    struct dw_stack_reader reader;
    struct dw_raw_stack stack;
    struct dw_buffer scratch;
    struct dw_tasks tasks;
    struct dw_thread_names names;
    struct dw_dump_options options;
    struct dw_native_dump *native; /* NULL: native frames are not wanted */
};

static struct dw_dump_text text_from(const struct dw_dump *dump, size_t start)
{
    return (struct dw_dump_text){(uint32_t)start, (uint32_t)(dump->text.size - start)};
}

static struct dw_dump_text put_text(struct dw_dump *dump, const char *text)
{
    size_t start = dump->text.size;
    dw_buffer_append(&dump->text, text, strlen(text));
    return text_from(dump, start);
}

static struct dw_dump_text put_value(struct collector *collector, uint64_t object)
{
    struct dw_out out;
    size_t start = collector->dump->text.size;
    dw_out_init_memory(&out);
    dw_py_value_put(collector->python, object, &out);
    dw_buffer_append(&collector->dump->text, out.buffer.data, out.buffer.size);
    dw_out_close(&out);
    return text_from(collector->dump, start);
}

/* Variables that cannot be read are left out: their frame is right all the same. */
static int add_locals(struct collector *collector, const struct dw_raw_frame *frame,
                      const struct dw_py_code *code, struct dw_dump_frame *into)
{
    struct dw_dump *dump = collector->dump;
    uint32_t count = dw_py_code_local_count(collector->python, code);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t object;
        size_t start = dump->text.size;
        if (dw_py_local_read(collector->python, frame, code, i, &dump->text, &object) || !object) {
            dump->text.size = start;
            continue;
        }
        if (DW_GROW(dump->locals, dump->local_count, dump->local_capacity))
            return DW_ERR_MEMORY;
        struct dw_dump_text name = text_from(dump, start);
        dump->locals[dump->local_count++] =
            (struct dw_dump_local){name, put_value(collector, object)};
        into->local_count++;
    }
    return 0;
}

static int add_begun_frame(struct collector *collector, const struct dw_raw_frame *raw,
                           const struct dw_py_code *code)
{
    const struct dw_python *python = collector->python;
    struct dw_dump *dump = collector->dump;
    struct dw_dump_frame frame = {.first_local = dump->local_count};
    struct dw_location location = {0};
    size_t start = dump->text.size;
    int error = dw_py_code_name(python, code, &dump->text);
    frame.function = text_from(dump, start);
    start = dump->text.size;
    if (!error)
        error = dw_py_code_file(python, code, &dump->text);
    frame.file = text_from(dump, start);
    if (!error)
        error = dw_py_code_location(python, code, raw->instruction, &collector->scratch, &location);
    frame.line = location.line;
    if (!error && collector->options.locals)
        error = add_locals(collector, raw, code, &frame);
    if (!error)
        error = DW_GROW(dump->frames, dump->frame_count, dump->frame_capacity);
    if (!error)
        dump->frames[dump->frame_count++] = frame;
    return error;
}

static int add_frame(struct collector *collector, const struct dw_raw_frame *raw)
{
    struct dw_py_code code;
    int error = dw_py_code_read(collector->python, raw, &code);
    if (error || !dw_py_code_has_begun(collector->python, raw, &code))
        return error;
    return add_begun_frame(collector, raw, &code);
}

static bool is_foreign(int error)
{
    return error == DW_ERR_DAMAGED || error == DW_ERR_UNREADABLE;
}

/* The frames up to the first that makes no sense. */
static int add_frames(struct collector *collector, struct dw_dump_thread *thread)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < collector->stack.count; i++)
        error = add_frame(collector, &collector->stack.frames[i]);
    thread->frame_count = collector->dump->frame_count - thread->first_frame;
    thread->stack = collector->stack.state;
    if (is_foreign(error)) {
        thread->stack = DW_STACK_BROKEN;
        return 0;
    }
    return error;
}

static void drop_frames(struct dw_dump *dump, const struct dw_dump_thread *thread,
                        uint32_t local_count, size_t text_size)
{
    dump->frame_count = thread->first_frame;
    dump->local_count = local_count;
    dump->text.size = text_size;
}

/* Whether the thread has not run since `before`; false when the kernel does not show it. */
static bool has_slept(const struct collector *collector, const struct dw_task *before)
{
    struct dw_task now;
    return before && dw_task_read(collector->python->target->pid, before->id, &now) &&
           dw_task_slept(before, &now);
}

static int try_stack(struct collector *collector, uint64_t state, const struct dw_task *task,
                     struct dw_dump_thread *thread)
{
    struct dw_task before;
    bool known = task && dw_task_read(collector->python->target->pid, task->id, &before);
    bool settled = true;
    if (known && before.state != 'R')
        dw_stack_read(&collector->reader, state, &collector->stack);
    else
        settled = dw_stack_read_settled(&collector->reader, state, &collector->stack);
    int error = add_frames(collector, thread);
    if (known && before.state != 'R' && !has_slept(collector, &before))
        settled = false;
    if (!settled)
        thread->stack = DW_STACK_BROKEN;
    return error;
}

static int add_native_frame(struct collector *collector, uint32_t index)
{
    struct dw_dump *dump = collector->dump;
    struct dw_dump_frame frame = {.is_native = true, .first_local = dump->local_count};
    struct dw_string name, file;
    int error = dw_native_dump_name(collector->native, index, &name, &file);
    if (error == DW_ERR_EMPTY)
        return 0;
    if (!error)
        error = DW_GROW(dump->frames, dump->frame_count, dump->frame_capacity);
    if (error)
        return error;
    frame.function = put_text(dump, name.bytes);
    frame.file = put_text(dump, file.bytes);
    dump->frames[dump->frame_count++] = frame;
    return 0;
}

/* False when native frames could not be had; then those of Python are read as usual. */
static bool read_merged(struct collector *collector, const struct dw_py_thread *found,
                        const struct dw_task *task, struct dw_dump_thread *thread, int *error)
{
    const struct dw_merged_frame *merged;
    uint32_t count;
    *error = 0;
    if (!collector->native || !task ||
        !dw_native_dump_look(collector->native, found, task->id, &collector->stack, &merged,
                             &count))
        return false;
    for (uint32_t i = count; !*error && i-- > 0;)
        *error = merged[i].is_native
                     ? add_native_frame(collector, merged[i].index)
                     : add_frame(collector, &collector->stack.frames[merged[i].index]);
    thread->frame_count = collector->dump->frame_count - thread->first_frame;
    thread->stack = collector->stack.state;
    return !is_foreign(*error);
}

static int read_stack(struct collector *collector, uint64_t state, const struct dw_task *task,
                      struct dw_dump_thread *thread)
{
    struct dw_dump *dump = collector->dump;
    uint32_t local_count = dump->local_count;
    size_t text_size = dump->text.size;
    int error = 0;
    thread->first_frame = dump->frame_count;
    for (int i = 0; i < TRIES; i++) {
        drop_frames(dump, thread, local_count, text_size);
        error = try_stack(collector, state, task, thread);
        if (error || thread->stack != DW_STACK_BROKEN)
            break;
    }
    return error;
}

/* `active` is what dw_py_named_threads gave, or 0. */
static int add_thread(struct collector *collector, const struct dw_py_thread *found,
                      uint64_t active)
{
    struct dw_dump *dump = collector->dump;
    const struct dw_task *task = dw_tasks_find(&collector->tasks, found->native_id);
    if (!task && found->native_id && collector->tasks.count > 1)
        return 0; /* it ended after the list was read */
    struct dw_dump_thread thread = {.id = task ? (uint64_t)task->id : found->native_id,
                                    .ident = found->ident,
                                    .interpreter_id = found->interpreter_id,
                                    .holds_gil = found->holds_gil,
                                    .task_state = task ? task->state : '?',
                                    .task_name = put_text(dump, task ? task->name : "")};
    size_t start = dump->text.size;
    if (!active ||
        dw_py_thread_name(collector->python, &collector->names, active, found->ident, &dump->text))
        dump->text.size = start;
    thread.name = text_from(dump, start);
    uint32_t local_count = dump->local_count;
    int error;
    start = dump->text.size;
    thread.first_frame = dump->frame_count;
    if (!read_merged(collector, found, task, &thread, &error)) {
        drop_frames(dump, &thread, local_count, start);
        error = read_stack(collector, found->state, task, &thread);
    }
    if (!error)
        error = DW_GROW(dump->threads, dump->thread_count, dump->thread_capacity);
    if (!error)
        dump->threads[dump->thread_count++] = thread;
    return error;
}

/* CPython puts new threads and interpreters at the front: from the back, the main thread
 * comes first. */
static int add_threads(struct collector *collector, const struct dw_py_threads *threads)
{
    uint64_t interpreter = 0, active = 0;
    int error = 0;
    for (uint32_t i = threads->count; !error && i--;) {
        const struct dw_py_thread *thread = &threads->threads[i];
        if (thread->interpreter != interpreter) {
            interpreter = thread->interpreter;
            active = 0;
            dw_py_named_threads(collector->python, &collector->names, interpreter, &active);
        }
        error = add_thread(collector, thread, active);
    }
    return error;
}

static int collect(struct collector *collector)
{
    uint32_t max_depth = collector->options.max_depth;
    struct dw_py_threads threads = {0};
    int error = dw_stack_reader_init(&collector->reader, collector->python, max_depth);
    if (!error)
        error = dw_raw_stack_init(&collector->stack, max_depth);
    if (!error)
        error = dw_py_threads_read(collector->python, &threads);
    if (!error)
        error = dw_tasks_read(collector->python->target->pid, &collector->tasks);
    if (!error)
        error = add_threads(collector, &threads);
    collector->dump->threads_incomplete = threads.incomplete;
    if (!error && collector->dump->text.failed)
        error = DW_ERR_MEMORY;
    dw_py_threads_release(&threads);
    return error;
}

int dw_dump_read(const struct dw_python *python, const struct dw_dump_options *options,
                 struct dw_dump *dump)
{
    struct dw_dump filled = {0};
    struct collector collector = {.python = python, .dump = &filled, .options = *options};
    int error = 0;
    if (options->native)
        error = dw_native_dump_new(python, options->max_depth, &collector.native);
    if (!error)
        error = collect(&collector);
    dw_native_dump_free(collector.native);
    dw_stack_reader_release(&collector.reader);
    dw_raw_stack_release(&collector.stack);
    dw_buffer_release(&collector.scratch);
    dw_tasks_release(&collector.tasks);
    dw_thread_names_release(&collector.names);
    if (error)
        dw_dump_release(&filled);
    else
        *dump = filled;
    return error;
}

void dw_dump_release(struct dw_dump *dump)
{
    dw_buffer_release(&dump->text);
    free(dump->threads);
    free(dump->frames);
    free(dump->locals);
    *dump = (struct dw_dump){0};
}
