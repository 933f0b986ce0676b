/* SPDX-License-Identifier: MIT */
#include "attach/live_areas.h"

#define PAGE_BYTES 4096u
#define MAX_GAP_BYTES 4096u        /* between frames that are read in one go */
#define MAX_STACK_GAP_BYTES 16384u /* the same on the C stack */
#define SLACK_BYTES 1024u          /* for calls to come */
#define MAX_GROWTH_BYTES 8192u
#define MAX_FRAME_BYTES 512u /* dw_py_offsets_init allows no larger ones */

/* Makes the area reach from `start` to `end`, if it is near. Frames of calls come from above;
 * those on the C stack, which are of the interpreter itself, from anywhere on it. */
static bool stretch(struct dw_live_area *area, uint64_t start, uint64_t end, bool is_internal)
{
    bool is_below = start < area->start && area->start - start <= MAX_GAP_BYTES;
    bool is_above = is_internal && end > area->end && end - area->end <= MAX_STACK_GAP_BYTES;
    if (is_below)
        area->start = start;
    if (is_above)
        area->end = end;
    return is_below || is_above || (start >= area->start && end <= area->end);
}

/* Joins the frame to the areas; false when there are too many. */
static bool add_to_areas(struct dw_live_thread *thread, uint64_t start, uint64_t end,
                         bool is_internal)
{
    for (uint32_t i = 0; i < thread->area_count; i++)
        if (thread->areas[i].is_internal == is_internal &&
            stretch(&thread->areas[i], start, end, is_internal))
            return true;
    if (thread->area_count == DW_LIVE_AREAS)
        return false;
    thread->areas[thread->area_count++] = (struct dw_live_area){start, end, is_internal};
    return true;
}

/* The page that is in use is there to its end. */
static uint64_t with_slack(uint64_t end)
{
    uint64_t page_end = (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    return end + SLACK_BYTES < page_end ? end + SLACK_BYTES : page_end;
}

static size_t sum_of_areas(const struct dw_live_thread *thread)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < thread->area_count; i++)
        sum += (size_t)(thread->areas[i].end - thread->areas[i].start);
    return sum;
}

/* The area that grows and shrinks with calls comes first, with room for more. */
static void put_main_first(struct dw_live_thread *thread, uint64_t frame)
{
    for (uint32_t i = 0; i < thread->area_count; i++) {
        struct dw_live_area area = thread->areas[i];
        if (frame < area.start || frame >= area.end)
            continue;
        thread->areas[i] = thread->areas[0];
        area.end = with_slack(area.end);
        thread->areas[0] = area;
    }
}

static bool learn_frames(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t address, uint64_t *first_of_thread)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    uint8_t bytes[MAX_FRAME_BYTES];
    uint64_t marked = 0;
    for (uint32_t i = 0; address && i <= reader->spare.capacity; i++) {
        if (address == marked)
            return false; /* it changed, and leads back to where it was */
        if (!(i & (i - 1)))
            marked = address;
        struct dw_raw_frame frame;
        uint64_t start = address;
        if (dw_target_read(reader->python->target, address, bytes, offsets->frame_size) ||
            !dw_raw_frame_parse(offsets, address, bytes, &frame, &address))
            return false;
        if (frame.code && !frame.owner && !*first_of_thread)
            *first_of_thread = start;
        if (!add_to_areas(thread, start, start + offsets->frame_size, !frame.code) ||
            sum_of_areas(thread) > DW_LIVE_COPY_BYTES / 2) {
            thread->area_count = 0;
            thread->is_deep = true;
            return true;
        }
    }
    return true;
}

/* Beside what is known: a thread comes back to where it was, and what is missed because it is not
 * copied is missed again and again. */
void dw_live_areas_learn(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t address)
{
    bool had_areas = thread->area_count != 0;
    uint64_t first_of_thread = 0;
    thread->is_deep = false;
    thread->known = learn_frames(reader, thread, address, &first_of_thread);
    if (thread->is_deep && had_areas)
        return dw_live_areas_learn(reader, thread, address); /* all of them were too many */
    put_main_first(thread, first_of_thread);
}

void dw_live_areas_adapt(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                         uint64_t frame)
{
    struct dw_live_area *main = &thread->areas[0];
    uint64_t end = frame + reader->python->offsets.frame_size;
    if (thread->known && thread->area_count && frame >= main->end - SLACK_BYTES &&
        frame < main->end + MAX_GROWTH_BYTES && end > main->end &&
        sum_of_areas(thread) < DW_LIVE_COPY_BYTES / 2)
        main->end = with_slack(end);
    else
        dw_live_areas_learn(reader, thread, frame);
}
