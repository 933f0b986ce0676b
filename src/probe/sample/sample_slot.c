/* SPDX-License-Identifier: MIT
 * Slots are a fixed table that handlers search without a lock. Their memory is mapped apart and
 * kept for the next thread, so that a program of short threads does not map and unmap all the
 * time. */
#define _GNU_SOURCE
#include "probe/sample/sample_slot.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPARES 16u /* mapping and unmapping memory costs all running threads */

struct dw_slot dw_slots[DW_SLOTS];

/* The sampler's thread. */
static struct dw_slot_memory *spares[SPARES];
static uint32_t spare_count;

_Atomic pid_t dw_own_work;

struct dw_slot *dw_slot_find(pid_t tid)
{
    for (uint32_t i = 0; i < DW_SLOT_PROBES; i++) {
        struct dw_slot *slot = &dw_slots[((uint32_t)tid + i) % DW_SLOTS];
        if (atomic_load_explicit(&slot->tid, memory_order_acquire) == tid)
            return slot;
    }
    return NULL;
}

static struct dw_slot *free_slot(pid_t tid)
{
    for (uint32_t i = 0; i < DW_SLOT_PROBES; i++) {
        struct dw_slot *slot = &dw_slots[((uint32_t)tid + i) % DW_SLOTS];
        if (!atomic_load(&slot->tid) && !slot->memory)
            return slot;
    }
    return NULL;
}

/* Touches what all samples use, or the first one would pay for the page faults. */
static void touch(struct dw_slot_memory *memory)
{
    volatile uint8_t *const used[] = {
        (uint8_t *)memory->tokens[0],
        (uint8_t *)memory->tokens[1],
        (uint8_t *)memory->python,
        (uint8_t *)memory->segments,
        (uint8_t *)memory->pending,
        (uint8_t *)memory->native,
        (uint8_t *)&memory->task,
        memory->ring,
        memory->stack_end,
        memory->stack_end - 4096,
    };
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        *used[i] = 0;
}

static struct dw_slot_memory *new_memory(void)
{
    if (spare_count)
        return spares[--spare_count];
    void *memory = mmap(NULL, sizeof(struct dw_slot_memory), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    touch(memory);
    return memory;
}

static void free_memory(struct dw_slot_memory *memory)
{
    if (spare_count < SPARES)
        spares[spare_count++] = memory;
    else
        munmap(memory, sizeof *memory);
}

void dw_slots_trim(void)
{
    while (spare_count)
        munmap(spares[--spare_count], sizeof(struct dw_slot_memory));
}

struct dw_slot *dw_slot_new(pid_t tid)
{
    struct dw_slot *slot = free_slot(tid);
    struct dw_slot_memory *memory = slot ? new_memory() : NULL;
    if (!memory)
        return NULL;
    memset(&slot->memory, 0, sizeof *slot - offsetof(struct dw_slot, memory));
    slot->memory = memory;
    slot->timer.fd = -1;
    slot->ring.bytes = slot->memory->ring;
    slot->ring.size = sizeof slot->memory->ring;
    return slot;
}

void dw_slot_free(struct dw_slot *slot)
{
    atomic_store(&slot->tid, 0);
    while (atomic_load(&slot->handlers))
        sched_yield();
    free_memory(slot->memory);
    free(slot->paths);
    slot->paths = NULL;
    slot->memory = NULL;
}

void dw_own_work_begin(void)
{
    atomic_store(&dw_own_work, gettid());
}

void dw_own_work_end(void)
{
    atomic_store(&dw_own_work, 0);
}
