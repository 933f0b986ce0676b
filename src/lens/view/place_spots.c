/* SPDX-License-Identifier: MIT
 * Places are sorted by their key; those of one key get one number. The lines of a function are
 * neighbours, since the key of a line begins with the function. */
#include "lens/view/place_spots.h"

#include "base/order.h"

#include <stdlib.h>

struct keyed {
    uint64_t key;
    dw_place_id place;
};

static int compare_keyed(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    return dw_ascending(a->key, b->key) ?: dw_ascending(a->place, b->place);
}

dw_string_id dw_place_module_name(const struct dw_profile *profile, const struct dw_place *place)
{
    const struct dw_frame *frame = &profile->frames.frames[place->frame];
    if (place->module)
        return profile->modules[place->module - 1].path;
    return frame->file ? frame->file : frame->name;
}

static void number(const struct dw_profile *profile, const struct keyed *keyed, uint32_t count,
                   struct dw_place_spots *spots)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!i || keyed[i].key != keyed[i - 1].key)
            spots->first[++last] = &profile->places.places[keyed[i].place];
        spots->of[keyed[i].place] = last;
    }
    spots->count = last + 1;
}

/* Marks the places of paths that something was spent on or under, in spots->of. */
static void mark_used(const struct dw_stack_tree *tree, struct dw_place_spots *spots)
{
    for (dw_path_id path = 1; path < tree->count; path++)
        if (tree->total[path].count || tree->total[path].weight)
            spots->of[tree->paths[path].step] = 1;
}

int dw_place_spots_make(const struct dw_stack_tree *tree, enum dw_key_part by,
                        struct dw_place_spots *spots)
{
    const struct dw_profile *profile = tree->profile;
    uint32_t places = profile->places.count, count = 0;
    dw_key_of_place *of_place = dw_key_at(by)->of_place;
    *spots = (struct dw_place_spots){0};
    DW_ROOM_GET(&spots->room, spots->of, places);
    DW_ROOM_GET(&spots->room, spots->first, places + 1u);
    struct keyed *keyed = calloc(places + 1u, sizeof *keyed);
    if (!keyed || spots->room.failed) {
        free(keyed);
        dw_place_spots_release(spots);
        return DW_ERR_MEMORY;
    }
    mark_used(tree, spots);
    for (dw_place_id place = 1; place < places; place++)
        if (spots->of[place])
            keyed[count++] =
                (struct keyed){of_place(profile, &profile->places.places[place]), place};
    if (count)
        qsort(keyed, count, sizeof *keyed, compare_keyed);
    number(profile, keyed, count, spots);
    free(keyed);
    return 0;
}

void dw_place_spots_release(struct dw_place_spots *spots)
{
    dw_room_release(&spots->room);
}
