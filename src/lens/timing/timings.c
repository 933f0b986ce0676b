/* SPDX-License-Identifier: MIT
 * The first timing is what the others are compared with. Letters stand for them
 * in sentences, because a name may be a whole statement. */
#include "lens/timing/timings.h"

#include "base/comparison.h"
#include "base/error.h"
#include "lens/timing/timing_text.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

#include <math.h>
#include <stdlib.h>

#define CONFIDENCE 0.95
#define NAME_WIDTH_MAX 60
#define LETTERS_SIZE 16

/* A timing with what is computed from it. */
struct view {
    const struct dw_timing *timing;
    double *values_ns;
    struct dw_summary summary;
    struct dw_timing_facts facts;
    char letters[LETTERS_SIZE];
};

static void name_by_letters(uint32_t index, char letters[LETTERS_SIZE])
{
    char reversed[LETTERS_SIZE];
    size_t count = 0;
    for (uint64_t rest = index + 1ull; rest; rest = (rest - 1) / 26)
        reversed[count++] = (char)('A' + (rest - 1) % 26);
    for (size_t i = 0; i < count; i++)
        letters[i] = reversed[count - 1 - i];
    letters[count] = 0;
}

static size_t group_of(const struct dw_profile *profile, const struct dw_timing *timing)
{
    struct dw_string text = dw_profile_timing_property(profile, timing, "group");
    unsigned long group = strtoul(text.bytes, NULL, 10);
    return group <= timing->run_count ? group : 0;
}

static void release_views(struct view *views, uint32_t count)
{
    for (uint32_t i = 0; views && i < count; i++)
        free(views[i].values_ns);
    free(views);
}

static int make_view(const struct dw_profile *profile, uint32_t index, struct view *view)
{
    const struct dw_timing *timing = &profile->timings[index];
    view->timing = timing;
    view->facts = (struct dw_timing_facts){.runs = timing->run_count,
                                           .loops = (double)timing->loops,
                                           .group = group_of(profile, timing),
                                           .confidence = CONFIDENCE};
    name_by_letters(index, view->letters);
    int error = dw_timing_values(timing, &view->values_ns);
    return error ? error : dw_timing_summarize(view->values_ns, &view->facts, &view->summary);
}

static int make_views(const struct dw_profile *profile, struct view **result)
{
    struct view *views = calloc(profile->timing_count + 1u, sizeof *views);
    int error = views ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 0; i < profile->timing_count && !error; i++)
        error = make_view(profile, i, &views[i]);
    if (error)
        release_views(views, profile->timing_count);
    else
        *result = views;
    return error;
}

/* Runs of the same number were made side by side when both are of one session. */
static bool are_paired(const struct dw_profile *profile, const struct view *a, const struct view *b)
{
    struct dw_string session = dw_profile_timing_property(profile, a->timing, "session");
    struct dw_string other = dw_profile_timing_property(profile, b->timing, "session");
    return session.size && !strcmp(session.bytes, other.bytes) && a->facts.runs == b->facts.runs &&
           a->facts.group == b->facts.group;
}

static int compare(const struct dw_profile *profile, const struct view *a, const struct view *b,
                   struct dw_comparison *comparison)
{
    struct dw_runs of_a = {a->values_ns, a->facts.runs, a->facts.group};
    struct dw_runs of_b = {b->values_ns, b->facts.runs, b->facts.group};
    return dw_comparison_make(&of_a, &of_b, are_paired(profile, a, b), CONFIDENCE, comparison);
}

static struct dw_string name_of(const struct dw_profile *profile, const struct view *view)
{
    return dw_profile_string(profile, view->timing->name);
}

static size_t name_width(const struct dw_profile *profile, const struct view *views)
{
    size_t widest = 4;
    for (uint32_t i = 0; i < profile->timing_count; i++) {
        struct dw_string name = name_of(profile, &views[i]);
        size_t width = dw_text_width(name.bytes, name.size);
        widest = width > widest ? width : widest;
    }
    return widest < NAME_WIDTH_MAX ? widest : NAME_WIDTH_MAX;
}

