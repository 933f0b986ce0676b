/* SPDX-License-Identifier: MIT
 * `dwell diff`: two recordings compared. As with diff(1), status 1 is a verdict (here
 * only when --fail-if asks for one) and 2 is trouble of any kind. */
#include "cli/cli.h"

#include "lens/diff/diff.h"
#include "lens/timing/timings.h"
#include "lens/view/functions.h"
#include "lens/view/stack_tree.h"
#include "model/prepare/shown_measure.h"

#include <stdlib.h>
#include <unistd.h>

#define CERTAIN 4 /* standard deviations: one in thirty thousand is beyond by chance */

static const char help[] =
    "usage: dwell diff OLD NEW [options]\n"
    "\n"
    "Says in one sentence why NEW takes another time than OLD, or other memory, and lists what "
    "got\n"
    "slower or faster, is new or gone, ranked by how much of the change is its own.\n"
    "\n"
    "  --by WHAT        function, line, path or region; what is recorded decides otherwise\n"
    "  --measure M      compare memory: peak_bytes (the default when there is nothing but "
    "memory),\n"
    "                   live_bytes (what is left) or alloc_bytes (all that was allocated)\n"
    "  --sort COLUMN    change (the default), ratio, old or new\n"
    "  --limit N        the first N rows only (20 in the table; 0: all)\n"
    "  --threshold P%   less than this share of the total is not a change (1%)\n"
    "  --normalise      compare shares of the totals, when the runs did different amounts of work\n"
    "  --format FORMAT  table (the default), json or svg: a differential flame graph\n"
    "  --width SIDE     which recording gives the flame graph its widths: new (the default) or "
    "old\n"
    "  -o, --output OUT where to; OUT.svg and OUT.json choose the format too\n"
    "  --fail-if 'slower P%'   exit status 1 if the total got slower by more; also 'slower 20ms'\n"
    "  --fail-if 'larger P%'   the same of memory; also 'larger 10MB'\n"
    "  --of NAME        let --fail-if look at this function or region instead of the total; with\n"
    "                   --normalise, at its share, and there must be one\n"
    "\n"
    "Exit status: 0, 1 when --fail-if says so, 2 for trouble.\n"
    "\n"
    "examples:\n"
    "  dwell diff before.dwell after.dwell\n"
    "  dwell diff before.dwell after.dwell -o diff.svg       open it in a browser\n"
    "  dwell diff before.dwell after.dwell --by path --limit 5\n"
    "  dwell diff main.dwell branch.dwell --fail-if 'slower 5%' --of parse\n"
    "  dwell diff main.dwell branch.dwell --measure live_bytes --fail-if 'larger 1MB'\n";

/* What --fail-if allows: a share of the old time or memory, or an absolute number. */
struct allowance {
    const char *text; /* NULL: anything */
    bool is_of_bytes;
    double share, more;
};

struct request {
    const char *by, *measure, *sort, *limit, *threshold, *format, *width, *output, *fail_if, *of;
    struct dw_diff_options options;
    struct allowance allowance;
    int (*write)(const struct dw_diff *diff, struct dw_out *out);
};

static int parse_limit(const char *text, uint32_t *limit)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > UINT32_MAX)
        return dw_cli_usage("--limit needs a number, not '%s'", text);
    *limit = (uint32_t)value;
    return 0;
}

