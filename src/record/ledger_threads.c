/* SPDX-License-Identifier: MIT
 * Threads of a ledger. Probes notice at different moments that a thread begins and ends, and the
 * kernel uses its ids again: a probe gets no thread that it has already, and none that somebody saw
 * end. */
#include "base/grow.h"
#include "record/ledger.h"

#include <string.h>

void dw_ledger_release_thread(struct dw_ledger_thread *thread)
{
    dw_value_table_release(&thread->values);
    dw_buffer_release(&thread->timed);
    free(thread->is_new);
    free(thread->name);
    *thread = (struct dw_ledger_thread){0};
}

/* A thread that others know by the tid and the probe does not, or thread_count. */
static uint32_t find_thread(const struct dw_ledger *ledger, unsigned probe, uint64_t tid)
{
    uint32_t index = 0;
    while (index < ledger->thread_count) {
        const struct dw_ledger_thread *thread = &ledger->threads[index];
        if (thread->is_used && thread->tid == tid && !thread->has_ended && !(thread->users & probe))
            break;
        index++;
    }
    return index;
}

static uint32_t find_free(const struct dw_ledger *ledger)
{
    uint32_t index = 0;
    while (index < ledger->thread_count && ledger->threads[index].is_used)
        index++;
    return index;
}

static int add_thread(struct dw_ledger *ledger, uint64_t tid, uint32_t *index)
{
    *index = ledger->free_threads ? find_free(ledger) : ledger->thread_count;
    int error = DW_GROW(ledger->threads, *index, ledger->thread_capacity);
    if (error)
        return error;
    ledger->free_threads -= *index < ledger->thread_count;
    ledger->thread_count += *index == ledger->thread_count;
    ledger->threads[*index] =
        (struct dw_ledger_thread){.is_used = true, .id = ledger->next_thread++, .tid = tid};
    return 0;
}

int dw_ledger_thread(struct dw_ledger *ledger, unsigned probe, uint64_t tid, uint32_t *thread)
{
    int error = 0;
    pthread_mutex_lock(&ledger->tables);
    uint32_t index = find_thread(ledger, probe, tid);
    if (index == ledger->thread_count)
        error = add_thread(ledger, tid, &index);
    if (!error) {
        ledger->threads[index].users |= probe;
        *thread = index;
    }
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

/* A program may start threads for ever. What is in memory only is needed to the end. */
static bool is_done(const struct dw_ledger *ledger, const struct dw_ledger_thread *thread)
{
    bool is_kept = ledger->path ? !thread->is_written || thread->has_news || thread->timed.size
                                : thread->values.count != 0;
    return thread->is_used && !thread->users && !is_kept;
}

static void forget_if_done(struct dw_ledger *ledger, struct dw_ledger_thread *thread)
{
    if (!is_done(ledger, thread))
        return;
    dw_ledger_release_thread(thread);
    ledger->free_threads++;
}

void dw_ledger_end_thread(struct dw_ledger *ledger, uint32_t thread)
{
    pthread_mutex_lock(&ledger->tables);
    ledger->threads[thread].has_ended = true;
    pthread_mutex_unlock(&ledger->tables);
}

void dw_ledger_leave_thread(struct dw_ledger *ledger, unsigned probe, uint32_t thread)
{
    pthread_mutex_lock(&ledger->tables);
    ledger->threads[thread].users &= ~probe;
    forget_if_done(ledger, &ledger->threads[thread]);
    pthread_mutex_unlock(&ledger->tables);
}

uint32_t dw_ledger_thread_id(struct dw_ledger *ledger, uint32_t thread)
{
    pthread_mutex_lock(&ledger->tables);
    uint32_t id = ledger->threads[thread].id;
    pthread_mutex_unlock(&ledger->tables);
    return id;
}

static bool has_name(const struct dw_ledger_thread *thread, const char *name, size_t size)
{
    return thread->name && thread->name_size == size && !memcmp(thread->name, name, size);
}

static int set_name(struct dw_ledger_thread *thread, const char *name, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return DW_ERR_MEMORY;
    memcpy(copy, name, size);
    copy[size] = 0;
    free(thread->name);
    thread->name = copy;
    thread->name_size = size;
    thread->is_written = false;
    return 0;
}

int dw_ledger_name_thread(struct dw_ledger *ledger, uint32_t index, const char *name, size_t size)
{
    pthread_mutex_lock(&ledger->tables);
    struct dw_ledger_thread *thread = &ledger->threads[index];
    int error = has_name(thread, name, size) ? 0 : set_name(thread, name, size);
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

static struct dw_string name_of(const struct dw_ledger_thread *thread)
{
    return (struct dw_string){thread->name ? thread->name : "", thread->name_size};
}

struct dw_string dw_ledger_thread_name(const struct dw_ledger *ledger, uint32_t thread,
                                       uint64_t *tid)
{
    *tid = ledger->threads[thread].tid;
    return name_of(&ledger->threads[thread]);
}

void dw_ledger_write_threads(struct dw_ledger *ledger, struct dw_sink *sink)
{
    for (uint32_t i = 0; i < ledger->thread_count; i++) {
        struct dw_ledger_thread *thread = &ledger->threads[i];
        if (!thread->is_used || (thread->is_written && !sink->is_whole))
            continue;
        dw_log_write_thread(&sink->writer, thread->id, 0, thread->tid, name_of(thread));
        if (!sink->is_whole)
            thread->is_written = true;
    }
}

void dw_ledger_forget_threads(struct dw_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->thread_count; i++)
        forget_if_done(ledger, &ledger->threads[i]);
}