static void put_time(struct dw_out *out, struct dw_out *cell, double ns, size_t width)
{
    dw_buffer_clear(&cell->buffer);
    dw_timing_put_time(cell, ns, 3);
    size_t used = dw_text_width(cell->buffer.data, cell->buffer.size);
    dw_out_repeat(out, ' ', used < width ? width - used : 0);
    dw_out_write(out, cell->buffer.data, cell->buffer.size);
}

static void put_row(struct dw_out *out, struct dw_out *cell, const struct dw_profile *profile,
                    const struct view *view, size_t width)
{
    struct dw_string name = name_of(profile, view);
    size_t used = dw_text_width(name.bytes, name.size);
    dw_out_printf(out, "%-2s ", view->letters);
    dw_out_printable(out, name.bytes, name.size);
    dw_out_repeat(out, ' ', used < width ? width - used : 0);
    const struct dw_summary *summary = &view->summary;
    put_time(out, cell, summary->median, 10);
    if (summary->interval_confidence > 0) {
        put_time(out, cell, summary->median_interval.low, 10);
        put_time(out, cell, summary->median_interval.high, 10);
    } else {
        dw_out_printf(out, "%10s%10s", "-", "-");
    }
    put_time(out, cell, summary->mean, 10);
    put_time(out, cell, summary->stdev, 10);
    dw_out_printf(out, "%6zu%10.0f\n", view->facts.runs, view->facts.loops);
}

/* What all intervals have; few runs have less than what was asked for, and one has none. */
static double least_confidence(const struct dw_profile *profile, const struct view *views)
{
    double least = CONFIDENCE;
    for (uint32_t i = 0; i < profile->timing_count; i++)
        if (views[i].summary.interval_confidence > 0)
            least = fmin(least, views[i].summary.interval_confidence);
    return least;
}

static void put_rows(struct dw_out *out, const struct dw_profile *profile, const struct view *views)
{
    struct dw_out cell;
    size_t width = name_width(profile, views);
    dw_out_init_memory(&cell);
    dw_out_printf(out, "   %-*s%10s%10s%10s%10s%10s%6s%10s\n", (int)width, "name", "median", "from",
                  "to", "mean", "stdev", "runs", "loops");
    for (uint32_t i = 0; i < profile->timing_count && !out->error; i++)
        put_row(out, &cell, profile, &views[i], width);
    dw_out_printf(out, "from, to: the confidence interval of the median, of at least %.3g %%\n",
                  least_confidence(profile, views) * 100);
    dw_out_close_into(&cell, out);
}

static int put_comparisons(struct dw_out *out, const struct dw_profile *profile,
                           const struct view *views)
{
    for (uint32_t i = 1; i < profile->timing_count; i++) {
        struct dw_comparison comparison;
        int error = compare(profile, &views[0], &views[i], &comparison);
        if (error)
            return error;
        dw_comparison_put(out, &comparison, views[0].letters, views[i].letters);
        dw_out_char(out, '\n');
    }
    return 0;
}

/* The sentences, each after the letters of the timing. */
static void put_warnings(struct dw_out *out, const struct view *view)
{
    struct dw_out lines;
    dw_out_init_memory(&lines);
    dw_timing_put_warnings(&lines, &view->summary, &view->facts);
    const char *at = (const char *)lines.buffer.data, *end = at + lines.buffer.size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        dw_out_printf(out, "%s: %.*s\n", view->letters, (int)(line_end - at), at);
        at = line_end + 1;
    }
    dw_out_close_into(&lines, out);
}

static int write_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct view *views;
    (void)options;
    int error = make_views(profile, &views);
    if (error)
        return error;
    put_rows(out, profile, views);
    error = put_comparisons(out, profile, views);
    for (uint32_t i = 0; i < profile->timing_count; i++)
        put_warnings(out, &views[i]);
    dw_notes_put_losses(out, profile, "");
    release_views(views, profile->timing_count);
    return error;
}

