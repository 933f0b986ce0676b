/* SPDX-License-Identifier: MIT
 * The stack of a thread at the peak is that of its last allocation until then: the row that has the
 * time of the peak. */
#include "lens/table/memory_peak.h"

#include "lens/view/column.h"
#include "lens/view/functions.h"
#include "lens/view/roster.h"
#include "model/moments.h"

#define THREADS 10u
#define FRAMES 8u

/* The row of a thread; NULL: it had allocated nothing, or was not there. */
static const struct dw_value_row *peak_row(const struct dw_thread *thread)
{
    const struct dw_value_table *values = &thread->values;
    for (uint32_t i = 0; values->mask & DW_MASK(DW_PEAK_TIME) && i < values->count; i++)
        if (dw_value_get(values, &values->rows[i], DW_PEAK_TIME))
            return &values->rows[i];
    return NULL;
}

static void put_time(struct dw_out *out, const struct dw_profile *profile,
                     const struct dw_thread *thread, const struct dw_value_row *row)
{
    uint64_t at_ns = profile->processes[thread->process].first_clock.wall_ns +
                     dw_value_get(&thread->values, row, DW_PEAK_TIME);
    uint64_t start_ns = dw_moments_start_ns(profile);
    dw_out_text(out, " at ");
    dw_out_moment(out, at_ns > start_ns ? (double)(at_ns - start_ns) : 0, 2);
}

void dw_memory_put_peak_time(struct dw_out *out, const struct dw_profile *profile)
{
    const struct dw_value_row *row = NULL;
    if (profile->process_count != 1)
        return;
    for (uint32_t i = 0; i < profile->thread_count && !row; i++)
        if ((row = peak_row(&profile->threads[i])))
            put_time(out, profile, &profile->threads[i], row);
}

static void put_place(struct dw_out *out, const struct dw_profile *profile, dw_path_id path)
{
    const struct dw_place *place = &profile->places.places[profile->paths.paths[path].step];
    const struct dw_frame *frame = &profile->frames.frames[place->frame];
    struct dw_string name = dw_profile_string(profile, frame->name);
    struct dw_string file = dw_file_without_dirs(dw_profile_string(profile, frame->file));
    dw_out_text(out, "    ");
    if (place->line) {
        dw_out_printable(out, file.bytes, file.size);
        dw_out_printf(out, ":%u (", place->line);
    }
    dw_out_printable(out, name.bytes, name.size);
    dw_out_text(out, place->line ? ")\n" : "\n");
}

/* From there outwards: the next function of Python, or else the root. */
static dw_path_id next_python(const struct dw_profile *profile, dw_path_id path)
{
    while (path != DW_PATH_ROOT && dw_profile_path_frame(profile, path)->kind != DW_FRAME_FUNCTION)
        path = profile->paths.paths[path].parent;
    return path;
}

/* The innermost first. Native functions are told only where there are no others. */
static void put_stack(struct dw_out *out, const struct dw_profile *profile, dw_path_id path)
{
    bool has_python = next_python(profile, path) != DW_PATH_ROOT;
    uint32_t count = 0;
    for (;; path = profile->paths.paths[path].parent) {
        path = has_python ? next_python(profile, path) : path;
        if (path == DW_PATH_ROOT)
            return;
        if (count++ == FRAMES)
            break;
        put_place(out, profile, path);
    }
    dw_out_text(out, "    ...\n");
}

void dw_memory_put_peak_stacks(struct dw_out *out, const struct dw_profile *profile, const char *by)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        const struct dw_value_row *row = peak_row(&profile->threads[i]);
        if (!row || count++ >= THREADS)
            continue;
        if (count == 1)
            dw_out_printf(out, "\nThreads at the peak, by the last %s of each\n", by);
        dw_out_text(out, "  ");
        dw_roster_put_thread_of(out, profile, i, false);
        if (profile->process_count > 1)
            put_time(out, profile, &profile->threads[i], row);
        dw_out_char(out, '\n');
        put_stack(out, profile, row->path);
    }
    if (count > THREADS)
        dw_out_printf(out, "(%u more)\n", count - THREADS);
}
