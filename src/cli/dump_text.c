/* SPDX-License-Identifier: MIT
 * Names in a dump are bytes of another process: text escapes what could steer a terminal, and JSON
 * quotes them. Both print native names as people write them. */
#include "cli/dump_text.h"

#include "attach/sampling/describe.h"
#include "native/debug/demangle.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *state_word(char state)
{
    switch (state) {
    case 'R': return "running";
    case 'S':
    case 'I': return "waiting";
    case 'D': return "waiting for a device";
    case 'T':
    case 't': return "stopped";
    case 'Z':
    case 'X': return "ended";
    default: return "in an unknown state";
    }
}

static const uint8_t *text_at(const struct dw_dump *dump, struct dw_dump_text text)
{
    return dump->text.data + text.at;
}

static void put_plain(const struct dw_dump *dump, struct dw_dump_text text, struct dw_out *out)
{
    if (text.size)
        dw_out_printable(out, text_at(dump, text), text.size);
}

/* The kernel's name is worth showing when it is neither the process's own nor the first 15 bytes of
 * Python's name for the thread. */
static bool has_task_name(const struct dw_dump *dump, const struct dw_dump_thread *thread)
{
    struct dw_dump_text name = thread->task_name, first = dump->threads[0].task_name;
    bool is_first =
        name.size == first.size && !memcmp(text_at(dump, name), text_at(dump, first), name.size);
    bool is_prefix = name.size <= thread->name.size &&
                     !memcmp(text_at(dump, name), text_at(dump, thread->name), name.size);
    return name.size && !is_first && !is_prefix;
}

static bool has_interpreters(const struct dw_dump *dump)
{
    for (uint32_t i = 1; i < dump->thread_count; i++)
        if (dump->threads[i].interpreter_id != dump->threads[0].interpreter_id)
            return true;
    return false;
}

static void put_thread_line(const struct dw_dump *dump, const struct dw_dump_thread *thread,
                            struct dw_out *out)
{
    dw_out_printf(out, "\nthread %" PRIu64, thread->id);
    if (thread->name.size)
        dw_out_text(out, " ");
    put_plain(dump, thread->name, out);
    if (has_task_name(dump, thread)) {
        dw_out_text(out, " (");
        put_plain(dump, thread->task_name, out);
        dw_out_text(out, ")");
    }
    if (has_interpreters(dump))
        dw_out_printf(out, ", interpreter %" PRId64, thread->interpreter_id);
    dw_out_printf(out, ": %s%s\n", state_word(thread->task_state),
                  thread->holds_gil ? ", holds the GIL" : "");
}

/* The name as people write it, on the heap; NULL when it stays as it is. */
static char *readable_name(const struct dw_dump *dump, const struct dw_dump_frame *frame)
{
    const char *bytes = (const char *)text_at(dump, frame->function);
    char *name = frame->is_native ? strndup(bytes, frame->function.size) : NULL;
    char *readable = name ? dw_demangle(name, DW_DEMANGLE_SHORT) : NULL;
    free(name);
    return readable;
}

static void put_frame(const struct dw_dump *dump, const struct dw_dump_frame *frame,
                      struct dw_out *out)
{
    char *readable = readable_name(dump, frame);
    dw_out_text(out, "    ");
    if (readable)
        dw_out_printable(out, readable, strlen(readable));
    else
        put_plain(dump, frame->function, out);
    free(readable);
    dw_out_text(out, " (");
    put_plain(dump, frame->file, out);
    if (frame->line)
        dw_out_printf(out, ":%" PRIu32, frame->line);
    dw_out_text(out, ")\n");
    for (uint32_t i = 0; i < frame->local_count; i++) {
        const struct dw_dump_local *local = &dump->locals[frame->first_local + i];
        dw_out_text(out, "        ");
        put_plain(dump, local->name, out);
        dw_out_text(out, " = ");
        dw_out_write(out, text_at(dump, local->value), local->value.size);
        dw_out_char(out, '\n');
    }
}

static void put_thread(const struct dw_dump_words *words, const struct dw_dump_thread *thread,
                       struct dw_out *out)
{
    put_thread_line(words->dump, thread, out);
    for (uint32_t i = 0; i < thread->frame_count; i++)
        put_frame(words->dump, &words->dump->frames[thread->first_frame + i], out);
    if (thread->stack == DW_STACK_CUT)
        dw_out_printf(out, "    (cut at %" PRIu32 " frames; those that called them are missing)\n",
                      words->max_depth);
    else if (thread->stack == DW_STACK_BROKEN)
        dw_out_text(out, "    (incomplete: the stack changed while it was read; frames may be "
                         "missing or not belong together)\n");
    else if (!thread->frame_count)
        dw_out_text(out, "    (runs no Python code)\n");
}

