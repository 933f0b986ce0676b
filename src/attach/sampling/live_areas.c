/* SPDX-License-Identifier: MIT
 * An area is a range that is copied as a whole; near ones of a kind are joined. Copies must stay
 * small, since a copy that takes longer than a call is not one moment any more. So the frames of
 * greenlets and coroutines that have not run of late are left out, and read when they run. */
#include "attach/sampling/live_areas.h"

#include <string.h>

#define PAGE_BYTES 4096u
#define BLOCK_BYTES 1024u          /* of a page: what is copied of the heap for one frame */
#define MAX_GAP_BYTES 4096u        /* between frames that are read in one go */
#define MAX_STACK_GAP_BYTES 16384u /* the same on the C stack */
#define SLACK_BYTES 1024u          /* for calls to come */
#define MAX_FRAME_BYTES 512u       /* dw_py_offsets_init allows no larger ones */
#define FORGET_AFTER 8             /* looks in which an area was not needed */
#define FORGET_STACK_AFTER 512     /* the same of the C stack, where there are few */

/* How far apart areas of one kind may be to be joined. */
static uint64_t max_gap(enum dw_live_kind kind)
{
    return kind == DW_LIVE_HEAP ? 0 : kind == DW_LIVE_CALLS ? MAX_GAP_BYTES : MAX_STACK_GAP_BYTES;
}

static uint64_t round_up(uint64_t address, uint64_t unit)
{
    return (address + unit - 1) & ~(unit - 1);
}

/* A page that is in use is mapped to its end. */
static uint64_t with_slack(uint64_t end)
{
    uint64_t page_end = round_up(end, PAGE_BYTES);
    return end + SLACK_BYTES < page_end ? end + SLACK_BYTES : page_end;
}

static size_t sum_of_areas(const struct dw_live_thread *thread)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < thread->area_count; i++)
        sum += (size_t)(thread->areas[i].end - thread->areas[i].start);
    return sum;
}

void dw_live_areas_remove(struct dw_live_thread *thread, uint32_t index)
{
    memmove(&thread->areas[index], &thread->areas[index + 1],
            (--thread->area_count - index) * sizeof *thread->areas);
}

void dw_live_areas_age(struct dw_live_thread *thread)
{
    for (uint32_t i = thread->area_count; i-- > 0;)
        if (thread->looks - thread->areas[i].used >
            (thread->areas[i].kind == DW_LIVE_C_STACK ? FORGET_STACK_AFTER : FORGET_AFTER))
            dw_live_areas_remove(thread, i);
}

/* Makes room by forgetting what was not needed for longest; false when this look needs it all. */
static bool evict(struct dw_live_thread *thread)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < thread->area_count; i++)
        if (thread->areas[i].used < thread->areas[oldest].used)
            oldest = i;
    if (!thread->area_count || thread->areas[oldest].used == thread->looks)
        return false;
    dw_live_areas_remove(thread, oldest);
    return true;
}

/* Whether it is in an area already; that area is noted as needed. */
static bool touch(struct dw_live_thread *thread, uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < thread->area_count; i++) {
        struct dw_live_area *area = &thread->areas[i];
        if (start >= area->start && end <= area->end) {
            area->used = thread->looks;
            return true;
        }
    }
    return false;
}

void dw_live_areas_use(struct dw_live_thread *thread, const struct dw_raw_stack *stack)
{
    touch(thread, thread->cframe, thread->cframe + 1);
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct dw_raw_frame *frame = &stack->frames[i];
        touch(thread, frame->address, frame->address + 1);
        touch(thread, frame->entry, frame->entry + 1);
    }
}

/* Takes the areas that are near into the new one. */
static void join(struct dw_live_thread *thread, struct dw_live_area *joined)
{
    uint64_t gap = max_gap(joined->kind);
    for (uint32_t i = thread->area_count; i-- > 0;) {
        const struct dw_live_area *area = &thread->areas[i];
        if (area->kind != joined->kind || area->start > joined->end + gap ||
            joined->start > area->end + gap)
            continue;
        joined->start = area->start < joined->start ? area->start : joined->start;
        joined->end = area->end > joined->end ? area->end : joined->end;
        dw_live_areas_remove(thread, i);
    }
}