/* "slower 5%", "slower 20 ms", "larger 10 MB". */
static int parse_allowance(const char *text, struct allowance *allowance)
{
    static const struct dw_unit_word percent[] = {{"%", 0.01}, {NULL, 0}};
    static const struct dw_unit_word times[] = {
        {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {NULL, 0}};
    *allowance = (struct allowance){.text = text, .is_of_bytes = !strncmp(text, "larger ", 7)};
    if (allowance->is_of_bytes || !strncmp(text, "slower ", 7)) {
        const char *by = text + 7;
        if (dw_cli_parse_amount(by, percent, strcmp, &allowance->share))
            return 0;
        allowance->share = 0;
        if (allowance->is_of_bytes ? dw_cli_parse_bytes(by, &allowance->more)
                                   : dw_cli_parse_amount(by, times, strcmp, &allowance->more))
            return 0;
    }
    return dw_cli_usage("--fail-if needs something like 'slower 5%%', 'slower 20ms', 'larger 5%%' "
                        "or 'larger 10MB', not '%s'",
                        text);
}

static const char *format_of(const struct request *request)
{
    const char *output = request->output ? request->output : "";
    return request->format                      ? request->format
           : dw_file_ends_with(output, ".svg")  ? "svg"
           : dw_file_ends_with(output, ".json") ? "json"
                                                : "table";
}

/* Refuses a file name that promises a format which diff does not write. */
static int check_output(const struct request *request)
{
    const struct dw_lens *lens = request->output ? dw_lens_of_file(request->output) : NULL;
    if (!lens || request->format || !strcmp(lens->name, "svg") || !strcmp(lens->name, "json") ||
        dw_file_ends_with(request->output, ".json"))
        return 0;
    return dw_cli_usage("%s: diff makes no %s file; -o NAME.svg makes a flame graph for the "
                        "browser, -o NAME.json data, and any other name a table",
                        request->output, lens->name);
}

static int parse_format(struct request *request)
{
    static const char *const formats[] = {"table", "json", "svg", NULL};
    if (check_output(request))
        return DW_EXIT_USAGE;
    int format = dw_cli_find_word("no format", format_of(request), formats);
    request->write = format == 0   ? dw_diff_write_table
                     : format == 1 ? dw_diff_write_json
                                   : dw_diff_write_flame;
    if (!format) { /* data formats show everything unless told otherwise */
        request->options.limit = 20;
        request->options.only_above = true;
    }
    return format < 0 ? DW_EXIT_USAGE : 0;
}

static int parse_words(struct request *request)
{
    static const char *const sorts[] = {"change", "ratio", "old", "new", NULL};
    static const char *const sides[] = {"old", "new", NULL};
    struct dw_diff_options *options = &request->options;
    int sort = request->sort ? dw_cli_find_word("no column", request->sort, sorts) : DW_DIFF_CHANGE;
    int width = request->width ? dw_cli_find_word("no width", request->width, sides) : DW_NEW;
    if (sort < 0 || width < 0)
        return DW_EXIT_USAGE;
    options->sort = (enum dw_diff_sort)sort;
    options->width = (enum dw_side)width;
    options->threshold = 0.01;
    options->only_above = options->only_above || request->threshold;
    int status = request->limit ? parse_limit(request->limit, &options->limit) : 0;
    if (!status && request->threshold)
        status = dw_cli_parse_threshold(request->threshold, &options->threshold);
    if (!status && request->fail_if)
        status = parse_allowance(request->fail_if, &request->allowance);
    if (!status && request->of && !request->fail_if)
        status = dw_cli_usage("--of goes with --fail-if");
    if (!status && options->normalise && request->fail_if && !request->of)
        status = dw_cli_usage("--normalise makes the totals equal: say with --of NAME whose share "
                              "--fail-if looks at");
    return status;
}

static const char *samples_of(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (profile->processes[i].is_sampled &&
            profile->processes[i].sampling.mode == DW_SAMPLE_WALL)
            return "samples of wall time";
    return "samples of CPU time";
}

static const char *contents_of(const struct dw_profile *profile)
{
    return dw_profile_shown_unit(profile) == DW_UNIT_BYTES ? "memory"
           : dw_family_is_in(profile, DW_FAMILY_SAMPLES)   ? samples_of(profile)
           : dw_functions_are_in(profile)                  ? "calls"
           : dw_diff_has(profile, DW_DIFF_LINE)            ? "lines"
           : dw_diff_has(profile, DW_DIFF_PATH)            ? "regions"
           : dw_timings_are_all(profile)                   ? "timings"
                                                           : "nothing";
}

/* The part that both hold, if they are of one kind: times that include the cost of measuring every
 * call or line cannot be compared with others. */
static int choose_by(const struct dw_profile *const profiles[DW_SIDES], char **files,
                     enum dw_diff_by *by)
{
    const char *old = contents_of(profiles[DW_OLD]), *new = contents_of(profiles[DW_NEW]);
    if (strcmp(old, new) != 0)
        return dw_cli_usage("%s holds %s and %s holds %s: record both in the same way, or say with "
                            "--by what to compare",
                            files[DW_OLD], old, files[DW_NEW], new);
    if (!strcmp(old, "timings"))
        return dw_cli_usage("%s and %s hold timings; 'dwell report OLD NEW' compares them",
                            files[DW_OLD], files[DW_NEW]);
    if (!strcmp(old, "nothing"))
        return dw_cli_usage("%s and %s hold nothing to compare", files[DW_OLD], files[DW_NEW]);
    *by = !strcmp(old, "lines")     ? DW_DIFF_LINE
          : !strcmp(old, "regions") ? DW_DIFF_REGION
                                    : DW_DIFF_FUNCTION;
    return 0;
}

static int check_by(const struct dw_profile *const profiles[DW_SIDES], char **files,
                    const char *word, enum dw_diff_by *by)
{
    static const char *const kinds[] = {"samples, calls or regions", "samples or lines",
                                        "samples, calls or regions", "regions"};
    int found = dw_cli_find_word("no grouping", word, dw_diff_by_names);
    if (found < 0)
        return DW_EXIT_USAGE;
    *by = (enum dw_diff_by)found;
    if (*by == DW_DIFF_REGION && dw_profile_shown_unit(profiles[DW_OLD]) == DW_UNIT_BYTES)
        return dw_cli_usage("--by region compares times; memory is compared by function, line or "
                            "path");
    for (enum dw_side side = 0; side < DW_SIDES; side++)
        if (!dw_diff_has(profiles[side], *by))
            return dw_cli_usage("--by %s needs %s, and %s holds none", word, kinds[*by],
                                files[side]);
    bool calls[DW_SIDES] = {dw_functions_are_in(profiles[DW_OLD]),
                            dw_functions_are_in(profiles[DW_NEW])};
    const char *old = contents_of(profiles[DW_OLD]), *new = contents_of(profiles[DW_NEW]);
    bool any_samples = dw_family_is_in(profiles[DW_OLD], DW_FAMILY_SAMPLES) ||
                       dw_family_is_in(profiles[DW_NEW], DW_FAMILY_SAMPLES);
    if (*by != DW_DIFF_REGION && any_samples && strcmp(old, new) != 0)
        return dw_cli_usage("%s holds %s and %s holds %s: record both in the same way",
                            files[DW_OLD], old, files[DW_NEW], new);
    if ((*by == DW_DIFF_FUNCTION || *by == DW_DIFF_PATH) && calls[DW_OLD] != calls[DW_NEW])
        return dw_cli_usage("%s holds calls and %s holds none: record both in the same way",
                            files[calls[DW_NEW]], files[calls[DW_OLD]]);
    return 0;
}

struct writing {
    const struct dw_diff *diff;
    const struct request *request;
};

static int write_diff(const void *context, struct dw_out *out)
{
    const struct writing *writing = context;
    return writing->request->write(writing->diff, out);
}

/* When the result goes to a file, the sentence still goes to the terminal. */
static void say_sentence(const struct dw_diff *diff)
{
    struct dw_out out;
    dw_out_init_fd(&out, STDOUT_FILENO);
    dw_diff_put_sentence(&out, diff);
    dw_out_char(&out, '\n');
    (void)dw_out_close(&out);
}

static void say_more(const struct dw_diff *diff, const struct request *request,
                     const double amounts[DW_SIDES], bool is_allowed)
{
    double unit = diff->are_bytes ? 1 << 20 : 1e9;
    const char *name = diff->are_bytes ? "MiB" : "s", *of = request->of ? request->of : "the total";
    const char *verdict = is_allowed ? "samples of allocations may differ as much by chance; "
                                       "--memory=exact counts each. It is more than"
                                     : "more than";
    if (amounts[DW_OLD] > 0)
        dw_cli_usage("%s is %.1f %% %s (%.6g %s, was %.6g %s): %s '%s' allows", of,
                     100 * (amounts[DW_NEW] / amounts[DW_OLD] - 1), dw_diff_word(diff, true),
                     amounts[DW_NEW] / unit, name, amounts[DW_OLD] / unit, name, verdict,
                     request->allowance.text);
    else
        dw_cli_usage("%s is new (%.6g %s): %s '%s' allows", of, amounts[DW_NEW] / unit, name,
                     verdict, request->allowance.text);
}

static int judge(const struct dw_diff *diff, const struct request *request)
{
    const struct allowance *allowance = &request->allowance;
    double amounts[DW_SIDES] = {(double)diff->totals[DW_OLD] * diff->scale,
                                (double)diff->totals[DW_NEW]};
    if (!allowance->text)
        return 0;
    if (request->of && !dw_diff_times_of(diff, request->of, amounts))
        return dw_cli_usage("nothing is called '%s' in either recording", request->of);
    double more = amounts[DW_NEW] - amounts[DW_OLD];
    double allowed = allowance->share * amounts[DW_OLD] + allowance->more;
    if (more <= allowed)
        return 0;
    bool is_chance =
        more <= allowed + CERTAIN * dw_diff_doubt(diff, amounts[DW_OLD], amounts[DW_NEW]);
    say_more(diff, request, amounts, is_chance);
    return is_chance ? 0 : DW_EXIT_TROUBLE;
}

static int show(const struct dw_profile *const profiles[DW_SIDES], char **files,
                struct request *request)
{
    struct dw_diff diff;
    enum dw_diff_by by = DW_DIFF_FUNCTION;
    int status =
        request->by ? check_by(profiles, files, request->by, &by) : choose_by(profiles, files, &by);
    if (status)
        return status;
    if (by == DW_DIFF_LINE && request->write == dw_diff_write_flame)
        return dw_cli_usage("a flame graph needs samples, calls or regions: lines have no paths");
    request->options.by = by;
    int error = dw_diff_make(profiles[DW_OLD], profiles[DW_NEW], &request->options, &diff);
    if (error) {
        dw_cli_error(files[DW_NEW], error);
        return DW_EXIT_USAGE;
    }
    const struct writing writing = {&diff, request};
    status = dw_cli_write_with(write_diff, &writing, files[DW_NEW], request->output)
                 ? DW_EXIT_USAGE
                 : judge(&diff, request);
    if (request->output && status != DW_EXIT_USAGE)
        say_sentence(&diff);
    dw_diff_release(&diff);
    return status;
}

/* Whether both have snapshots of the heap, and these are asked for or all that there is. Types are
 * to the diff what functions are. */
static bool is_of_heap(struct dw_profile *const profiles[DW_SIDES], struct request *request)
{
    bool is_asked = request->by && !strcmp(request->by, "type");
    bool is_all = !request->measure, is_in = true;
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        is_in &= dw_family_is_in(profiles[side], DW_FAMILY_HEAP);
        is_all &= dw_family_choose(profiles[side], DW_FAMILY_ANY) == DW_FAMILY_HEAP;
    }
    bool is_measure = request->measure && !strncmp(request->measure, "object", strlen("object"));
    if (is_in && is_asked)
        request->by = "function";
    return is_in && (is_asked || is_all || is_measure);
}

