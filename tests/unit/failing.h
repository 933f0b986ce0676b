/* SPDX-License-Identifier: MIT
 * An allocator that fails on demand. The linker gives it what dwell's own code asks for (--wrap);
 * libraries keep theirs, but what makes their contexts fails too. Any thread may allocate. */
#ifndef DW_TESTS_FAILING_H
#define DW_TESTS_FAILING_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the n-th allocation fails, counted from 1, and with `for_good` all after it; 0: none
 * does. */
void failing_start(uint64_t nth, bool for_good);
/* None fails any more. Returns how many were asked for since the start. */
uint64_t failing_stop(void);
/* Allocations that are not freed yet. */
int64_t failing_live(void);

#endif
