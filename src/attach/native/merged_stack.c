/* SPDX-License-Identifier: MIT
 * Both stacks are walked once, from the outermost frame inwards. The native frame of the
 * interpreter's loop is replaced by the Python frames that it ran. */
#include "attach/native/merged_stack.h"

#define NOT_FOUND UINT32_MAX

/* The native frame that the address on the C stack belongs to. */
static uint32_t find_owner(const struct dw_native_stack *native, uint64_t address)
{
    for (uint32_t i = 0; i < native->count; i++) {
        uint64_t end = i + 1 < native->count ? native->frames[i + 1].sp : native->end;
        if (address >= native->frames[i].sp && address < end)
            return i;
    }
    return NOT_FOUND;
}

/* Appends the native frames from `from` - 1 inwards, down to but without `to`. */
static uint32_t put_native(struct dw_merged_frame *merged, uint32_t count, uint32_t from,
                           uint32_t to)
{
    while (from > to)
        merged[count++] = (struct dw_merged_frame){--from, true};
    return count;
}

uint32_t dw_stacks_merge(const struct dw_raw_stack *python, const struct dw_native_stack *native,
                         struct dw_merged_frame *merged)
{
    uint32_t count = 0, left = native->count;
    for (uint32_t i = python->count; i-- > 0;) {
        const struct dw_raw_frame *frame = &python->frames[i];
        uint32_t owner = frame->entry ? find_owner(native, frame->entry) : NOT_FOUND;
        if (owner < left) {
            count = put_native(merged, count, left, owner + 1);
            left = owner; /* the loop itself is what the Python frames stand for */
        }
        merged[count++] = (struct dw_merged_frame){i, false};
    }
    return put_native(merged, count, left, 0);
}
