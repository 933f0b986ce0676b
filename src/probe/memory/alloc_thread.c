/* SPDX-License-Identifier: MIT
 * A thread is entered when it begins a recording, or at its first allocation that is looked at. */
#define _GNU_SOURCE
#include "probe/memory/alloc_thread.h"

#include "base/clock.h"
#include "base/grow.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

__thread struct dw_alloc_here dw_alloc_here __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static bool has_key;
uint64_t dw_alloc_recording;

static void release(struct dw_alloc_thread *thread)
{
    free(thread->frames);
    free(thread->walked);
    free(thread->known);
}

/* Destructors of others may still free what it has allocated, which needs nothing of this. */
static void end_thread(void *value)
{
    struct dw_alloc_thread *thread = value;
    dw_alloc_here.busy++;
    dw_alloc_here.has_ended = true;
    dw_alloc_here.thread = NULL;
    dw_alloc_lock_for_all();
    if (thread->recording == dw_alloc_recording && thread->index < dw_allocs.thread_count) {
        dw_alloc_at(thread->index, 0);
        dw_allocs.threads[thread->index].has_ended = true;
    }
    dw_alloc_unlock();
    release(thread);
    free(thread);
    dw_alloc_here.busy--;
}

int dw_alloc_threads_begin(void)
{
    if (!has_key && pthread_key_create(&key, end_thread))
        return DW_ERR_MEMORY;
    has_key = true;
    dw_alloc_recording++;
    dw_alloc_thread_make(); /* the first one, which has what is of no thread */
    return 0;
}

/* With the lock. */
static bool enter(struct dw_alloc_thread *thread)
{
    if (DW_GROW(dw_allocs.threads, dw_allocs.thread_count, dw_allocs.thread_capacity))
        return false;
    thread->index = dw_allocs.thread_count;
    dw_allocs.threads[dw_allocs.thread_count++] =
        (struct dw_alloc_thread_entry){.tid = thread->tid};
    return true;
}

static struct dw_alloc_thread *make(void)
{
    struct dw_alloc_thread *thread = dw_alloc_here.thread;
    if (!thread) {
        thread = calloc(1, sizeof *thread);
        if (!thread || pthread_setspecific(key, thread)) {
            free(thread);
            return NULL;
        }
        dw_alloc_here.thread = thread;
    }
    release(thread);
    *thread = (struct dw_alloc_thread){
        .tid = gettid(),
        .recording = dw_alloc_recording,
        .chance = dw_hash_mix((uint64_t)(uintptr_t)thread ^ dw_tick()) | 1,
    };
    dw_alloc_lock();
    bool is_entered = enter(thread);
    dw_alloc_unlock();
    return is_entered ? thread : NULL;
}

/* A thread of dwell works for itself. */
static bool is_ours(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    return !strncmp(name, "dwell-", 6);
}

struct dw_alloc_thread *dw_alloc_thread_make(void)
{
    int saved_errno = errno;
    if (!dw_alloc_here.thread && is_ours())
        dw_alloc_here.has_ended = true;
    struct dw_alloc_thread *thread = dw_alloc_here.has_ended ? NULL : make();
    errno = saved_errno;
    return thread;
}
