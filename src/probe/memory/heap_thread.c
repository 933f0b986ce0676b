/* SPDX-License-Identifier: MIT
 * A thread is entered at its first allocation of a recording that is looked at. */
#define _GNU_SOURCE
#include "probe/memory/heap_thread.h"

#include "base/clock.h"
#include "base/grow.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

__thread struct dw_heap_here dw_heap_here __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static bool has_key;
static uint64_t recording;

static void release(struct dw_heap_thread *thread)
{
    free(thread->frames);
    free(thread->walked);
    free(thread->entered);
    free(thread->known);
}

/* Destructors of others may still free what it has allocated, which needs nothing of this. */
static void end_thread(void *value)
{
    struct dw_heap_thread *thread = value;
    dw_heap_here.busy++;
    dw_heap_here.has_ended = true;
    dw_heap_here.thread = NULL;
    pthread_mutex_lock(&dw_heap.lock);
    if (thread->recording == recording && thread->index < dw_heap.thread_count)
        dw_heap.threads[thread->index].has_ended = true;
    pthread_mutex_unlock(&dw_heap.lock);
    release(thread);
    free(thread);
    dw_heap_here.busy--;
}

int dw_heap_threads_begin(void)
{
    if (!has_key && pthread_key_create(&key, end_thread))
        return DW_ERR_MEMORY;
    has_key = true;
    recording++;
    return 0;
}

/* With the lock. */
static bool enter(struct dw_heap_thread *thread)
{
    if (DW_GROW(dw_heap.threads, dw_heap.thread_count, dw_heap.thread_capacity))
        return false;
    thread->index = dw_heap.thread_count;
    dw_heap.threads[dw_heap.thread_count++] = (struct dw_heap_thread_entry){.tid = thread->tid};
    return true;
}

static struct dw_heap_thread *make(void)
{
    struct dw_heap_thread *thread = dw_heap_here.thread;
    if (!thread) {
        thread = calloc(1, sizeof *thread);
        if (!thread || pthread_setspecific(key, thread)) {
            free(thread);
            return NULL;
        }
        dw_heap_here.thread = thread;
    }
    release(thread);
    *thread = (struct dw_heap_thread){
        .tid = gettid(),
        .recording = recording,
        .chance = dw_hash_mix((uint64_t)(uintptr_t)thread ^ dw_tick()) | 1,
    };
    pthread_mutex_lock(&dw_heap.lock);
    bool is_entered = enter(thread);
    pthread_mutex_unlock(&dw_heap.lock);
    return is_entered ? thread : NULL;
}

/* A thread of dwell works for itself. */
static bool is_ours(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    return !strncmp(name, "dwell-", 6);
}

struct dw_heap_thread *dw_heap_thread(void)
{
    struct dw_heap_thread *thread = dw_heap_here.thread;
    if (thread && thread->recording == recording)
        return thread;
    if (!thread && is_ours())
        dw_heap_here.has_ended = true;
    return dw_heap_here.has_ended ? NULL : make();
}
