/* SPDX-License-Identifier: MIT */
#include "views.h"

#include "base/error.h"
#include "lens/diff/diff.h"
#include "lens/timing/timings.h"
#include "lens/view/function_list.h"
#include "lens/view/line_list.h"
#include "lens/view/sample_list.h"
#include "model/prepare.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void write_with(const struct dw_lens *lens, const struct dw_profile *profile,
                       const struct dw_lens_options *options)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    int error = lens->write(profile, options, &out);
    if (error && error != DW_ERR_NO_TIMELINE && error != DW_ERR_NO_LINES &&
        error != DW_ERR_MEMORY && error != DW_ERR_TOO_LARGE)
        abort();
    dw_out_close(&out);
}

static void show(const struct dw_profile *profile, uint32_t which, uint32_t salt)
{
    static const char *const columns[] = {"indented_name", "path", "thread",
                                          "process",       "p99",  "parent_name"};
    static const struct dw_line_options lines = {.unit_s = 1e-9,
                                                 .strip_zeros = true,
                                                 .details = true,
                                                 .summarize = true,
                                                 .sort = true,
                                                 .callees = true};
    enum dw_by by = (enum dw_by)((which + salt) % (DW_BY_NAME + 1));
    struct dw_lens_options options = {.family = (enum dw_family)(salt % DW_FAMILIES),
                                      .by = by,
                                      .columns = by % 2 ? columns : NULL,
                                      .column_count = COUNT(columns),
                                      .sort = "self",
                                      .with_lines = by % 2,
                                      .lines = by % 2 ? &lines : NULL};
    write_with(dw_lens_at(which), profile, &options);
}

static void show_samples(const struct dw_profile *profile, uint32_t which, uint32_t salt)
{
    static const struct dw_lens *const lenses[] = {&dw_sample_table, &dw_sample_csv,
                                                   &dw_sample_json};
    struct dw_sample_options samples = {.by = (enum dw_spot)which, .full_paths = salt % 2};
    write_with(lenses[(which + salt) % COUNT(lenses)], profile,
               &(struct dw_lens_options){.samples = &samples});
}

static void show_functions(const struct dw_profile *profile, uint32_t which, uint32_t salt)
{
    static const struct dw_lens *const lenses[] = {&dw_function_table, &dw_function_csv,
                                                   &dw_function_json};
    struct dw_function_options functions = {
        .callers = which == 1, .callees = which == 2, .full_paths = salt % 2};
    write_with(lenses[(which + salt) % COUNT(lenses)], profile,
               &(struct dw_lens_options){.family = (enum dw_family)(salt / 2 % DW_FAMILIES),
                                         .functions = &functions});
}

static void show_timings(const struct dw_profile *profile, uint32_t which, uint32_t salt)
{
    (void)which, (void)salt;
    write_with(&dw_timing_table, profile, &(struct dw_lens_options){0});
}

static void compare(const struct dw_profile *old, const struct dw_profile *new, enum dw_diff_by by,
                    bool normalise)
{
    static int (*const writers[])(const struct dw_diff *, struct dw_out *) = {
        dw_diff_write_table, dw_diff_write_json, dw_diff_write_flame};
    struct dw_diff_options options = {.by = by, .normalise = normalise, .files = {"old", "new"}};
    struct dw_diff diff;
    if (dw_diff_make(old, new, &options, &diff))
        return;
    for (size_t i = 0; i < COUNT(writers); i++) {
        struct dw_out out;
        dw_out_init_memory(&out);
        writers[i](&diff, &out);
        dw_out_close(&out);
    }
    dw_diff_release(&diff);
}

static void compare_with_itself(const struct dw_profile *profile, uint32_t which, uint32_t salt)
{
    compare(profile, profile, (enum dw_diff_by)which, salt % 2);
}

static void compare_with_nothing(const struct dw_profile *profile, uint32_t which, uint32_t salt)
{
    struct dw_profile *empty;
    if (dw_profile_new(&empty))
        return;
    if (!dw_profile_prepare(empty, false)) {
        compare(empty, profile, (enum dw_diff_by)which, salt % 2);
        compare(profile, empty, (enum dw_diff_by)which, salt % 2);
    }
    dw_profile_free(empty);
}

static uint32_t lens_count(void)
{
    uint32_t count = 0;
    while (dw_lens_at(count))
        count++;
    return count;
}

static const struct kind {
    void (*run)(const struct dw_profile *profile, uint32_t which, uint32_t salt);
    uint32_t count; /* of views; 0: one for each lens */
} kinds[] = {
    {show, 0},         {show_samples, DW_SPOT_MODULE + 1}, {show_functions, 3},
    {show_timings, 1}, {compare_with_itself, DW_DIFF_BYS}, {compare_with_nothing, DW_DIFF_BYS},
};

static uint32_t count_of(const struct kind *kind)
{
    return kind->count ? kind->count : lens_count();
}

uint32_t view_count(void)
{
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT(kinds); i++)
        count += count_of(&kinds[i]);
    return count;
}

void view_profile(const struct dw_profile *profile, uint32_t view, uint32_t salt)
{
    const struct kind *kind = kinds;
    for (; view >= count_of(kind); kind++)
        view -= count_of(kind);
    kind->run(profile, view, salt);
}
