/* SPDX-License-Identifier: MIT
 * What the words of reports mean: the same in each, whatever it is of. */
#include "cli/cli.h"

#include "base/error.h"
#include "lens/view/column.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int bad_limit(const char *text)
{
    return dw_cli_usage("--limit needs a number of rows or a part of them such as 0.1, not '%s'",
                        text);
}

/* 0 is no limit. */
static int parse_limit(const char *text, struct dw_restriction *restriction)
{
    char *end;
    bool is_part = strpbrk(text, ".eE");
    if (!*text || strchr("+-eE", *text) || text[strspn(text, "0123456789.eE+-")])
        return bad_limit(text);
    errno = 0;
    restriction->kind = is_part ? DW_RESTRICT_FRACTION : DW_RESTRICT_COUNT;
    if (is_part)
        restriction->fraction = strtod(text, &end);
    else
        restriction->count = strtoull(text, &end, 10);
    if (end == text || *end || errno || restriction->fraction > 1)
        return bad_limit(text);
    if (!is_part && !restriction->count)
        restriction->count = UINT64_MAX;
    return 0;
}

static int compile(const char *text, regex_t *pattern)
{
    char reason[256];
    int error = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
    if (!error)
        return 0;
    regerror(error, pattern, reason, sizeof reason);
    return dw_cli_usage("--match '%s': %s", text, reason);
}

static int parse_restrictions(struct dw_report_request *request, const struct dw_option_uses *uses)
{
    struct dw_restriction *list = calloc(uses->count + 1u, sizeof *list);
    int status = 0;
    if (!list)
        return dw_cli_usage("out of memory");
    request->restrictions.list = request->restriction_list = list;
    for (uint32_t i = 0; i < uses->count && !status; i++) {
        const char *value = uses->uses[i].value;
        bool is_match = !strcmp(uses->uses[i].name, "match");
        list[i] = (struct dw_restriction){.kind = DW_RESTRICT_COUNT, .text = value};
        status = is_match ? compile(value, &list[i].pattern) : parse_limit(value, &list[i]);
        if (is_match && !status)
            list[i].kind = DW_RESTRICT_PATTERN;
        request->restrictions.count = i + 1;
    }
    return status;
}

int dw_report_request_init(struct dw_report_request *request, const struct dw_report_words *words)
{
    *request = (struct dw_report_request){.lines = dw_line_defaults};
    if (words->full_paths && words->strip_dirs)
        return dw_cli_usage("--full-paths and --strip-dirs exclude each other");
    return parse_restrictions(request, &words->restrictions);
}

void dw_report_request_release(struct dw_report_request *request)
{
    for (uint32_t i = 0; i < request->restrictions.count; i++)
        if (request->restriction_list[i].kind == DW_RESTRICT_PATTERN)
            regfree(&request->restriction_list[i].pattern);
    for (uint32_t i = 0; i < request->view.label_count; i++)
        free(request->label_keys[i]);
    free(request->restriction_list);
    free(request->text);
    free(request->columns);
}

/* Cuts a list at its commas, in a copy; returns how many words there are, or more than `most`. */
static uint32_t split(struct dw_report_request *request, const char *list, const char **words,
                      uint32_t most)
{
    uint32_t count = 0;
    free(request->text);
    request->text = strdup(list);
    for (char *rest = request->text, *word; (word = strsep(&rest, ","));) {
        while (*word == ' ')
            word++;
        if (count < most)
            words[count] = word;
        count++;
    }
    return count;
}

static int unknown_key(const struct dw_profile *profile, const char *name)
{
    struct dw_guess guess = {.typed = name};
    const struct dw_key *key;
    char there[256] = "there are: ";
    if (!strcmp(name, "path"))
        return dw_cli_usage(
            "--by path is of calls and regions, alone and without --measure; 'dwell "
            "export --to collapsed' or a flame graph has the paths of others");
    for (size_t i = 0, at = strlen(there); (key = dw_key_at(i)) && at < sizeof there; i++) {
        dw_guess_try(&guess, key->name);
        at += (size_t)snprintf(there + at, sizeof there - at, "%s, ", key->name);
    }
    strncat(there, "path, and the labels of the recording", sizeof there - strlen(there) - 1);
    for (uint32_t i = 0; i < profile->labels.pair_count; i++)
        dw_guess_try(&guess, dw_profile_string(profile, profile->labels.pairs[i].key).bytes);
    return dw_cli_unknown("no grouping", "", &guess, "%s", there);
}

