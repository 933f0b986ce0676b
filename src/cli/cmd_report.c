/* SPDX-License-Identifier: MIT
 * `dwell report`: tables on stdout. */
#include "cli/cli.h"

#include "lens/plot/series_report.h"
#include "lens/timing/timings.h"
#include "log/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TREE_THRESHOLD 0.01

static const char help[] =
    "usage: dwell report FILE... [options]\n"
    "\n"
    "Prints what the recordings hold; several files are added up. What several probes recorded "
    "has\n"
    "a table each: samples, calls, regions, lines. --by or --measure shows one of them alone.\n"
    "Profiles that pprof, gperftools, 'perf script' or tools for flame graphs read or wrote are\n"
    "read too. '-' is standard input.\n"
    "\n"
    "  --by WHAT        function (the default for samples and calls), line (for lines), region\n"
    "                   (a tree, the default for regions), module (samples), path, thread or\n"
    "                   process (a row each; --format tree has what they did)\n"
    "  --by time        memory, CPU and counters over time (table, csv, json)\n"
    "  --by type        of a snapshot of the heap; also dominator, size, defined_in, site; FILE#0 "
    "is\n"
    "                   the first snapshot of a file, and without a number it is the last\n"
    "  --by KEY,KEY     any of function (or line, python, module), region, thread, process, host\n"
    "                   and labels of the program: one table of all their combinations\n"
    "  --measure M,M    what to show of them: cpu, wall, samples, elapsed and count of regions,\n"
    "                   calls, call_total, hits and line_time of lines, peak_bytes, live_bytes,\n"
    "                   alloc_bytes, ...\n"
    "  --at TIME        of memory: what was alive so long after the start (12.5, 1:30 or 90s), at\n"
    "                   the last moment that was recorded up to then\n"
    "  --match-label K=V  only what was recorded under that label, or in that region\n"
    "  --sort WORD      self, total, name or a measure, largest first; of regions, paths, threads\n"
    "                   and processes: a column\n"
    "  --match REGEX    only rows that match\n"
    "  --limit N        the first N rows; 0.1 is the first tenth; with --match, in the order "
    "given\n"
    "  --full-paths     keep the directories of files (--strip-dirs is the default)\n"
    "  --format FORMAT  table (the default), tree, csv or json\n"
    "  --threshold P%   of trees: leave out what took less (1%; 0: nothing)\n"
    "  --width N        cut names to fit N columns (default: as the terminal has; else whole)\n"
    "  --columns A,B,C  of regions, paths, threads and processes: name, total, self, count,\n"
    "                   percents_of_total, path, ...; not of samples: average, min, max, p50,\n"
    "                   p95, p99, stdev, active, suspended, cpu, open\n"
    "\n"
    "Samples ('dwell run', 'dwell attach') are printed with shares of all of them:\n"
    "  --callers        the functions that they were called from\n"
    "  --callees        the functions that they called\n"
    "  --names HOW      native functions: short (the default), full (with types) or raw\n"
    "  --internals      also the functions of the interpreter itself, whose time is else that of\n"
    "                   the Python function they work for\n"
    "\n"
    "Functions, when calls were recorded, are printed as pstats prints them:\n"
    "  --sort KEY       also calls, cumulative (the default), filename, line, module, nfl,\n"
    "                   pcalls, stdname, time or tottime; 'time,name' sorts by both\n"
    "  --callers        who called them\n"
    "  --callees        what they called\n"
    "\n"
    "Lines, when they were recorded, are printed with the source, as line_profiler prints them;\n"
    "so are lines of samples with one of the first three. Rows are functions here:\n"
    "  --unit SECONDS   of the times; 1e-6 is the default\n"
    "  --strip-zeros    leave out functions that never ran\n"
    "  --summarize      add a line for each function at the end\n"
    "  --callees        what each line called, under it\n"
    "  --sort time      the function that took longest last\n"
    "\n"
    "Timings ('dwell time -o') are listed, and compared with the first.\n"
    "\n"
    "examples:\n"
    "  dwell report run.dwell --limit 10\n"
    "  dwell report run.dwell --by line --match train.py\n"
    "  dwell report run.dwell --format tree\n"
    "  dwell report run.dwell --by function --match 'json' --callers\n"
    "  dwell report rank*.dwell --by process\n"
    "  dwell report run.dwell --by region --measure cpu,wall,calls\n"
    "  dwell report run.dwell --by function --match-label endpoint=/search\n"
    "  dwell report old.prof --format csv > old.csv\n";