bool dw_timings_are_all(const struct dw_profile *profile)
{
    return profile->timing_count && !profile->thread_count && !profile->lines.count;
}

static void put_json_timing(struct dw_out *out, const struct dw_profile *profile,
                            const struct view *view)
{
    const struct dw_timing *timing = view->timing;
    const struct dw_summary *summary = &view->summary;
    struct dw_string name = name_of(profile, view);
    dw_out_text(out, "{\"name\": ");
    dw_out_json_string(out, name.bytes, name.size);
    dw_out_printf(out, ", \"loops\": %.0f", view->facts.loops);
    dw_out_printf(out,
                  ", \"median_ns\": %.9g, \"median_low_ns\": %.9g, \"median_high_ns\": %.9g, "
                  "\"median_confidence\": %.6g, \"mean_ns\": %.9g, \"stdev_ns\": %.9g, \"mad_ns\": "
                  "%.9g, \"outliers\": %zu",
                  summary->median, summary->median_interval.low, summary->median_interval.high,
                  summary->interval_confidence, summary->mean, summary->stdev, summary->mad,
                  summary->outliers);
    dw_out_text(out, ", \"properties\": ");
    dw_roster_put_properties(out, profile, timing->properties, timing->property_count);
    dw_out_text(out, ", \"runs_ns\": [");
    for (uint32_t i = 0; i < timing->run_count; i++) {
        dw_out_text(out, i ? ", " : "");
        dw_out_u64(out, timing->runs_ns[i]);
    }
    dw_out_text(out, "]}");
}

/* JSON has no infinity: an end that is not known is null. */
static void put_json_end(struct dw_out *out, const char *key, double value)
{
    if (value > 0 && isfinite(value))
        dw_out_printf(out, ", \"%s\": %.9g", key, value);
    else
        dw_out_printf(out, ", \"%s\": null", key);
}

static int put_json_comparison(struct dw_out *out, const struct dw_profile *profile,
                               const struct view *views, uint32_t index)
{
    struct dw_comparison comparison;
    int error = compare(profile, &views[0], &views[index], &comparison);
    if (error)
        return error;
    dw_out_printf(out, "{\"first\": 0, \"second\": %u, \"paired\": %s", index,
                  comparison.is_paired ? "true" : "false");
    put_json_end(out, "ratio", comparison.ratio);
    put_json_end(out, "ratio_low", comparison.interval.low);
    put_json_end(out, "ratio_high", comparison.interval.high);
    dw_out_printf(out,
                  ", \"confidence\": %g, \"p\": %.6g, \"mann_whitney_p\": %.6g, "
                  "\"cliffs_delta\": %.6g, \"verdict\": \"",
                  comparison.confidence, comparison.p, comparison.mann_whitney_p, comparison.delta);
    dw_comparison_put(out, &comparison, views[0].letters, views[index].letters);
    dw_out_text(out, "\"}");
    return 0;
}

int dw_timings_put_json(struct dw_out *out, const struct dw_profile *profile)
{
    struct view *views;
    int error = make_views(profile, &views);
    if (error)
        return error;
    dw_out_text(out, ",\n  \"timings\": [");
    for (uint32_t i = 0; i < profile->timing_count; i++) {
        dw_out_text(out, i ? ",\n    " : "\n    ");
        put_json_timing(out, profile, &views[i]);
    }
    dw_out_text(out, "],\n  \"comparisons\": [");
    for (uint32_t i = 1; i < profile->timing_count && !error; i++) {
        dw_out_text(out, i > 1 ? ",\n    " : "\n    ");
        error = put_json_comparison(out, profile, views, i);
    }
    dw_out_text(out, "]");
    release_views(views, profile->timing_count);
    return error;
}

const struct dw_lens dw_timing_table = {.name = "table", .write = write_table};
