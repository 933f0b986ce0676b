/* SPDX-License-Identifier: MIT
 * What `pprof` and the servers for profiles read. A sample of a profile of calls is a path of
 * a thread with its calls and its own time, so that sums over samples come out right. */
#include "base/error.h"
#include "lens/export/pprof_writer.h"
#include "lens/lens.h"
#include "lens/view/roster.h"
#include "lens/view/row.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

#define THE_MAPPING 1

struct writing {
    struct dw_pprof *pprof;
    const struct dw_profile *profile;
    struct dw_rows rows; /* by thread */
    bool *used;          /* each frame, and one more that stands for frames cut out */
};

static uint64_t location_of(struct writing *writing, uint32_t frame)
{
    writing->used[frame] = true;
    return frame + UINT64_C(1);
}

static void put_stack(struct writing *writing, dw_path_id path)
{
    const struct dw_profile *profile = writing->profile;
    struct dw_buffer *part = &writing->pprof->part;
    struct dw_spelling spelling;
    dw_speller_spell(&writing->rows.speller, path, DW_SPELL_MAX, &spelling);
    dw_buffer_clear(part);
    for (uint32_t i = spelling.count; i-- > 0;) {
        uint32_t frame = profile->functions.paths[spelling.paths[i]].step;
        dw_buffer_put(part, location_of(writing, frame));
        if (spelling.cut && i == spelling.cut_at)
            dw_buffer_put(part, location_of(writing, profile->frames.count));
    }
    dw_buffer_put(part, location_of(writing, profile->functions.paths[DW_PATH_ROOT].step));
    dw_protobuf_put_bytes(&writing->pprof->message, DW_PPROF_SAMPLE_LOCATIONS, part->data,
                          part->size);
}

/* Nobody calls the root. */
static uint64_t calls_of(const struct dw_row *row)
{
    return row->path == DW_PATH_ROOT ? 0 : row->metric.count + row->metric.open;
}

static void put_paths(struct writing *writing)
{
    for (uint32_t i = 0; i < writing->rows.count && !writing->pprof->gzip.out->error; i++) {
        const struct dw_row *row = &writing->rows.rows[i];
        uint64_t values[] = {calls_of(row), row->self};
        if (row->parent == DW_ROW_NONE && row->thread != DW_ROW_NONE)
            dw_pprof_label_thread(writing->pprof, row->thread);
        if (!values[0] && !values[1])
            continue;
        put_stack(writing, row->path);
        dw_pprof_put_sample(writing->pprof, values, 2);
    }
}

static void put_function(struct writing *writing, uint32_t index)
{
    const struct dw_profile *profile = writing->profile;
    bool is_cut = index == profile->frames.count;
    const struct dw_frame *frame = &profile->frames.frames[is_cut ? 0 : index];
    uint64_t name = is_cut
                        ? dw_pprof_literal(writing->pprof, "[…]")
                        : dw_pprof_string(writing->pprof, dw_profile_string(profile, frame->name));
    uint64_t file =
        is_cut ? 0 : dw_pprof_string(writing->pprof, dw_profile_string(profile, frame->file));
    dw_pprof_put_function(writing->pprof, index + UINT64_C(1), name, file,
                          is_cut ? 0 : frame->line);
}

static void put_location(struct writing *writing, uint32_t index)
{
    const struct dw_profile *profile = writing->profile;
    bool is_cut = index == profile->frames.count;
    struct dw_buffer *message = &writing->pprof->message;
    dw_protobuf_put_number(message, DW_PPROF_LOCATION_ID, index + UINT64_C(1));
    dw_protobuf_put_number(message, DW_PPROF_LOCATION_MAPPING, THE_MAPPING);
    dw_pprof_add_line(writing->pprof, index + UINT64_C(1),
                      is_cut ? 0 : profile->frames.frames[index].line, 0);
    dw_pprof_put_message(writing->pprof, DW_PPROF_LOCATION);
}

static void put_places(struct writing *writing)
{
    for (uint32_t i = 0; i <= writing->profile->frames.count; i++) {
        if (!writing->used[i])
            continue;
        put_function(writing, i);
        put_location(writing, i);
    }
}

/* Says that there is nothing to be looked up in the program's file. */
static void put_mapping(struct writing *writing)
{
    struct dw_buffer *message = &writing->pprof->message;
    if (writing->profile->process_count)
        dw_roster_put_process(&writing->pprof->text, writing->profile, 0);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_ID, THE_MAPPING);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_FILE, dw_pprof_text(writing->pprof));
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_FUNCTIONS, true);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_FILES, true);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_LINES, true);
    dw_pprof_put_message(writing->pprof, DW_PPROF_MAPPING);
}

static int put_calls(struct dw_pprof *pprof, enum dw_family family)
{
    struct writing writing = {.pprof = pprof, .profile = pprof->profile};
    writing.used = calloc(pprof->profile->frames.count + 1u, sizeof *writing.used);
    struct dw_lens_options options = {.by = DW_BY_THREAD, .family = family};
    int error =
        writing.used ? dw_rows_make(pprof->profile, &options, &writing.rows) : DW_ERR_MEMORY;
    if (!error) {
        dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "calls", "count");
        dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "time", "nanoseconds");
        dw_pprof_put_type(pprof, DW_PPROF_PERIOD_TYPE, "time", "nanoseconds");
        dw_pprof_put_facts(pprof, "time", 1);
        put_mapping(&writing);
        put_paths(&writing);
        put_places(&writing);
    }
    free(writing.used);
    dw_rows_release(&writing.rows);
    return error;
}

static int write_pprof(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct dw_pprof pprof;
    int error = dw_pprof_init(&pprof, profile, out);
    if (error)
        return error;
    error = dw_shows_samples(profile, options->family) ? dw_pprof_put_samples(&pprof)
                                                       : put_calls(&pprof, options->family);
    int late = dw_pprof_close(&pprof);
    return error ? error : late;
}

const struct dw_lens dw_lens_pprof = {
    .name = "pprof",
    .summary = "samples with lines, or self times of paths, for pprof, Pyroscope, Parca",
    .extension = ".pb.gz",
    .binary = true,
    .shows_places = true,
    .write = write_pprof,
};
