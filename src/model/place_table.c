/* SPDX-License-Identifier: MIT
 * Places are found by a hash of all that they consist of. */
#include "model/place_table.h"

#include "base/intern.h"

/* The padding behind it is not part of the key. */
#define KEY_SIZE (offsetof(struct dw_place, outer) + sizeof(dw_place_id))

int dw_place_table_init(struct dw_place_table *table)
{
    *table = (struct dw_place_table){0};
    dw_place_id none;
    return dw_place_intern(table, &(struct dw_place){0}, &none);
}

void dw_place_table_release(struct dw_place_table *table)
{
    free(table->places);
    dw_map_release(&table->index);
    *table = (struct dw_place_table){0};
}

int dw_place_intern(struct dw_place_table *table, const struct dw_place *place, dw_place_id *id)
{
    return DW_INTERN(table->places, table->count, table->capacity, table->index, KEY_SIZE, place,
                     id);
}