struct request {
    struct dw_report_words words;
    struct dw_native_words native;
    const char *format, *threshold, *width, *at;
    const struct dw_lens *lens; /* of the format */
    double share;               /* what the threshold means */
    size_t columns;             /* to fit into; 0: any number */
    enum dw_family family;      /* what is shown */
    bool shows_lines;           /* that is lines, and no family */
};

static const struct dw_lens *find_format(const char *name)
{
    static const char *const formats[] = {"table", "csv", "json", "tree", NULL};
    return dw_cli_find_word("no format", name, formats) < 0 ? NULL : dw_lens_find(name);
}

/* What a report is made of. */
enum kind { BY_VIEW, BY_HEAP, BY_MEMORY, BY_TIMING, BY_SAMPLE, BY_LINE, BY_FUNCTION, BY_ROW };

/* The lens of the kind in the format asked for; NULL when there is none. */
static const struct dw_lens *lens_of(const struct request *request, enum kind kind)
{
    static const struct dw_lens *const lenses[][3] = {
        [BY_VIEW] = {&dw_view_table, &dw_view_csv, &dw_view_json},
        [BY_HEAP] = {&dw_heap_table, &dw_view_csv, &dw_view_json},
        [BY_MEMORY] = {&dw_memory_table, &dw_view_csv, &dw_view_json},
        [BY_TIMING] = {&dw_timing_table},
        [BY_SAMPLE] = {&dw_view_table, &dw_view_csv, &dw_view_json},
        [BY_LINE] = {&dw_lens_lines, &dw_line_csv, &dw_line_json},
        [BY_FUNCTION] = {&dw_function_table, &dw_function_csv, &dw_function_json},
    };
    static const char *const formats[] = {"table", "csv", "json"};
    if (kind == BY_ROW)
        return request->lens;
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(formats[i], request->format))
            return lenses[kind][i];
    return NULL;
}

/* Functions with neither callers nor callees are a view, but for people, who get pstats' layout. */
static bool is_listed(const struct request *request)
{
    return !strcmp(request->format, "table") || request->words.callers || request->words.callees;
}

static int want_rows(struct dw_report_request *wanted, const struct request *request,
                     const struct dw_profile *profile, const char *file)
{
    const struct dw_report_words *words = &request->words;
    const char *own = dw_report_words_of_functions(words, false);
    const char *given = own ? own : dw_report_words_of_functions(words, true);
    int status = dw_report_want_rows(wanted, words);
    if (status)
        return status;
    if (given)
        return dw_cli_usage("--%s goes with a recording of calls%s, and %s holds none", given,
                            own ? "" : " or lines", file);
    wanted->lens.threshold = request->share;
    return dw_cli_check_contents(profile, request->lens, &wanted->lens, file);
}

static int want(struct dw_report_request *wanted, const struct request *request, enum kind kind,
                const struct dw_profile *profile, const char *file)
{
    const struct dw_report_words *words = &request->words;
    wanted->lens.width = request->columns;
    wanted->lens.family = request->family;
    switch (kind) {
    case BY_VIEW: return dw_report_want_view(wanted, words, profile, DW_FAMILY_ANY);
    case BY_HEAP: return dw_report_want_view(wanted, words, profile, DW_FAMILY_HEAP);
    case BY_MEMORY: return dw_report_want_view(wanted, words, profile, DW_FAMILY_MEMORY);
    case BY_SAMPLE: return dw_report_want_view(wanted, words, profile, DW_FAMILY_SAMPLES);
    case BY_LINE: return dw_report_want_lines(wanted, words);
    case BY_FUNCTION:
        return is_listed(request) ? dw_report_want_functions(wanted, words)
                                  : dw_report_want_view(wanted, words, profile, DW_FAMILY_CALLS);
    case BY_ROW: return want_rows(wanted, request, profile, file);
    case BY_TIMING: break;
    }
    return 0;
}