/* DW_MEASURES: times are compared. */
static int choose_measure(struct dw_profile *const profiles[DW_SIDES], char **files,
                          struct request *request, enum dw_measure *measure)
{
    static const char *const names[] = {"peak_bytes",   "live_bytes", "alloc_bytes",
                                        "object_bytes", "objects",    NULL};
    bool has_memory = true, has_else = false;
    if (request->measure &&
        dw_cli_find_word("no memory is measured by", request->measure, names) < 0)
        return DW_EXIT_USAGE;
    if (is_of_heap(profiles, request)) {
        *measure = request->measure ? dw_measure_find(request->measure) : DW_OBJECT_BYTES;
        return 0;
    }
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        has_memory &= dw_family_is_in(profiles[side], DW_FAMILY_MEMORY);
        has_else |= dw_family_choose(profiles[side], DW_FAMILY_ANY) != DW_FAMILY_MEMORY ||
                    dw_profile_measures(profiles[side]) & DW_MASK(DW_HITS);
    }
    bool is_of_regions = request->by && !strcmp(request->by, "region");
    bool is_asked = request->measure || request->allowance.is_of_bytes;
    if (is_asked && !has_memory)
        return dw_cli_usage("%s and %s do not both hold memory; 'dwell run --memory' records it",
                            files[DW_OLD], files[DW_NEW]);
    bool is_memory = has_memory && (is_asked || (!has_else && !is_of_regions));
    *measure = !is_memory         ? DW_MEASURES
               : request->measure ? dw_measure_find(request->measure)
                                  : DW_PEAK_BYTES;
    if (is_memory && request->allowance.text && !request->allowance.is_of_bytes)
        return dw_cli_usage("--fail-if '%s' is about time, and memory is compared: say 'larger'",
                            request->allowance.text);
    return 0;
}

