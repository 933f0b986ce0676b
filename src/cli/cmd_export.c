/* SPDX-License-Identifier: MIT
 * `dwell export`: a recording through any lens, to a file or a pipe. */
#include "cli/cli.h"

#include "lens/view/measured.h"
#include "log/reader.h"
#include "model/prepare/shown_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "usage: dwell export FILE... [--to LENS] [-o OUT]\n"
    "\n"
    "Writes the recording in another format; several files are added up. '-' is standard input.\n"
    "Of samples and regions chrome and perfetto have both, or what --by function or --by region\n"
    "asks for; others have the samples, or with --by region the regions.\n"
    "\n"
    "  --to LENS        which format; '--to help' lists them (default: as the name of OUT ends)\n"
    "  -o, --output OUT where to; '-' is standard output, which is also the default\n"
    "                   (in a terminal, a data format goes to a file named after FILE)\n"
    "  --lines          collapsed stacks of samples: functions with their lines\n"
    "  --labels A,B     collapsed stacks: begin with the values of these labels, \"A=x;B=y;...\"\n"
    "  --by, --measure, --at, --sort, --limit, --columns, --names, --internals   as for 'dwell "
    "report'\n"
    "\n"
    "examples:\n"
    "  dwell export run.dwell --to chrome -o run.json      for ui.perfetto.dev\n"
    "  dwell export run.dwell --to perfetto -o run.pftrace the same, when it is large\n"
    "  dwell export run.dwell --to speedscope              for www.speedscope.app\n"
    "  dwell export run.dwell -o run.svg                   a flame graph\n"
    "  dwell export run.dwell --to collapsed | flamegraph.pl > run.svg\n"
    "  dwell export run.dwell --to svg-graph -o run.svg    the call graph\n"
    "  dwell export run.dwell --to pstats -o run.pstats    for pstats, snakeviz, gprof2dot\n"
    "  dwell export run.dwell --to pprof -o run.pb.gz      for pprof, Pyroscope, Parca\n"
    "  dwell export run.dwell --to callgrind               for KCachegrind\n"
    "  dwell export run.dwell --at 12.5s -o then.svg       memory that was alive at that time\n";

/* What `dot` makes of the dot lens. It is not in the list of lenses, because it needs another
 * program. */
static const struct dw_lens svg_graph = {
    .name = "svg-graph",
    .summary = "the call graph as a picture; needs Graphviz",
    .extension = ".svg",
};

static int list_lenses(void)
{
    const struct dw_lens *lens;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++)
        printf("  %-11s %s\n", lens->name, lens->summary);
    printf("  %-11s %s\n", svg_graph.name, svg_graph.summary);
    return 0;
}

static const struct dw_lens *find_lens(const char *name)
{
    return strcmp(name, svg_graph.name) ? dw_lens_find(name) : &svg_graph;
}

static int say_unknown_lens(const char *name)
{
    struct dw_guess guess = {.typed = name};
    const struct dw_lens *lens;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++)
        dw_guess_try(&guess, lens->name);
    dw_guess_try(&guess, svg_graph.name);
    return dw_cli_unknown("no lens", "", &guess, "'dwell export --to help' lists them");
}

/* FILE without its last extension, and the lens's. */
static char *default_output(const char *file, const struct dw_lens *lens)
{
    const char *name = strrchr(file, '/');
    const char *dot = strrchr(name ? name : file, '.');
    bool has_stem = dot && dot != file && dot[-1] != '/';
    size_t stem = has_stem ? (size_t)(dot - file) : strlen(file);
    char *path;
    return asprintf(&path, "%.*s%s", (int)stem, file, lens->extension) < 0 ? NULL : path;
}

/* What to export, and how. */
struct request {
    const struct dw_lens *lens;
    const struct dw_report_words *words;
    struct dw_native_words native;
    const char *at;
    struct dw_report_request options;
    char *label_text;    /* cut into: */
    const char **labels; /* keys */
};

/* Cuts "a,b,c" into keys of labels. */
static int parse_labels(struct request *request, const char *text)
{
    struct dw_lens_options *options = &request->options.lens;
    request->label_text = strdup(text);
    request->labels = malloc((strlen(text) / 2 + 1) * sizeof *request->labels);
    if (!request->label_text || !request->labels)
        return dw_cli_usage("out of memory");
    char *state;
    char *word = strtok_r(request->label_text, ",", &state);
    for (; word; word = strtok_r(NULL, ",", &state))
        request->labels[options->label_count++] = word;
    options->labels = request->labels;
    return options->label_count ? 0 : dw_cli_usage("--labels needs keys of labels");
}

/* Whether the recording has the label anywhere; else says what it has that looks like it. */
static int check_label(const struct dw_profile *profile, const char *key)
{
    struct dw_guess guess = {.typed = key};
    for (uint32_t i = 0; i < profile->labels.pair_count; i++) {
        const char *known = dw_profile_string(profile, profile->labels.pairs[i].key).bytes;
        if (!strcmp(known, key))
            return 0;
        dw_guess_try(&guess, known);
    }
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (dw_profile_property(profile, i, key).size)
            return 0;
    return dw_cli_unknown("no label", "", &guess, "nothing in the recording has it");
}

/* A report of functions or lines is of samples first, and so is an export by them. */
static enum dw_family family_of(const struct dw_report_words *words,
                                const struct dw_profile *profile)
{
    enum dw_family family = dw_cli_family_of(words, profile);
    bool is_of_samples = family == DW_FAMILY_ANY && dw_cli_asks_for_family(words) &&
                         dw_family_is_in(profile, DW_FAMILY_SAMPLES);
    return is_of_samples ? DW_FAMILY_SAMPLES : family;
}

