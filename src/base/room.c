/* SPDX-License-Identifier: MIT
 * Each array is behind a head that leads to the one before, so the room itself needs no list. */
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

struct dw_room_array {
    struct dw_room_array *next;
    max_align_t entries[];
};

void *dw_room_get(struct dw_room *room, size_t count, size_t entry_size)
{
    size_t size;
    struct dw_room_array *array = NULL;
    if (!room->failed && !__builtin_mul_overflow(count, entry_size, &size) &&
        !__builtin_add_overflow(size, sizeof *array, &size))
        array = calloc(1, size);
    room->failed = !array;
    if (!array)
        return NULL;
    array->next = room->arrays;
    room->arrays = array;
    return array->entries;
}

uint32_t *dw_room_get_ids(struct dw_room *room, size_t count)
{
    uint32_t *ids = dw_room_get(room, count, sizeof *ids);
    if (ids)
        memset(ids, 0xff, count * sizeof *ids);
    return ids;
}

void dw_room_release(struct dw_room *room)
{
    for (struct dw_room_array *array = room->arrays, *next; array; array = next) {
        next = array->next;
        free(array);
    }
    *room = (struct dw_room){0};
}
