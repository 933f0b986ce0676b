/* SPDX-License-Identifier: MIT
 * Whether there is room is found out by asking for as much. What is given back before the last time
 * would soon be the program's. */
#include "record/reserve.h"

#include "base/pages.h"

#include <stdatomic.h>

#define RESERVE_BYTES ((size_t)16 << 20)
#define ROOM_BYTES ((size_t)4 << 20)

static void *_Atomic held;

static void give_back(void *pages, size_t size)
{
    if (pages)
        dw_pages_resize(pages, size, 0);
}

void dw_reserve_hold(void)
{
    if (!atomic_load(&held))
        give_back(atomic_exchange(&held, dw_pages_resize(NULL, 0, RESERVE_BYTES)), RESERVE_BYTES);
}

bool dw_reserve_has_room(bool is_last)
{
    void *room = dw_pages_resize(NULL, 0, ROOM_BYTES);
    give_back(room, ROOM_BYTES);
    if (!room && is_last)
        give_back(atomic_exchange(&held, NULL), RESERVE_BYTES);
    return room || is_last;
}
