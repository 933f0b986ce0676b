/* SPDX-License-Identifier: MIT
 * Announcements of threads that begin, on their way to the sampler's thread: many writers, one
 * reader, no lock. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_BIRTHS_H
#define DW_PROBE_SAMPLE_SAMPLE_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dw_birth {
    struct dw_birth *next;
    pid_t tid;
    uintptr_t stack_start, stack_end; /* 0: not known */
    size_t name_size;
    char name[];
};

/* Announces the calling thread. */
void dw_births_announce(const char *name, size_t name_size);
/* All so far, in any order; to be freed one by one. */
struct dw_birth *dw_births_take(void);
void dw_births_discard(void);
/* Whether any thread has announced itself. */
bool dw_births_come(void);

#endif
