/* SPDX-License-Identifier: MIT
 * A block is unpacked when it is read, and its times become nanoseconds there. */
#include "model/event.h"

#include "base/error.h"
#include "model/profile.h"

#include <stdlib.h>
#include <zstd.h>

int dw_event_reader_init(struct dw_event_reader *reader, const struct dw_profile *profile,
                         const struct dw_event_block *block)
{
    const struct dw_process *process = &profile->processes[profile->threads[block->thread].process];
    uint8_t *raw = malloc(block->raw_size ? block->raw_size : 1);
    if (!raw)
        return DW_ERR_MEMORY;
    size_t size = ZSTD_decompress(raw, block->raw_size, block->payload, block->size);
    if (ZSTD_isError(size)) {
        free(raw);
        return DW_ERR_DAMAGED;
    }
    *reader = (struct dw_event_reader){
        .cursor = {raw, raw + size, false},
        .raw = raw,
        .tick = block->base_tick,
        .rate = dw_clock_rate_between(&process->first_clock, &process->last_clock),
        .epoch = process->first_clock,
        .map = &profile->path_maps[process->path_map],
    };
    return 0;
}

bool dw_event_next(struct dw_event_reader *reader, struct dw_event *event)
{
    struct dw_cursor *cursor = &reader->cursor;
    if (cursor->at == cursor->end)
        return false;
    uint64_t head = dw_cursor_get(cursor);
    reader->tick += head >> 3;
    event->kind = (enum dw_event_kind)(head & 7);
    event->time_ns = dw_clock_wall_ns(&reader->epoch, reader->rate, reader->tick);
    event->path = DW_PATH_ROOT;
    event->value = 0;
    if (dw_event_has_path(event->kind)) {
        event->path = dw_path_map_get(reader->map, dw_cursor_get_u32(cursor));
    }
    if (event->kind == DW_EVENT_COUNTER)
        event->value = dw_unzigzag(dw_cursor_get(cursor));
    return !cursor->bad && event->kind <= DW_EVENT_COUNTER;
}

void dw_event_reader_release(struct dw_event_reader *reader)
{
    free(reader->raw);
    reader->raw = NULL;
}
