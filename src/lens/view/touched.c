/* SPDX-License-Identifier: MIT
 * Few paths are sorted. Many are found anew, in order, by a look at all paths. */
#include "lens/view/touched.h"

#include "base/order.h"

#include <stdlib.h>

#define FEW 16 /* one part in so many of all paths */

int dw_touched_init(struct dw_touched *touched, const struct dw_path_tree *tree)
{
    *touched = (struct dw_touched){.tree = tree};
    DW_ROOM_GET(&touched->room, touched->is_in, tree->count);
    DW_ROOM_GET(&touched->room, touched->paths, tree->count);
    return dw_room_error(&touched->room);
}

void dw_touched_release(struct dw_touched *touched)
{
    dw_room_release(&touched->room);
}

static int descending(const void *a, const void *b)
{
    return dw_ascending(*(const dw_path_id *)b, *(const dw_path_id *)a);
}

void dw_touched_sort(struct dw_touched *touched)
{
    uint32_t all = touched->tree->count;
    if (touched->count >= all / FEW) {
        touched->count = 0;
        for (dw_path_id path = all; path-- > 0;)
            if (touched->is_in[path])
                touched->paths[touched->count++] = path;
    } else if (touched->count) {
        qsort(touched->paths, touched->count, sizeof *touched->paths, descending);
    }
}

void dw_touched_clear(struct dw_touched *touched)
{
    for (uint32_t i = 0; i < touched->count; i++)
        touched->is_in[touched->paths[i]] = false;
    touched->count = 0;
}
