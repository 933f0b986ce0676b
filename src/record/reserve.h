/* SPDX-License-Identifier: MIT
 * Room to write what was recorded when the program has used up all memory that it may have. */
#ifndef DW_RECORD_RESERVE_H
#define DW_RECORD_RESERVE_H

#include <stdbool.h>

/* Keeps some address space. No memory stands behind it. */
void dw_reserve_hold(void);
/* Whether there is memory to write now. The last time there is: the reserve is given back then, if
 * no other room is left. */
bool dw_reserve_has_room(bool is_last);

#endif
