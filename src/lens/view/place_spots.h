/* SPDX-License-Identifier: MIT
 * Places that are one to a reader: those of one function, one line or one module. */
#ifndef DW_LENS_VIEW_PLACE_SPOTS_H
#define DW_LENS_VIEW_PLACE_SPOTS_H

#include "base/room.h"
#include "lens/view/key.h"
#include "lens/view/stack_tree.h"

struct dw_place_spots {
    uint32_t *of;                  /* of each place; 0 is that of no place */
    const struct dw_place **first; /* of each spot: one of its places; NULL of spot 0 */
    uint32_t count;
    struct dw_room room;
};

/* Of the places that something was spent on or under. */
int dw_place_spots_make(const struct dw_stack_tree *tree, enum dw_key_part by,
                        struct dw_place_spots *spots);
void dw_place_spots_release(struct dw_place_spots *spots);

/* What module code is in: its object, else its source, else its own name. */
dw_string_id dw_place_module_name(const struct dw_profile *profile, const struct dw_place *place);

#endif
