/* SPDX-License-Identifier: MIT
 * Numbers for things that handlers meet, and whether the sampler's thread has heard what each
 * is. Entries are never taken back while handlers run. */
#ifndef DW_PROBE_NUMBER_SET_H
#define DW_PROBE_NUMBER_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dw_numbered {
    _Atomic uint64_t fingerprint; /* 0: free */
    _Atomic uint64_t is_known;
};

struct dw_number_set {
    uint32_t common;             /* so many soon have all of their memory in use */
    uint32_t rare;               /* and so many more are for programs that need them */
    struct dw_numbered *entries; /* NULL at first */
};

/* Nothing is in it. 0 or DW_ERR_MEMORY. */
int dw_numbers_reset(struct dw_number_set *set);
/* From 1 on, up to common + rare; 0 when there are too many. [signal-safe] */
uint32_t dw_numbers_find(struct dw_number_set *set, uint64_t fingerprint);
/* [signal-safe] */
bool dw_numbers_is_known(const struct dw_number_set *set, uint32_t number);
void dw_numbers_set_known(struct dw_number_set *set, uint32_t number);

#endif
