/* SPDX-License-Identifier: MIT
 * Probes are entered and never leave: one that is off does nothing when it is asked. */
#include "record/probes.h"

#include "base/clock.h"

#include <pthread.h>
#include <stddef.h>

#define FLUSH_SHARE 20

_Atomic uint32_t dw_own_threads;
int (*dw_call_soon)(int (*call)(void *), void *context);

static struct dw_probe *_Atomic first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct dw_probe *dw_probes_first(void)
{
    return atomic_load(&first);
}

void dw_probes_lock(void)
{
    pthread_mutex_lock(&lock);
}

void dw_probes_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void dw_probe_add(struct dw_probe *probe)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, dw_fork_init);
    pthread_mutex_lock(&lock);
    if (!probe->bit) {
        struct dw_probe *next = atomic_load(&first);
        probe->bit = next ? next->bit << 1 : 1;
        probe->next = next;
        atomic_store(&first, probe);
    }
    pthread_mutex_unlock(&lock);
}

void dw_probes_flush(bool with_gil)
{
    for (struct dw_probe *probe = dw_probes_first(); probe; probe = probe->next)
        if (probe->flush && probe->needs_gil == with_gil)
            probe->flush();
}

void dw_probes_last(void)
{
    for (struct dw_probe *probe = dw_probes_first(); probe; probe = probe->next)
        if (probe->last)
            probe->last();
}

void dw_probes_stop(bool with_gil)
{
    for (struct dw_probe *probe = dw_probes_first(); probe; probe = probe->next)
        if (probe->stop && probe->needs_gil == with_gil)
            probe->stop();
}

void dw_probes_go_on(void)
{
    for (struct dw_probe *probe = dw_probes_first(); probe; probe = probe->next)
        if (probe->go_on)
            probe->go_on();
}

uint64_t dw_flush_next(uint64_t before, double tick_ns)
{
    uint64_t now = dw_tick();
    uint64_t usual = (uint64_t)(DW_FLUSH_NS / tick_ns), pause = FLUSH_SHARE * (now - before);
    return now + (pause > usual ? pause : usual);
}