static int parse_keys(struct dw_report_request *request, const struct dw_profile *profile,
                      const char *by, bool *is_of_places)
{
    struct dw_view_options *options = &request->view;
    const char *of_places = NULL;
    options->key_count = split(request, by, options->keys, DW_VIEW_KEYS_MAX);
    if (!options->key_count || options->key_count > DW_VIEW_KEYS_MAX)
        return dw_cli_usage("--by takes one to %d keys", DW_VIEW_KEYS_MAX);
    for (uint32_t i = 0; i < options->key_count; i++) {
        dw_string_id label;
        const struct dw_key *key = dw_key_find(profile, options->keys[i], &label);
        if (!key)
            return unknown_key(profile, options->keys[i]);
        if (key->of_place && of_places)
            return dw_cli_usage("--by takes one of %s and %s, not both", of_places, key->name);
        of_places = key->of_place ? key->name : of_places;
    }
    *is_of_places = of_places != NULL;
    return 0;
}

/* Where no samples of elapsed time were taken, regions have it. */
static int parse_measure(const struct dw_profile *profile, const char *word,
                         enum dw_measure *measure)
{
    struct dw_guess guess = {.typed = word};
    *measure = dw_measure_find(word);
    if (*measure == DW_WALL && !(dw_profile_measures(profile) & DW_MASK(DW_WALL)))
        *measure = DW_TOTAL;
    if (*measure < DW_MEASURES && dw_profile_measures(profile) & DW_MASK(*measure))
        return 0;
    if (*measure < DW_MEASURES)
        return dw_cli_usage("the recording holds no '%s': it was not recorded", word);
    for (uint32_t i = 0; i < DW_MEASURES; i++)
        dw_guess_try(&guess, dw_measures[i].name);
    return dw_cli_unknown("no measure", "", &guess,
                          "there are: cpu, wall, samples, elapsed, count, suspended, min, max, "
                          "calls, call_total, hits, line_time and others");
}

static int parse_measures(struct dw_report_request *request, const struct dw_profile *profile,
                          const char *list)
{
    struct dw_report_request scratch = {0};
    const char *words[DW_MEASURES];
    uint32_t count = split(&scratch, list, words, DW_MEASURES);
    int status = count && count <= DW_MEASURES
                     ? 0
                     : dw_cli_usage("--measure takes one to %d measures", (int)DW_MEASURES);
    for (uint32_t i = 0; i < count && !status; i++)
        status = parse_measure(profile, words[i], &request->view.measures[i]);
    request->view.measure_count = count;
    free(scratch.text);
    return status;
}

/* Words of all reports, those of pstats among them. Else it is a measure. */
static const struct {
    const char *word;
    enum { SORT_SELF, SORT_TOTAL, SORT_COUNT, SORT_NAME } by;
} orders[] = {{"self", SORT_SELF},     {"total", SORT_TOTAL},      {"samples", SORT_COUNT},
              {"name", SORT_NAME},     {"count", SORT_COUNT},      {"calls", SORT_COUNT},
              {"ncalls", SORT_COUNT},  {"tottime", SORT_SELF},     {"time", SORT_SELF},
              {"cumtime", SORT_TOTAL}, {"cumulative", SORT_TOTAL}, {"nfl", SORT_NAME},
              {"stdname", SORT_NAME}};

/* The first measure that is a number of something, when the word is not one itself. */
static uint32_t find_count(const struct dw_view_options *options, const char *word)
{
    uint32_t count = options->measure_count, found = count;
    for (uint32_t i = count; i-- > 0;)
        if (dw_measures[options->measures[i]].unit == DW_UNIT_COUNT)
            found = i;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(dw_measures[options->measures[i]].name, word))
            found = i;
    return found;
}

static int unknown_sort(const struct dw_view_options *options, const char *word)
{
    struct dw_guess guess = {.typed = word};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        dw_guess_try(&guess, orders[i].word);
    for (uint32_t i = 0; i < options->measure_count; i++)
        dw_guess_try(&guess, dw_measures[options->measures[i]].name);
    return dw_cli_unknown("cannot sort by", "", &guess,
                          "there are: self, total, name, and the measures shown");
}

