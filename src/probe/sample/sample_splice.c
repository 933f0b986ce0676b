/* SPDX-License-Identifier: MIT
 * The thread's functions are compared with those of its last sample, from the outermost on, and
 * native frames are kept up to the first that differs. */
#include "probe/sample/sample_splice.h"

static const struct dw_place *place_at(const struct dw_sample_log *log, dw_path_id path)
{
    return &log->places.places[log->stacks.paths[path].step];
}

static bool is_native(const struct dw_sample_log *log, const struct dw_place *place)
{
    return log->frames.frames[place->frame].kind == DW_FRAME_NATIVE;
}

/* A frame that is left out has the path of its caller. */
static bool is_repeated(const struct dw_slot *slot, uint32_t index)
{
    return slot->paths[index].path == (index ? slot->paths[index - 1].path : DW_PATH_ROOT);
}

uint32_t dw_splice_outer(struct dw_sample_places *places, const struct dw_slot *slot,
                         const uint64_t *tokens, uint32_t count, dw_path_id *path)
{
    struct dw_sample_log *log = places->log;
    for (uint32_t i = 0; i < slot->path_count && count; i++) {
        dw_path_id then = slot->paths[i].path;
        if (is_repeated(slot, i) || is_native(log, place_at(log, then)))
            continue;
        dw_place_id now = dw_sample_places_of(places, *path, tokens[count - 1]);
        if (!now || log->places.places[now].frame != place_at(log, then)->frame)
            break;
        count--;
        if (log->stacks.paths[then].step == now) {
            *path = then;
        } else { /* it has gone on since, so what it called has returned */
            if (dw_sample_log_stack(log, log->stacks.paths[then].parent, now, path))
                count++;
            break;
        }
    }
    return count;
}