/* Of memory and of collections of garbage, one measure is shown, in place of samples. */
static int make_showable(struct dw_profile *profile, const struct request *request,
                         enum dw_family *family, const char *file)
{
    const char *word = request->words->measure;
    bool is_of_lines =
        !strcmp(request->lens->name, "lines") && dw_profile_measures(profile) & DW_MASK(DW_HITS);
    int error = 0;
    if (!word && dw_family_choose(profile, *family) == DW_FAMILY_HEAP)
        word = dw_measures[DW_OBJECT_BYTES].name;
    if (word && dw_cli_is_shown_alone(word)) {
        error = dw_profile_show_measure(profile, dw_measure_find(word));
        *family = DW_FAMILY_SAMPLES;
    } else if (!is_of_lines && dw_family_choose(profile, *family) == DW_FAMILY_MEMORY) {
        bool is_all = !strcmp(request->lens->name, "pprof"); /* it has types for all of them */
        enum dw_measure usual = profile->is_of_moment ? DW_LIVE_BYTES
                                : is_all              ? DW_ALLOC_BYTES
                                                      : DW_PEAK_BYTES;
        enum dw_measure measure = word && !is_all ? dw_measure_find(word) : usual;
        error = dw_profile_show_measure(profile, measure);
        *family = DW_FAMILY_SAMPLES;
    }
    if (!error)
        error = dw_cli_make_showable(profile, &request->native);
    return error ? dw_cli_error(file, error) : 0;
}

static int export_to(char **files, int count, const struct request *request, const char *path)
{
    const struct dw_lens *lens = request->lens;
    struct dw_lens_options options = request->options.lens;
    if (dw_cli_would_overwrite(files, count, path))
        return DW_EXIT_USAGE;
    int status = 0;
    unsigned flags = (lens->needs_events ? DW_READ_EVENTS : 0) |
                     (request->at ? DW_READ_MOMENTS : 0) |
                     (lens->shows_snapshots ? DW_CLI_EACH_HEAP : 0);
    struct dw_profile *profile = dw_cli_read(files, count, flags, &status);
    if (!profile)
        return status;
    int gone = dw_cli_go_to(profile, request->at, files[0]);
    if (gone) {
        dw_profile_free(profile);
        return gone;
    }
    if (!options.with_lines)
        options.family = family_of(request->words, profile);
    if (!options.with_lines && !dw_cli_asks_for_family(request->words) && !lens->shows_both)
        dw_cli_say_left_out(profile, lens->shows_lines);
    int written = dw_cli_check_measure(request->words, profile, files[0]);
    if (!written)
        written = make_showable(profile, request, &options.family, files[0]);
    if (!written)
        written = dw_cli_check_contents(profile, lens, &options, files[0]);
    for (size_t i = 0; !written && i < options.label_count; i++)
        written = check_label(profile, options.labels[i]);
    if (!written)
        written = lens == &svg_graph ? dw_cli_draw(profile, &options, files[0], path)
                                     : dw_cli_write(profile, lens, &options, files[0], path);
    dw_profile_free(profile);
    return written ? written : status;
}

static int export(char **files, int count, const struct request *request, const char *path)
{
    char *chosen = NULL;
    if (!path && request->lens->extension && isatty(STDOUT_FILENO))
        path = chosen = default_output(files[0], request->lens);
    int status = export_to(files, count, request, path);
    if (chosen && !status)
        printf("%s\n", chosen);
    free(chosen);
    return status;
}

int dw_cmd_export(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    struct dw_report_words words = {0};
    struct request request = {0};
    const char *to = NULL, *path = NULL, *labels = NULL;
    bool with_lines = false;
    const struct dw_option known[] = {
        {.name = "to", .value = &to},
        {.name = "output", .letter = 'o', .value = &path},
        {.name = "by", .value = &words.by},
        {.name = "measure", .value = &words.measure},
        {.name = "sort", .value = &words.sort},
        {.name = "limit", .uses = &words.restrictions},
        {.name = "columns", .value = &words.columns},
        {.name = "at", .value = &request.at},
        {.name = "lines", .flag = &with_lines},
        {.name = "labels", .value = &labels},
        {.name = "names", .value = &request.native.names},
        {.name = "internals", .flag = &request.native.internals},
        {.name = NULL},
    };
    int files = dw_cli_parse(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    if (to && !strcmp(to, "help"))
        return list_lenses();
    request.lens = to ? find_lens(to) : path ? dw_lens_of_file(path) : NULL;
    if (files && path && !to && !request.lens)
        return dw_cli_usage("no format is known by the name '%s'; say which with --to LENS, "
                            "'--to help' lists them",
                            path);
    if (!files || (!to && !request.lens))
        return dw_cli_usage("export needs a file and --to LENS; '--to help' lists the lenses");
    if (!request.lens)
        return say_unknown_lens(to);
    request.native.lines = request.lens->shows_places || with_lines;
    request.words = &words;
    int status = dw_native_words_check(&request.native);
    if (!status)
        status = dw_report_request_init(&request.options, &words);
    if (!status)
        status = dw_report_want_rows(&request.options, &words);
    request.options.lens.with_lines = with_lines;
    if (!status && labels && strcmp(request.lens->name, "collapsed") != 0)
        status =
            dw_cli_usage("--labels is for collapsed stacks; a picture of them: dwell export FILE "
                         "--to collapsed --labels %s | dwell export - -o x.svg",
                         labels);
    if (!status && labels)
        status = parse_labels(&request, labels);
    if (!status)
        status = export(argv + 1, files, &request, path);
    dw_report_request_release(&request.options);
    free(words.restrictions.uses);
    free(request.label_text);
    free(request.labels);
    return status;
}
