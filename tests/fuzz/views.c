/* SPDX-License-Identifier: MIT */
#include "views.h"

#include "base/error.h"
#include "lens/diff/diff.h"
#include "lens/plot/chart.h"
#include "lens/plot/series_report.h"
#include "lens/table/view_report.h"
#include "lens/timing/timings.h"
#include "lens/view/function_list.h"
#include "lens/view/line_list.h"
#include "model/prepare/heap_paths.h"
#include "model/prepare/prepare.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define VIEWS 4

static int show(const struct dw_profile *profile, uint32_t which, uint32_t salt, struct dw_out *out)
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
    return dw_lens_at(which)->write(profile, &options, out);
}

static int show_samples(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                        struct dw_out *out)
{
    static const struct dw_lens *const lenses[] = {&dw_view_table, &dw_view_csv, &dw_view_json};
    struct dw_view_options view =
        dw_view_of_samples(dw_key_at(which)->name, (struct dw_restrictions){NULL, 0});
    view.full_paths = salt % 2;
    return lenses[(which + salt) % COUNT(lenses)]->write(
        profile, &(struct dw_lens_options){.view = &view}, out);
}

static int show_functions(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                          struct dw_out *out)
{
    static const struct dw_lens *const lenses[] = {&dw_function_table, &dw_function_csv,
                                                   &dw_function_json};
    struct dw_function_options functions = {
        .callers = which == 1, .callees = which == 2, .full_paths = salt % 2};
    return lenses[(which + salt) % COUNT(lenses)]->write(
        profile,
        &(struct dw_lens_options){.family = (enum dw_family)(salt / 2 % DW_FAMILIES),
                                  .functions = &functions},
        out);
}

static int show_view(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                     struct dw_out *out)
{
    static const struct dw_lens *const lenses[] = {&dw_view_table, &dw_view_csv, &dw_view_json};
    static const struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = 10};
    static const struct dw_view_options views[VIEWS] = {
        {.keys = {"function"}, .key_count = 1, .restrictions = {&first, 1}},
        {.keys = {"line", "thread"}, .key_count = 2, .by_total = true},
        {.keys = {"module", "region", "process"}, .key_count = 3},
        {.keys = {"region", "thread"}, .key_count = 2},
    };
    return lenses[salt % COUNT(lenses)]->write(
        profile, &(struct dw_lens_options){.view = &views[which], .width = salt % 200}, out);
}

static int show_timings(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                        struct dw_out *out)
{
    (void)which, (void)salt;
    return dw_timing_table.write(profile, &(struct dw_lens_options){0}, out);
}

static int show_series(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                       struct dw_out *out)
{
    static const struct dw_lens *const lenses[] = {&dw_series_table, &dw_series_csv,
                                                   &dw_series_json};
    (void)salt;
    return lenses[which]->write(profile, &(struct dw_lens_options){0}, out);
}

static int plot(const struct dw_profile *profile, uint32_t which, uint32_t salt, struct dw_out *out)
{
    struct dw_plot_options options = {.sum = salt % 2, .from_ns = salt % 3 ? 0 : salt};
    struct dw_chart chart;
    int error = dw_chart_init(&chart, profile, &options);
    if (error)
        return error == DW_ERR_NO_SAMPLES ? 0 : error;
    if (which)
        dw_plot_put_text(out, &chart, salt % 200);
    else
        dw_plot_put_svg(out, &chart, NULL);
    dw_chart_release(&chart);
    return 0;
}

static int compare(const struct dw_profile *old, const struct dw_profile *new, enum dw_diff_by by,
                   bool normalise, struct dw_out *out)
{
    static int (*const writers[])(const struct dw_diff *, struct dw_out *) = {
        dw_diff_write_table, dw_diff_write_json, dw_diff_write_flame};
    struct dw_diff_options options = {.by = by, .normalise = normalise, .files = {"old", "new"}};
    struct dw_diff diff;
    int error = dw_diff_make(old, new, &options, &diff);
    if (error)
        return error;
    size_t count =
        by == DW_DIFF_LINE ? COUNT(writers) - 1 : COUNT(writers); /* no flames of lines */
    for (size_t i = 0; i < count && !error; i++)
        error = writers[i](&diff, out);
    dw_diff_release(&diff);
    return error;
}

static int compare_with_itself(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                               struct dw_out *out)
{
    return compare(profile, profile, (enum dw_diff_by)which, salt % 2, out);
}

static int compare_with_nothing(const struct dw_profile *profile, uint32_t which, uint32_t salt,
                                struct dw_out *out)
{
    struct dw_profile *empty;
    int error = dw_profile_new(&empty);
    if (error)
        return error;
    error = dw_profile_prepare(empty, false);
    if (!error)
        error = compare(empty, profile, (enum dw_diff_by)which, salt % 2, out);
    if (!error)
        error = compare(profile, empty, (enum dw_diff_by)which, salt % 2, out);
    dw_profile_free(empty);
    return error;
}

static uint32_t lens_count(void)
{
    uint32_t count = 0;
    while (dw_lens_at(count))
        count++;
    return count;
}

static const struct kind {
    int (*run)(const struct dw_profile *profile, uint32_t which, uint32_t salt, struct dw_out *out);
    uint32_t count; /* of views; 0: one for each lens */
} kinds[] = {
    {show, 0},
    {show_samples, DW_KEY_MODULE + 1},
    {show_functions, 3},
    {show_view, VIEWS},
    {show_timings, 1},
    {show_series, 3},
    {plot, 2},
    {compare_with_itself, DW_DIFF_BYS},
    {compare_with_nothing, DW_DIFF_BYS},
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

int view_prepare(struct dw_profile *profile)
{
    int error = dw_profile_show_heaps(profile, DW_HEAP_LAST);
    return error ? error : dw_profile_prepare(profile, false);
}

int view_write(const struct dw_profile *profile, uint32_t view, uint32_t salt, struct dw_out *out)
{
    const struct kind *kind = kinds;
    for (; view >= count_of(kind); kind++)
        view -= count_of(kind);
    return kind->run(profile, view, salt, out);
}

void view_profile(const struct dw_profile *profile, uint32_t view, uint32_t salt)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    int error = view_write(profile, view, salt, &out);
    if (error && error != DW_ERR_NO_TIMELINE && error != DW_ERR_NO_LINES &&
        error != DW_ERR_MEMORY && error != DW_ERR_TOO_LARGE)
        abort();
    dw_out_close(&out);
}