static int report_kind(const struct dw_profile *profile, const struct request *request,
                       enum kind kind, const char *file)
{
    bool is_view = (kind == BY_FUNCTION && !is_listed(request)) ||
                   (kind == BY_MEMORY && (request->words.by || request->words.restrictions.count));
    const struct dw_lens *lens = lens_of(request, is_view ? BY_VIEW : kind);
    const char *of = kind == BY_LINE ? "--by line" : "keys, measures and labels";
    struct dw_report_request wanted;
    if (!lens || (request->words.columns && kind != BY_ROW))
        return dw_cli_usage("%s does not go with %s", lens ? "--columns" : "--format tree", of);
    int status = dw_report_request_init(&wanted, &request->words);
    if (!status)
        status = want(&wanted, request, kind, profile, file);
    if (!status)
        status = dw_cli_write(profile, lens, &wanted.lens, file, NULL);
    dw_report_request_release(&wanted);
    return status;
}

/* What the words mean depends on what the recording holds: one of calls is reported by
 * function and one of nothing but lines by line, unless something else is asked for. */
static bool is_by_line(const struct dw_profile *profile, const struct request *request)
{
    const struct dw_report_words *words = &request->words;
    if (words->by || request->shows_lines)
        return request->shows_lines || !strcmp(words->by, "line");
    return dw_report_words_of_lines(&request->words) || dw_lines_are_all(profile);
}

static bool is_by_function(const struct dw_profile *profile, const struct request *request)
{
    const char *by = request->words.by;
    return (!by || !strcmp(by, "function")) && !request->words.columns &&
           lens_of(request, BY_FUNCTION) &&
           dw_family_choose(profile, request->family) != DW_FAMILY_REGIONS;
}

/* Samples have a report of their own, unless something is asked for that only others know. */
static bool is_by_sample(const struct dw_profile *profile, const struct request *request)
{
    return (dw_shows_samples(profile, request->family) ||
            (!dw_cli_families(profile) && dw_samples_are_all(profile))) &&
           dw_cli_is_of_places(request->words.by) && strcmp(request->format, "tree") != 0 &&
           !request->words.columns && !request->words.callers && !request->words.callees &&
           !(is_by_line(profile, request) && dw_lines_are_watched(profile)) &&
           !dw_report_words_of_lines(&request->words);
}

/* Timings are not rows, so other tables do not show them. JSON has them beside the rows. */
static bool is_by_timing(const struct dw_profile *profile, const struct request *request)
{
    return !request->words.by && !strcmp(request->format, "table") && dw_timings_are_all(profile);
}

/* Memory has a report for people; all else about it is in the view. */
static bool is_by_memory(const struct dw_profile *profile, const struct request *request)
{
    bool is_of_lines =
        request->shows_lines || (is_by_line(profile, request) && dw_lines_are_watched(profile));
    return !is_of_lines && dw_family_choose(profile, request->family) == DW_FAMILY_MEMORY;
}

/* What is on the heap is told by keys of its own. */
static bool is_by_heap(const struct dw_profile *profile, const struct request *request)
{
    static const char *const keys[] = {"type", "dominator", "size", "site", "defined_in"};
    const char *by = request->words.by;
    if (!dw_family_is_in(profile, DW_FAMILY_HEAP) || request->words.measure ||
        !strcmp(request->format, "tree"))
        return false;
    for (size_t i = 0; by && i < sizeof keys / sizeof *keys; i++)
        if (!strncmp(by, keys[i], strlen(keys[i])) && strchr(",", by[strlen(keys[i])]))
            return true;
    return !by && dw_family_choose(profile, request->family) == DW_FAMILY_HEAP;
}

static int report_as_asked(const struct dw_profile *profile, const struct request *request,
                           const char *file)
{
    enum kind kind = is_by_heap(profile, request)               ? BY_HEAP
                     : dw_report_words_of_view(&request->words) ? BY_VIEW
                     : is_by_memory(profile, request)           ? BY_MEMORY
                     : is_by_timing(profile, request)           ? BY_TIMING
                     : is_by_sample(profile, request)           ? BY_SAMPLE
                     : is_by_line(profile, request)             ? BY_LINE
                     : is_by_function(profile, request)         ? BY_FUNCTION
                                                                : BY_ROW;
    return report_kind(profile, request, kind, file);
}

/* Options of functions and lines, and those of native code, are for what comes first. */
static bool asks_for_family(const struct request *request)
{
    const struct dw_report_words *words = &request->words;
    return dw_report_words_of_view(words) || dw_cli_asks_for_family(words) ||
           dw_report_words_of_functions(words, true) || dw_report_words_of_lines(words) ||
           request->native.names || request->native.internals;
}

