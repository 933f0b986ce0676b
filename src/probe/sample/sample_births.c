/* SPDX-License-Identifier: MIT
 * A stack of announcements: threads push with a compare-and-swap, and the sampler's thread takes
 * the whole at once. */
#define _GNU_SOURCE
#include "probe/sample/sample_births.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct dw_birth *_Atomic newest;
static _Atomic bool has_any;

static void find_stack(struct dw_birth *birth)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &start, &size)) {
        birth->stack_start = (uintptr_t)start;
        birth->stack_end = (uintptr_t)start + size;
    }
    pthread_attr_destroy(&attributes);
}

void dw_births_announce(const char *name, size_t name_size)
{
    struct dw_birth *birth = malloc(sizeof *birth + name_size);
    if (!birth)
        return;
    *birth = (struct dw_birth){.tid = gettid(), .name_size = name_size};
    memcpy(birth->name, name, name_size);
    find_stack(birth);
    atomic_store(&has_any, true);
    birth->next = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &birth->next, birth))
        ;
}

struct dw_birth *dw_births_take(void)
{
    return atomic_exchange(&newest, NULL);
}

bool dw_births_come(void)
{
    return atomic_load(&has_any);
}

void dw_births_discard(void)
{
    struct dw_birth *next;
    for (struct dw_birth *birth = dw_births_take(); birth; birth = next) {
        next = birth->next;
        free(birth);
    }
}
