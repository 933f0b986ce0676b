/* SPDX-License-Identifier: MIT
 * Both lists are walked once, from the innermost frame outwards, by addresses on the C stack. */
#include "probe/sample/sample_merge.h"

#define CODE_BITS 47 /* of code that a program can have */

void dw_merge_put(struct dw_merge *merge, uint64_t token)
{
    if (merge->count < merge->capacity)
        merge->tokens[merge->count++] = token;
    else
        merge->is_cut = true;
}

static void put_segment(struct dw_merge *merge, uint32_t *at, const struct dw_segment *segment)
{
    for (; *at < segment->end; (*at)++) {
        if (merge->collects)
            dw_merge_put(merge, DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_GC));
        merge->collects = false;
        dw_merge_put(merge, merge->python[*at]);
    }
}

/* A segment finds its place even when frames are missing: it stands inside of the first frame
 * beyond its boundary. */
void dw_merge_run(struct dw_merge *merge)
{
    const struct dw_native_frame *native = merge->native;
    const struct dw_segment *segment = merge->segments;
    const struct dw_segment *last = segment + merge->segment_count;
    uint32_t at = 0, count = merge->native_count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t start = native[i].sp, end = i + 1 < count ? native[i + 1].sp : start + 1;
        merge->is_guessed |= native[i].how > DW_UNWIND_TABLE;
        while (segment < last && segment->boundary >= native[0].sp && segment->boundary < start)
            put_segment(merge, &at, segment++);
        if (segment < last && segment->boundary >= start && segment->boundary < end)
            put_segment(merge, &at, segment++);
        else if (native[i].pc && !(native[i].pc >> CODE_BITS)) /* a guess may be none */
            dw_merge_put(merge, DW_TOKEN(DW_TOKEN_NATIVE, native[i].pc - (i > 0)));
    }
    while (segment < last)
        put_segment(merge, &at, segment++);
    if (!merge->count)
        dw_merge_put(merge, DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_UNKNOWN));
}