static bool is_for_people(const struct request *request)
{
    return !strcmp(request->format, "table") || !strcmp(request->format, "tree");
}

/* Beside a family. Trees have no lines. */
static bool has_lines_too(const struct dw_profile *profile, const struct request *request)
{
    return !strcmp(request->format, "table") && !request->words.columns &&
           dw_cli_families(profile) && dw_lines_are_watched(profile);
}

static int report_under(const char *heading, const struct dw_profile *profile,
                        const struct request *request, const char *file)
{
    fputs(heading, stdout);
    fflush(stdout);
    return report_as_asked(profile, request, file);
}

/* Of a recording that has several families, or lines beside one, people get all, each under its
 * heading; data is of one. */
static int report_families(const struct dw_profile *profile, struct request *request,
                           const char *file)
{
    int status = 0;
    const char *between = "";
    for (enum dw_family family = DW_FAMILY_SAMPLES; family < DW_FAMILIES && !status; family++) {
        if (!dw_family_is_in(profile, family))
            continue;
        fputs(between, stdout);
        request->family = family;
        status = report_under(dw_cli_heading(family), profile, request, file);
        between = family == DW_FAMILY_CALLS ? "" : "\n"; /* calls end with empty lines */
    }
    if (status || !has_lines_too(profile, request))
        return status;
    fputs(between, stdout);
    request->shows_lines = true;
    return report_under(DW_LINES_HEADING, profile, request, file);
}

static int show(const struct dw_profile *profile, struct request *request, const char *file)
{
    bool is_open = !asks_for_family(request);
    bool has_several = dw_cli_families(profile) + has_lines_too(profile, request) > 1;
    if (is_open && has_several && is_for_people(request))
        return report_families(profile, request, file);
    if (is_open && !is_for_people(request))
        dw_cli_say_left_out(profile, false);
    request->family = dw_cli_family_of(&request->words, profile);
    return report_as_asked(profile, request, file);
}

static const struct dw_lens *find_time_format(const char *name)
{
    static const struct dw_lens *const lenses[] = {&dw_series_table, &dw_series_csv,
                                                   &dw_series_json};
    for (size_t i = 0; i < sizeof lenses / sizeof *lenses; i++)
        if (!strcmp(lenses[i]->name, name))
            return lenses[i];
    return NULL;
}

/* What there is over time. */
static int show_times(const struct dw_profile *profile, const char *format, const char *limit,
                      const char *file)
{
    const struct dw_lens *lens = find_time_format(format);
    const char *rest = "";
    double rows = 0;
    if (!lens)
        return dw_cli_usage("--by time has the formats table, csv and json, not '%s'", format);
    if (limit && (!dw_cli_parse_number(limit, &rows, &rest) || *rest || rows > UINT32_MAX))
        return dw_cli_usage("--limit needs a number of rows, not '%s'", limit);
    if (!profile->series_count) {
        fprintf(stderr,
                "dwell: %s: holds nothing over time; record it with 'dwell run --memory', or "
                "counters with --timeline\n",
                file);
        return DW_EXIT_TROUBLE;
    }
    struct dw_lens_options options = {.limit = (size_t)rows};
    return dw_cli_write(profile, lens, &options, file, NULL);
}

/* `--by time`: counters of the timeline are among it. */
static int report_times(char **files, int count, const char *format, const char *limit)
{
    int status = 0;
    struct dw_native_words native = {0};
    struct dw_profile *profile =
        dw_cli_load(files, count, DW_READ_EVENTS | DW_READ_NO_SOURCES, &native, &status);
    if (!profile)
        return status;
    int error = dw_series_add_counters(profile);
    int shown =
        error ? dw_cli_error(files[0], error) : show_times(profile, format, limit, files[0]);
    dw_profile_free(profile);
    return shown ? shown : status;
}

static const char *limit_of(const struct dw_report_words *words)
{
    for (uint32_t i = words->restrictions.count; i-- > 0;)
        if (!strcmp(words->restrictions.uses[i].name, "limit"))
            return words->restrictions.uses[i].value;
    return NULL;
}