static int prepare(struct dw_profile *profile, const char *file, enum dw_measure measure,
                   const struct dw_native_words *native)
{
    bool is_memory = measure < DW_MEASURES;
    int error = is_memory ? dw_profile_show_measure(profile, measure) : 0;
    if (!error)
        error = dw_cli_make_showable(profile, native);
    if (error)
        return dw_cli_error(file, error);
    return !is_memory && dw_samples_are_counts(profile)
               ? dw_cli_usage("%s: holds numbers of samples, and diff compares times", file)
               : 0;
}

static int load_and_show(char **files, struct request *request)
{
    struct dw_profile *profiles[DW_SIDES] = {0};
    struct dw_native_words native = {.lines = request->by && !strcmp(request->by, "line")};
    enum dw_measure measure = DW_MEASURES;
    int status = 0;
    for (enum dw_side side = 0; side < DW_SIDES && !status; side++) {
        request->options.files[side] = files[side];
        profiles[side] = dw_cli_read(files + side, 1, 0, &status);
    }
    if (!status)
        status = choose_measure(profiles, files, request, &measure);
    for (enum dw_side side = 0; side < DW_SIDES && !status; side++)
        status = prepare(profiles[side], files[side], measure, &native);
    const struct dw_profile *const both[DW_SIDES] = {profiles[DW_OLD], profiles[DW_NEW]};
    status = status ? DW_EXIT_USAGE : show(both, files, request);
    dw_profile_free(profiles[DW_OLD]);
    dw_profile_free(profiles[DW_NEW]);
    return status;
}

int dw_cmd_diff(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    struct request request = {0};
    const struct dw_option known[] = {
        {.name = "by", .value = &request.by},
        {.name = "measure", .value = &request.measure},
        {.name = "sort", .value = &request.sort},
        {.name = "limit", .value = &request.limit},
        {.name = "threshold", .value = &request.threshold},
        {.name = "normalise", .flag = &request.options.normalise},
        {.name = "format", .value = &request.format},
        {.name = "width", .value = &request.width},
        {.name = "output", .letter = 'o', .value = &request.output},
        {.name = "fail-if", .value = &request.fail_if},
        {.name = "of", .value = &request.of},
        {.name = NULL},
    };
    int files = dw_cli_parse(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    if (files != 2)
        return dw_cli_usage("diff needs two files, OLD and NEW; see 'dwell diff --help'");
    if (request.output && !strcmp(request.output, "-"))
        request.output = NULL;
    if (dw_cli_would_overwrite(argv + 1, 2, request.output))
        return DW_EXIT_USAGE;
    int status = parse_format(&request);
    if (!status)
        status = parse_words(&request);
    return status ? status : load_and_show(argv + 1, &request);
}
