/* SPDX-License-Identifier: MIT
 * The owner says that it is inside and then looks whether it is still the owner; who takes the
 * lock away says so and then looks whether the owner is inside. Of two threads that do that at the
 * same time one sees the other, since the barrier lies between the store and the look of both. */
#define _GNU_SOURCE
#include "probe/memory/alloc_lock.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_NS 200000000u
#define STREAK 1000u /* times in a row that make an owner */

struct dw_alloc_here *_Atomic dw_alloc_owner;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* With the mutex: who had it last, and how often in a row. */
static const struct dw_alloc_here *last;
static uint32_t streak;

static bool barrier(int command)
{
    int saved_errno = errno;
    bool is_done = !syscall(SYS_membarrier, command, 0, 0);
    errno = saved_errno;
    return is_done;
}

static bool can_be_owned(void)
{
    static enum { UNKNOWN, YES, NO } answer;
    if (answer == UNKNOWN)
        answer = barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) ? YES : NO;
    return answer == YES;
}

/* With the mutex. False when the owner was inside for too long. */
static bool take_away(uint64_t until_ns)
{
    struct dw_alloc_here *owner = atomic_load(&dw_alloc_owner);
    if (!owner || owner == &dw_alloc_here)
        return true;
    atomic_store(&dw_alloc_owner, NULL);
    barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    while (atomic_load_explicit(&owner->inside, memory_order_acquire) == DW_ALLOC_AS_OWNER) {
        if (until_ns && dw_clock_ns(CLOCK_MONOTONIC) > until_ns) {
            atomic_store(&dw_alloc_owner, owner);
            return false;
        }
        sched_yield();
    }
    return true;
}

/* Destructors of a thread that ends run after its last chance to give the lock up. */
static void count_streak(void)
{
    streak = last == &dw_alloc_here ? streak + 1 : 0;
    last = &dw_alloc_here;
    if (streak > STREAK && dw_alloc_here.thread && can_be_owned())
        atomic_store(&dw_alloc_owner, &dw_alloc_here);
}

static void enter(enum dw_alloc_inside how)
{
    atomic_store_explicit(&dw_alloc_here.inside, how, memory_order_relaxed);
}

void dw_alloc_lock_slow(void)
{
    enter(DW_ALLOC_OUTSIDE);
    pthread_mutex_lock(&mutex);
    take_away(0);
    count_streak();
    enter(DW_ALLOC_WITH_MUTEX);
}

void dw_alloc_unlock_slow(void)
{
    enter(DW_ALLOC_OUTSIDE);
    pthread_mutex_unlock(&mutex);
}

bool dw_alloc_lock_or_leave(void)
{
    uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    if (pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until))
        return false;
    if (!take_away(until_ns)) {
        pthread_mutex_unlock(&mutex);
        return false;
    }
    enter(DW_ALLOC_WITH_MUTEX);
    return true;
}

void dw_alloc_lock_for_all(void)
{
    pthread_mutex_lock(&mutex);
    take_away(0);
    atomic_store(&dw_alloc_owner, NULL);
    last = NULL;
    enter(DW_ALLOC_WITH_MUTEX);
}