/* What follows a comma decides only ties, which other measures and names decide anyway. */
static int parse_sort(struct dw_view_options *options, const struct dw_profile *profile,
                      const char *text)
{
    char word[64];
    enum dw_measure measure;
    size_t at = 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, ","), text);
    while (at < sizeof orders / sizeof *orders && strcmp(orders[at].word, word) != 0)
        at++;
    bool is_known = at < sizeof orders / sizeof *orders;
    options->by_total = !is_known || orders[at].by != SORT_SELF;
    if (is_known && orders[at].by == SORT_COUNT && dw_measure_find(word) == DW_MEASURES) {
        options->sort = find_count(options, word);
        return 0;
    }
    if (is_known && orders[at].by != SORT_COUNT) {
        options->sort = orders[at].by == SORT_NAME ? options->measure_count : 0;
        return 0;
    }
    if (!is_known && dw_measure_find(word) == DW_MEASURES)
        return unknown_sort(options, word);
    int status = parse_measure(profile, word, &measure);
    for (options->sort = 0; !status && options->sort < options->measure_count; options->sort++)
        if (options->measures[options->sort] == measure)
            return 0;
    return status ? status : dw_cli_usage("--sort %s: it is not among the measures shown", word);
}

static int parse_labels(struct dw_report_request *request, const struct dw_option_uses *uses)
{
    struct dw_view_options *options = &request->view;
    for (uint32_t i = 0; i < uses->count; i++) {
        const char *word = uses->uses[i].value, *equals = strchr(word, '=');
        if (!equals || equals == word || options->label_count == DW_VIEW_KEYS_MAX)
            return dw_cli_usage("--match-label takes KEY=VALUE, not '%s'", word);
        char *key = strndup(word, (size_t)(equals - word));
        if (!key)
            return dw_cli_error("--match-label", DW_ERR_MEMORY);
        request->label_keys[options->label_count] = key;
        options->labels[options->label_count++] = (struct dw_view_label){key, equals + 1};
    }
    return 0;
}

int dw_report_want_view(struct dw_report_request *request, const struct dw_report_words *words,
                        const struct dw_profile *profile, enum dw_family family)
{
    struct dw_view_options *options = &request->view;
    const char *by = words->by ? words->by : family == DW_FAMILY_HEAP ? "type" : "function";
    bool is_of_places = false, is_dominator = !strcmp(by, "dominator");
    *options = (struct dw_view_options){.family = family,
                                        .is_sampled_list = family == DW_FAMILY_SAMPLES,
                                        .by_total = family == DW_FAMILY_CALLS || is_dominator,
                                        .full_paths = words->full_paths,
                                        .restrictions = request->restrictions};
    request->lens.view = options;
    int status = parse_keys(request, profile, by, &is_of_places);
    if (!status && words->measure)
        status = parse_measures(request, profile, words->measure);
    else if (!status)
        dw_view_choose_measures(profile, options, is_of_places);
    if (family == DW_FAMILY_HEAP && !words->measure)
        options->sort = 1; /* by bytes */
    if (!status && words->sort)
        status = parse_sort(options, profile, words->sort);
    return status ? status : parse_labels(request, &words->match_labels);
}

int dw_report_want_functions(struct dw_report_request *request, const struct dw_report_words *words)
{
    struct dw_guess guess = {.typed = words->sort};
    request->functions = (struct dw_function_options){.callers = words->callers,
                                                      .callees = words->callees,
                                                      .full_paths = words->full_paths,
                                                      .restrictions = request->restrictions};
    request->lens.functions = &request->functions;
    if (!words->sort || !dw_function_sort_parse(words->sort, &request->functions.sort))
        return 0;
    dw_function_sort_guess(&guess);
    return dw_cli_unknown("cannot sort by", "", &guess, "there are: %s", dw_function_sort_words());
}

static int parse_unit(const char *text, double *unit_s)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0)
        return dw_cli_usage("--unit needs seconds such as 1e-3, not '%s'", text);
    *unit_s = value;
    return 0;
}

int dw_report_want_lines(struct dw_report_request *request, const struct dw_report_words *words)
{
    struct dw_line_options *options = &request->lines;
    const char *foreign = dw_report_words_of_functions(words, false), *sort = words->sort;
    options->strip_zeros = words->strip_zeros;
    options->summarize = words->summarize;
    options->callees = words->callees;
    options->restrictions = request->restrictions;
    request->lens.lines = options;
    if (foreign)
        return dw_cli_usage("--%s goes with --by function", foreign);
    options->sort = sort && (!strcmp(sort, "time") || !strcmp(sort, "total"));
    if (sort && !options->sort && strcmp(sort, "file") != 0)
        return dw_cli_usage("cannot sort functions with lines by '%s'; there are: file, time",
                            sort);
    return words->unit ? parse_unit(words->unit, &options->unit_s) : 0;
}

