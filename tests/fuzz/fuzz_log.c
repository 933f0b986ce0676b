/* SPDX-License-Identifier: MIT
 * Any bytes as a log, through every lens and grouping, compared, and saved again. The
 * output must be whatever it likes, but nothing may crash, leak or hang. */
#include "fuzz_log.h"

#include "base/error.h"
#include "lens/diff.h"
#include "lens/line_list.h"
#include "lens/sample_list.h"
#include "lens/timings.h"
#include "log/reader.h"
#include "log/save.h"
#include "model/sample_fold.h"

#include <stdlib.h>

/* Each lens in one grouping: inputs differ in which. */
static void show(const struct dw_profile *profile, size_t salt)
{
    static const char *const columns[] = {"indented_name", "path", "thread",
                                          "process",       "p99",  "parent_name"};
    static const struct dw_line_options lines = {.unit_s = 1e-9,
                                                 .strip_zeros = true,
                                                 .details = true,
                                                 .summarize = true,
                                                 .sort = true,
                                                 .callees = true};
    const struct dw_lens *lens;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++) {
        enum dw_by by = (enum dw_by)((i + salt) % (DW_BY_NAME + 1));
        struct dw_lens_options options = {.by = by,
                                          .columns = by % 2 ? columns : NULL,
                                          .column_count = 6,
                                          .sort = "self",
                                          .with_lines = by % 2,
                                          .lines = by % 2 ? &lines : NULL};
        struct dw_out out;
        dw_out_init_memory(&out);
        int error = lens->write(profile, &options, &out);
        if (error && error != DW_ERR_NO_TIMELINE && error != DW_ERR_NO_LINES &&
            error != DW_ERR_MEMORY && error != DW_ERR_TOO_LARGE)
            abort();
        dw_out_close(&out);
    }
}

static void show_samples(const struct dw_profile *profile)
{
    static const struct dw_lens *const lenses[] = {&dw_sample_table, &dw_sample_csv,
                                                   &dw_sample_json};
    for (enum dw_spot by = DW_SPOT_FUNCTION; by <= DW_SPOT_MODULE; by++) {
        struct dw_sample_options samples = {.by = by, .full_paths = by % 2};
        struct dw_out out;
        dw_out_init_memory(&out);
        int error =
            lenses[by % 3]->write(profile, &(struct dw_lens_options){.samples = &samples}, &out);
        if (error && error != DW_ERR_MEMORY && error != DW_ERR_TOO_LARGE)
            abort();
        dw_out_close(&out);
    }
}

static void show_timings(const struct dw_profile *profile)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    int error = dw_timing_table.write(profile, &(struct dw_lens_options){0}, &out);
    if (error && error != DW_ERR_MEMORY)
        abort();
    dw_out_close(&out);
}

static void compare(const struct dw_profile *old, const struct dw_profile *new)
{
    static int (*const writers[])(const struct dw_diff *, struct dw_out *) = {
        dw_diff_write_table, dw_diff_write_json, dw_diff_write_flame};
    for (enum dw_diff_by by = 0; by < DW_DIFF_BYS; by++) {
        struct dw_diff_options options = {.by = by, .files = {"old", "new"}};
        struct dw_diff diff;
        if (dw_diff_make(old, new, &options, &diff))
            continue;
        for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
            struct dw_out out;
            dw_out_init_memory(&out);
            writers[i](&diff, &out);
            dw_out_close(&out);
        }
        dw_diff_release(&diff);
    }
}

static void compare_with_others(const struct dw_profile *profile)
{
    struct dw_profile *empty;
    compare(profile, profile);
    if (dw_profile_new(&empty))
        return;
    compare(empty, profile);
    compare(profile, empty);
    dw_profile_free(empty);
}

static void save(const struct dw_profile *profile)
{
    struct dw_log_writer writer;
    struct dw_profile *again;
    if (!dw_log_writer_init(&writer, -1) && !dw_log_save(profile, &writer) &&
        !dw_profile_new(&again)) {
        int error = dw_log_read(writer.memory.data, writer.memory.size, DW_READ_EVENTS, again);
        if (error && error != DW_ERR_TOO_LARGE && error != DW_ERR_MEMORY && profile->process_count)
            abort();
        dw_profile_free(again);
    }
    dw_log_writer_release(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct dw_profile *profile;
    if (dw_profile_new(&profile))
        return 0;
    dw_log_read(bytes, size, DW_READ_EVENTS, profile);
    save(profile);
    if (!dw_samples_fold(profile)) {
        show(profile, size);
        show_samples(profile);
    }
    show_timings(profile);
    compare_with_others(profile);
    dw_profile_free(profile);
    return 0;
}
