/* SPDX-License-Identifier: MIT
 * Names are read from the memory of the interpreter, without the GIL, as from another process. */
#define _GNU_SOURCE
#include "probe/sample/sample_names.h"

#include "attach/target/task.h"
#include "base/clock.h"

#include <string.h>
#include <unistd.h>

#define FIRST_PAUSE_NS 5000000u /* between searches for `threading` */
#define NAME_TRIES 10           /* at the start of a thread; after that it is named later */

/* The dict that `threading` has the interpreter's threads in; 0 while that is not imported. It is
 * searched for among all modules, less and less often, and once found it stays. */
static uint64_t named_threads(struct dw_sample_reader *reader, uint64_t interpreter)
{
    struct dw_name_source *source = &reader->names;
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    bool is_known =
        source->interpreter == interpreter && (source->dict || now_ns < source->next_ns);
    if (is_known)
        return source->dict;
    bool is_again = source->interpreter == interpreter;
    source->pause_ns = is_again ? 2 * source->pause_ns : FIRST_PAUSE_NS;
    source->next_ns = now_ns + source->pause_ns;
    source->interpreter = interpreter;
    if (dw_py_named_threads(&reader->python, &reader->known_names, interpreter, &source->dict))
        source->dict = 0;
    return source->dict;
}

static bool name_by_python(struct dw_sample_reader *reader, const struct dw_slot *slot)
{
    struct dw_buffer *text = &reader->cache.text;
    const struct dw_py_thread *thread = dw_sample_reader_listed(reader, slot->tid);
    uint64_t dict = thread ? named_threads(reader, thread->interpreter) : 0;
    dw_buffer_restart(text);
    return dict &&
           !dw_py_thread_name(&reader->python, &reader->known_names, dict, thread->ident, text) &&
           !dw_ledger_name_thread(reader->places->log, slot->thread - 1, (const char *)text->data,
                                  text->size);
}

/* A thread that is about to end is no longer Python's, and keeps the name it had. */
static void name_thread(struct dw_sample_reader *reader, struct dw_slot *slot)
{
    struct dw_task task;
    bool is_main = slot->tid == getpid();
    slot->is_named |= name_by_python(reader, slot);
    if (slot->is_named || (!is_main && !dw_task_read(getpid(), slot->tid, &task)))
        return;
    const char *name = is_main ? DW_MAIN_THREAD_NAME : task.name;
    dw_ledger_name_thread(reader->places->log, slot->thread - 1, name, strlen(name));
}

void dw_sample_set_name(struct dw_sample_reader *reader, struct dw_slot *slot, const char *name,
                        size_t size)
{
    if (!dw_sample_enter_thread(reader->places, slot))
        slot->is_named = !dw_ledger_name_thread(reader->places->log, slot->thread - 1, name, size);
}

void dw_sample_name_threads(struct dw_sample_reader *reader,
                            const struct dw_sample_threads *threads, bool again)
{
    bool is_listed = false;
    dw_thread_names_renew(&reader->known_names);
    for (uint32_t i = 0; i < threads->count; i++) {
        struct dw_slot *slot = threads->slots[i];
        bool is_tried = slot->is_named || slot->name_tries == NAME_TRIES;
        if ((is_tried && !again) || dw_sample_enter_thread(reader->places, slot))
            continue;
        slot->name_tries += !is_tried;
        if (reader->can_read && !is_listed)
            is_listed = !dw_py_threads_read(&reader->python, &reader->listed);
        name_thread(reader, slot);
    }
}