/* The recording, or what was alive at a moment of it. */
static struct dw_profile *load(char **files, int count, const struct request *request, int *status)
{
    struct dw_profile *profile =
        dw_cli_read(files, count, request->at ? DW_READ_MOMENTS : 0, status);
    int wrong = profile ? dw_cli_go_to(profile, request->at, files[0]) : 0;
    int error = profile && !wrong ? dw_cli_make_showable(profile, &request->native) : 0;
    if (error)
        wrong = dw_cli_error(files[0], error);
    if (!wrong)
        return profile;
    *status = wrong;
    dw_profile_free(profile);
    return NULL;
}

static int report(char **files, int count, struct request *request)
{
    int status = 0;
    const struct dw_report_words *words = &request->words;
    if (words->by && !strcmp(words->by, "time"))
        return report_times(files, count, request->format, limit_of(words));
    struct dw_profile *profile = load(files, count, request, &status);
    if (!profile)
        return status;
    int shown = !words->by && !request->at && dw_series_are_all(profile)
                    ? show_times(profile, request->format, limit_of(words), files[0])
                    : show(profile, request, files[0]);
    dw_profile_free(profile);
    return shown ? shown : status;
}

/* Only trees leave out small rows. */
static int parse_shape(struct request *request)
{
    bool is_tree = !strcmp(request->format, "tree");
    const char *rest = "";
    double columns = (double)dw_cli_width(STDOUT_FILENO);
    request->share = is_tree ? TREE_THRESHOLD : 0;
    if (request->threshold && !is_tree)
        return dw_cli_usage("--threshold goes with --format tree");
    if (request->width &&
        (!dw_cli_parse_number(request->width, &columns, &rest) || *rest || columns > UINT32_MAX))
        return dw_cli_usage("--width needs a number of columns, not '%s'", request->width);
    request->columns = (size_t)columns;
    return request->threshold ? dw_cli_parse_threshold(request->threshold, &request->share) : 0;
}

/* Options of functions or lines ask for these. */
static int check(struct request *request)
{
    const char *by = request->words.by;
    const char *of_functions = dw_report_words_of_functions(&request->words, true);
    const char *of_lines = dw_report_words_of_lines(&request->words);
    if (request->at && by && !strcmp(by, "time"))
        return dw_cli_usage("--at is one moment, and --by time is of all of them");
    if (by && of_lines && strcmp(by, "line") != 0)
        return dw_cli_usage("--%s goes with --by line", of_lines);
    if (by && of_functions && !dw_cli_is_of_places(by) && !dw_report_words_of_view(&request->words))
        return dw_cli_usage("--%s goes with --by function", of_functions);
    request->native.lines =
        of_lines || (by && !strcmp(by, "line")) || !strcmp(request->format, "json");
    request->native.only_functions = !request->native.lines;
    request->lens = find_format(request->format);
    if (!request->lens || parse_shape(request))
        return DW_EXIT_USAGE;
    return dw_native_words_check(&request->native);
}

static int parse_and_report(struct request *request, int argc, char **argv)
{
    struct dw_report_words *words = &request->words;
    const struct dw_option known[] = {
        {.name = "by", .value = &words->by},
        {.name = "measure", .value = &words->measure},
        {.name = "match-label", .uses = &words->match_labels},
        {.name = "sort", .value = &words->sort},
        {.name = "limit", .uses = &words->restrictions},
        {.name = "columns", .value = &words->columns},
        {.name = "format", .value = &request->format},
        {.name = "threshold", .value = &request->threshold},
        {.name = "at", .value = &request->at},
        {.name = "width", .value = &request->width},
        {.name = "names", .value = &request->native.names},
        {.name = "internals", .flag = &request->native.internals},
        {.name = "match", .uses = &words->restrictions},
        {.name = "callers", .flag = &words->callers},
        {.name = "callees", .flag = &words->callees},
        {.name = "strip-dirs", .flag = &words->strip_dirs},
        {.name = "full-paths", .flag = &words->full_paths},
        {.name = "unit", .value = &words->unit},
        {.name = "strip-zeros", .flag = &words->strip_zeros},
        {.name = "summarize", .flag = &words->summarize},
        {.name = NULL},
    };
    int files = dw_cli_parse_files(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    int status = check(request);
    return status ? status : report(argv + 1, files, request);
}

int dw_cmd_report(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    struct request request = {.format = "table"};
    int status = parse_and_report(&request, argc, argv);
    free(request.words.restrictions.uses);
    free(request.words.match_labels.uses);
    return status;
}
