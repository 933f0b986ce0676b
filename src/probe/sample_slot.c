/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/sample_slot.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PROBES 32u

struct dw_slot dw_slots[DW_SLOTS];

struct dw_slot *dw_slot_find(pid_t tid)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct dw_slot *slot = &dw_slots[((uint32_t)tid + i) % DW_SLOTS];
        if (atomic_load_explicit(&slot->tid, memory_order_acquire) == tid)
            return slot;
    }
    return NULL;
}

static struct dw_slot *free_slot(pid_t tid)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct dw_slot *slot = &dw_slots[((uint32_t)tid + i) % DW_SLOTS];
        if (!atomic_load(&slot->tid) && !slot->memory)
            return slot;
    }
    return NULL;
}

struct dw_slot *dw_slot_new(pid_t tid)
{
    struct dw_slot *slot = free_slot(tid);
    if (!slot)
        return NULL;
    void *memory = mmap(NULL, sizeof(struct dw_slot_memory), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    *slot = (struct dw_slot){.memory = memory, .perf_fd = -1};
    slot->ring.bytes = slot->memory->ring;
    slot->ring.size = sizeof slot->memory->ring;
    return slot;
}

void dw_slot_free(struct dw_slot *slot)
{
    atomic_store(&slot->tid, 0);
    while (atomic_load(&slot->is_busy))
        sched_yield();
    munmap(slot->memory, sizeof *slot->memory);
    free(slot->paths);
    slot->paths = NULL;
    slot->memory = NULL;
}