static int parse_by(const char *word, enum dw_by *by)
{
    struct dw_guess guess = {.typed = word};
    const char *known;
    if (dw_by_find(word, by))
        return 0;
    for (size_t i = 0; (known = dw_by_word(i)); i++)
        dw_guess_try(&guess, known);
    if (!strcmp(word, "line") || !strcmp(word, "module"))
        return dw_cli_usage("--by %s is for tables, CSV and JSON of %s", word,
                            *word == 'l' ? "samples and lines" : "samples");
    dw_guess_try(&guess, "line");
    dw_guess_try(&guess, "module");
    return dw_cli_unknown("no grouping", "", &guess,
                          "there are: region, path, thread, process, function and, for reports, "
                          "line and, of samples, module");
}

static int check_column(const char *id)
{
    const char *ids[64] = {NULL};
    const struct dw_column *column;
    for (size_t i = 0; (column = dw_column_at(i)) && i + 1 < sizeof ids / sizeof *ids; i++)
        ids[i] = column->id;
    return dw_column_find(id) || dw_cli_find_word("no column", id, ids) >= 0 ? 0 : DW_EXIT_USAGE;
}

static int parse_columns(struct dw_report_request *request, const char *text)
{
    struct dw_lens_options *lens = &request->lens;
    size_t most = strlen(text) / 2 + 1;
    request->columns = malloc(most * sizeof *request->columns);
    if (!request->columns)
        return dw_cli_usage("out of memory");
    uint32_t count = split(request, text, request->columns, (uint32_t)most);
    for (uint32_t i = 0; i < count && i < most; i++) {
        if (*request->columns[i] && check_column(request->columns[i]))
            return DW_EXIT_USAGE;
        if (*request->columns[i])
            request->columns[lens->column_count++] = request->columns[i];
    }
    lens->columns = request->columns;
    return lens->column_count ? 0 : dw_cli_usage("--columns needs names of columns");
}

int dw_report_want_rows(struct dw_report_request *request, const struct dw_report_words *words)
{
    struct dw_lens_options *lens = &request->lens;
    lens->sort = words->sort;
    int status = words->by ? parse_by(words->by, &lens->by) : 0;
    for (uint32_t i = 0; i < request->restrictions.count && !status; i++) {
        const struct dw_restriction *restriction = &request->restrictions.list[i];
        if (restriction->kind == DW_RESTRICT_FRACTION)
            status = dw_cli_usage("--limit needs a number of rows, not '%s'", restriction->text);
        else if (restriction->kind == DW_RESTRICT_COUNT)
            lens->limit = restriction->count < UINT64_MAX ? restriction->count : 0;
    }
    if (!status && words->sort)
        status = check_column(words->sort);
    if (!status && words->columns)
        status = parse_columns(request, words->columns);
    return status;
}

/* One key that has a report of its own is no view, unless measures or labels are asked for. */
bool dw_report_words_of_view(const struct dw_report_words *words)
{
    enum dw_by by;
    bool is_own = !words->by || dw_by_find(words->by, &by) || dw_cli_is_of_places(words->by);
    return !is_own || words->measure || words->match_labels.count;
}

const char *dw_report_words_of_lines(const struct dw_report_words *words)
{
    return words->unit          ? "unit"
           : words->strip_zeros ? "strip-zeros"
           : words->summarize   ? "summarize"
                                : NULL;
}

const char *dw_report_words_of_functions(const struct dw_report_words *words, bool or_lines)
{
    for (uint32_t i = 0; or_lines && i < words->restrictions.count; i++)
        if (!strcmp(words->restrictions.uses[i].name, "match"))
            return "match";
    return words->callers               ? "callers"
           : words->full_paths          ? "full-paths"
           : words->strip_dirs          ? "strip-dirs"
           : or_lines && words->callees ? "callees"
                                        : NULL;
}

bool dw_cli_is_of_places(const char *by)
{
    const struct dw_key *key;
    for (size_t i = 0; by && (key = dw_key_at(i)); i++)
        if (!strcmp(key->name, by))
            return key->of_place;
    return !by;
}