static void put_process(const struct dw_python *python, struct dw_out *out)
{
    struct dw_out command;
    dw_out_init_memory(&command);
    dw_target_put_command(python->target, &command);
    dw_out_printf(out, "process %d: ", (int)python->target->pid);
    dw_out_printable(out, command.buffer.data, command.buffer.size);
    dw_out_char(out, '\n');
    dw_out_printable(out, python->target->program, strlen(python->target->program));
    dw_out_text(out, ", Python ");
    dw_python_put_version(python->version, out);
    dw_out_char(out, '\n');
    dw_out_close(&command);
}

void dw_dump_put_text(const struct dw_dump_words *words, struct dw_out *out)
{
    put_process(words->python, out);
    for (uint32_t i = 0; i < words->dump->thread_count; i++)
        put_thread(words, &words->dump->threads[i], out);
    if (words->dump->threads_incomplete)
        dw_out_text(out, "\n(threads are missing: their list changed while it was read)\n");
}

static void put_key(struct dw_out *out, const char *key)
{
    dw_out_printf(out, "\"%s\": ", key);
}

static void put_quoted(const struct dw_dump *dump, const char *key, struct dw_dump_text text,
                       struct dw_out *out)
{
    put_key(out, key);
    if (text.size)
        dw_out_json_string(out, text_at(dump, text), text.size);
    else
        dw_out_text(out, "null");
}

static void put_json_locals(const struct dw_dump *dump, const struct dw_dump_frame *frame,
                            struct dw_out *out)
{
    for (uint32_t i = 0; i < frame->local_count; i++) {
        const struct dw_dump_local *local = &dump->locals[frame->first_local + i];
        dw_out_text(out, i ? ", {" : "{");
        put_quoted(dump, "name", local->name, out);
        dw_out_text(out, ", ");
        put_quoted(dump, "value", local->value, out);
        dw_out_char(out, '}');
    }
}

static void put_json_frame(const struct dw_dump *dump, const struct dw_dump_frame *frame,
                           struct dw_out *out)
{
    char *readable = readable_name(dump, frame);
    dw_out_char(out, '{');
    put_key(out, "function");
    if (readable)
        dw_out_json_string(out, readable, strlen(readable));
    else
        dw_out_json_string(out, text_at(dump, frame->function), frame->function.size);
    free(readable);
    dw_out_text(out, ", ");
    put_quoted(dump, "file", frame->file, out);
    dw_out_printf(out, ", \"native\": %s", frame->is_native ? "true" : "false");
    if (frame->line)
        dw_out_printf(out, ", \"line\": %" PRIu32 ", \"locals\": [", frame->line);
    else
        dw_out_text(out, ", \"line\": null, \"locals\": [");
    put_json_locals(dump, frame, out);
    dw_out_text(out, "]}");
}

static void put_json_thread(const struct dw_dump *dump, const struct dw_dump_thread *thread,
                            struct dw_out *out)
{
    static const char *const words[] = {
        [DW_STACK_WHOLE] = "whole", [DW_STACK_CUT] = "cut", [DW_STACK_BROKEN] = "incomplete"};
    dw_out_printf(out, "{\"id\": %" PRIu64 ", \"ident\": %" PRIu64 ", \"interpreter\": %" PRId64,
                  thread->id, thread->ident, thread->interpreter_id);
    dw_out_text(out, ", ");
    put_quoted(dump, "name", thread->name, out);
    dw_out_text(out, ", ");
    put_quoted(dump, "native_name", thread->task_name, out);
    dw_out_printf(out, ", \"state\": \"%s\", \"holds_gil\": %s, \"stack\": \"%s\", \"frames\": [",
                  state_word(thread->task_state), thread->holds_gil ? "true" : "false",
                  words[thread->stack]);
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        dw_out_text(out, i ? ",\n  " : "\n  ");
        put_json_frame(dump, &dump->frames[thread->first_frame + i], out);
    }
    dw_out_text(out, "]}");
}

void dw_dump_put_json(const struct dw_dump_words *words, struct dw_out *out)
{
    const struct dw_target *target = words->python->target;
    struct dw_out command;
    dw_out_init_memory(&command);
    dw_target_put_command(target, &command);
    dw_out_printf(out, "{\"pid\": %d, \"command\": ", (int)target->pid);
    dw_out_json_string(out, command.buffer.data, command.buffer.size);
    dw_out_text(out, ", \"program\": ");
    dw_out_json_string(out, target->program, strlen(target->program));
    dw_out_close(&command);
    dw_out_text(out, ", \"python\": \"");
    dw_python_put_version(words->python->version, out);
    dw_out_printf(out, "\", \"threads_complete\": %s, \"threads\": [",
                  words->dump->threads_incomplete ? "false" : "true");
    for (uint32_t i = 0; i < words->dump->thread_count; i++) {
        dw_out_text(out, i ? ",\n " : "\n ");
        put_json_thread(words->dump, &words->dump->threads[i], out);
    }
    dw_out_text(out, "]}\n");
}
