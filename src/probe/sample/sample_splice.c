/* SPDX-License-Identifier: MIT
 * The thread's functions are compared with those of its last sample, from the outermost on, and
 * native frames are kept up to the first that differs. */
#include "probe/sample/sample_splice.h"

static dw_frame_id frame_of(struct dw_ledger *log, dw_place_id place)
{
    return dw_ledger_place_at(log, place).frame;
}

static bool is_native(struct dw_ledger *log, dw_frame_id frame)
{
    return dw_ledger_frame_at(log, frame).kind == DW_FRAME_NATIVE;
}

/* A frame that is left out has the path of its caller. */
static bool is_repeated(const struct dw_slot *slot, uint32_t index)
{
    return slot->paths[index].path == (index ? slot->paths[index - 1].path : DW_PATH_ROOT);
}

uint32_t dw_splice_outer(struct dw_sample_places *places, const struct dw_slot *slot,
                         const uint64_t *tokens, uint32_t count, dw_path_id *path)
{
    struct dw_ledger *log = places->log;
    for (uint32_t i = 0; i < slot->path_count && count; i++) {
        struct dw_path then = dw_ledger_path_at(log, slot->paths[i].path);
        dw_frame_id frame = frame_of(log, then.step);
        if (is_repeated(slot, i) || is_native(log, frame))
            continue;
        dw_place_id now = dw_sample_places_of(places, *path, tokens[count - 1]);
        if (!now || frame_of(log, now) != frame)
            break;
        count--;
        if (then.step == now) {
            *path = slot->paths[i].path;
        } else { /* it has gone on since, so what it called is over */
            if (dw_ledger_path(log, then.parent, now, path))
                count++;
            break;
        }
    }
    return count;
}
