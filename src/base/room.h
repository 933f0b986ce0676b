/* SPDX-License-Identifier: MIT
 * Arrays that are given back together. Getting one fails stickily: get all of them, then ask once.
 * Zero-initialised is empty. */
#ifndef DW_BASE_ROOM_H
#define DW_BASE_ROOM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_room {
    struct dw_room_array *arrays;
    bool failed; /* later arrays are NULL too */
};

/* Zeros; NULL when out of memory. Also of no entries there is an array. */
void *dw_room_get(struct dw_room *room, size_t count, size_t entry_size);
#define DW_ROOM_GET(room, array, count) ((array) = dw_room_get(room, count, sizeof *(array)))
/* Ids that are not known yet: all of them are UINT32_MAX. */
uint32_t *dw_room_get_ids(struct dw_room *room, size_t count);
void dw_room_release(struct dw_room *room);

static inline int dw_room_error(const struct dw_room *room)
{
    return room->failed ? DW_ERR_MEMORY : 0;
}

#endif
