/* SPDX-License-Identifier: MIT
 * A fork, for all probes. The child leaves the files of its parent alone; each probe begins again
 * there, and a file is made only when one has something to write. */
#include "record/labels.h"
#include "record/ledger.h"
#include "record/probes.h"
#include "record/process.h"

#include <stddef.h>

/* What a probe does at one step of a fork. */
typedef void (*step)(void);
#define STEP(probe, offset) (*(const step *)((const char *)(probe) + (offset)))

static void in_order(size_t offset)
{
    for (struct dw_probe *probe = dw_probes_first(); probe; probe = probe->next)
        if (STEP(probe, offset))
            STEP(probe, offset)();
}

static void reversed(const struct dw_probe *probe, size_t offset)
{
    if (!probe)
        return;
    reversed(probe->next, offset);
    if (STEP(probe, offset))
        STEP(probe, offset)();
}

static void before_fork(void)
{
    dw_probes_lock();
    in_order(offsetof(struct dw_probe, before));
    dw_ledgers_lock();
    in_order(offsetof(struct dw_probe, lock));
    dw_ledgers_lock_tables();
    dw_process_lock();
    dw_labels_before_fork();
    in_order(offsetof(struct dw_probe, lock_last));
}

static void unlock_after_fork(void)
{
    reversed(dw_probes_first(), offsetof(struct dw_probe, unlock_first));
    dw_labels_forked();
    dw_process_unlock();
    dw_ledgers_unlock_tables();
    reversed(dw_probes_first(), offsetof(struct dw_probe, unlock));
    dw_ledgers_unlock();
}

static void after_fork_in_parent(void)
{
    unlock_after_fork();
    reversed(dw_probes_first(), offsetof(struct dw_probe, after));
    dw_probes_unlock();
}

static void after_fork_in_child(void)
{
    atomic_store(&dw_own_threads, 0);
    dw_ledgers_forked();
    unlock_after_fork();
    reversed(dw_probes_first(), offsetof(struct dw_probe, forked));
    dw_probes_unlock();
}

void dw_fork_init(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