bool dw_live_areas_add(struct dw_live_thread *thread, uint64_t start, uint64_t size,
                       enum dw_live_kind kind, bool *is_new)
{
    struct dw_live_area area = {start, start + size, kind, thread->looks};
    if (touch(thread, area.start, area.end))
        return true;
    *is_new = true;
    if (kind == DW_LIVE_HEAP) {
        area.start -= area.start % BLOCK_BYTES;
        area.end = round_up(area.end, BLOCK_BYTES);
    } else if (kind == DW_LIVE_CALLS) {
        area.end = with_slack(area.end);
    }
    join(thread, &area);
    while (thread->area_count == DW_LIVE_AREAS ||
           sum_of_areas(thread) + (area.end - area.start) > DW_LIVE_COPY_BYTES / 2)
        if (!evict(thread))
            return false;
    thread->areas[thread->area_count++] = area;
    return true;
}

static enum dw_live_kind kind_of(const struct dw_raw_frame *frame)
{
    return !frame->code ? DW_LIVE_C_STACK : frame->owner ? DW_LIVE_HEAP : DW_LIVE_CALLS;
}

/* The areas of calls are copied first: they change fastest. */
static void put_calls_first(struct dw_live_thread *thread)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < thread->area_count; i++) {
        struct dw_live_area area = thread->areas[i];
        if (area.kind != DW_LIVE_CALLS)
            continue;
        memmove(&thread->areas[count + 1], &thread->areas[count], (i - count) * sizeof area);
        thread->areas[count++] = area;
    }
}

static void take_for_deep(struct dw_live_thread *thread)
{
    thread->area_count = 0;
    thread->is_deep = true;
}

/* False when the chain does not hold together, or is in more areas than are read at once. */
static bool learn_frames(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t address, struct dw_raw_stack *stack, bool *is_new)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint8_t bytes[MAX_FRAME_BYTES];
    uint64_t marked = 0;
    for (uint32_t i = 0; address && i <= stack->capacity; i++) {
        if (address == marked)
            return false; /* it changed, and leads back to where it was */
        if (!(i & (i - 1)))
            marked = address;
        struct dw_raw_frame frame;
        uint64_t start = address;
        if (address % 8 ||
            dw_target_read(reader->python->target, address, bytes, offsets->frame_size) ||
            !dw_raw_frame_parse(offsets, address, bytes, &frame, &address))
            return false;
        if (!dw_live_areas_add(thread, start, offsets->frame_size, kind_of(&frame), is_new)) {
            take_for_deep(thread);
            return false;
        }
        dw_raw_stack_add(stack, &frame);
    }
    return true;
}

bool dw_live_areas_learn(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t address, struct dw_raw_stack *stack, bool *is_new)
{
    thread->is_deep = false;
    bool is_whole = learn_frames(reader, thread, address, stack, is_new) &&
                    dw_raw_stack_has_end(&reader->python->offsets, stack);
    put_calls_first(thread);
    return is_whole;
}

void dw_live_areas_add_stack(const struct dw_py_offsets *offsets, struct dw_live_thread *thread,
                             const struct dw_raw_stack *stack)
{
    bool is_new, fits = true;
    thread->is_deep = false;
    if (thread->cframe)
        fits = dw_live_areas_add(thread, thread->cframe, DW_LIVE_CFRAME_BYTES, DW_LIVE_C_STACK,
                                 &is_new);
    for (uint32_t i = 0; fits && i < stack->count; i++) {
        const struct dw_raw_frame *frame = &stack->frames[i];
        fits = dw_live_areas_add(thread, frame->address, offsets->frame_size, kind_of(frame),
                                 &is_new) &&
               (!frame->entry || dw_live_areas_add(thread, frame->entry, offsets->frame_size,
                                                   DW_LIVE_C_STACK, &is_new));
    }
    if (!fits)
        take_for_deep(thread);
    thread->known = true;
    put_calls_first(thread);
}
