/* SPDX-License-Identifier: MIT
 * What `dwell report` takes for the one view: --by KEY,KEY, --measure, --match-label, --sort. */
#include "cli/cli.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

/* Groupings of reports that are not views. */
static bool is_of_another_report(const char *by)
{
    static const char *const known[] = {"function", "line",   "module",  "region",
                                        "path",     "thread", "process", "name"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], by))
            return true;
    return false;
}

bool dw_view_words_given(const struct dw_view_words *words, const char *by)
{
    return words->measures || words->match_labels.count || (by && !is_of_another_report(by));
}

/* Cuts a list at its commas, in place; returns how many words there are, or more than `most`. */
static uint32_t split(char *list, const char **words, uint32_t most)
{
    uint32_t count = 0;
    for (char *rest = list, *word; (word = strsep(&rest, ","));) {
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
    for (size_t i = 0; (key = dw_key_at(i)); i++)
        dw_guess_try(&guess, key->name);
    for (uint32_t i = 0; i < profile->labels.pair_count; i++)
        dw_guess_try(&guess, dw_profile_string(profile, profile->labels.pairs[i].key).bytes);
    return dw_cli_unknown(
        "no grouping", "", &guess,
        "there are: function, line, python, module, region, thread, process, path, and the "
        "labels of the recording");
}

static int parse_keys(struct dw_view_request *request, const struct dw_profile *profile,
                      const char *by)
{
    struct dw_view_options *options = &request->options;
    const char *of_places = NULL;
    request->keys = strdup(by);
    options->key_count = request->keys ? split(request->keys, options->keys, DW_VIEW_KEYS_MAX) : 0;
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
    request->is_of_places = of_places != NULL;
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
                          "calls, call_total and others");
}

static int parse_measures(struct dw_view_options *options, const struct dw_profile *profile,
                          const char *list)
{
    const char *words[DW_MEASURES];
    char *copy = strdup(list);
    uint32_t count = copy ? split(copy, words, DW_MEASURES) : 0;
    int status = count && count <= DW_MEASURES
                     ? 0
                     : dw_cli_usage("--measure takes one to %d measures", (int)DW_MEASURES);
    for (uint32_t i = 0; i < count && !status; i++)
        status = parse_measure(profile, words[i], &options->measures[i]);
    options->measure_count = count;
    free(copy);
    return status;
}

/* A measure, or name; the default is the first measure. */
static int parse_sort(struct dw_view_options *options, const struct dw_profile *profile,
                      const char *word)
{
    enum dw_measure measure;
    options->by_total = true;
    if (!strcmp(word, "name")) {
        options->sort = options->measure_count;
        return 0;
    }
    if (!strcmp(word, "self") || !strcmp(word, "total")) {
        options->by_total = *word == 't';
        return 0;
    }
    int status = parse_measure(profile, word, &measure);
    for (options->sort = 0; !status && options->sort < options->measure_count; options->sort++)
        if (options->measures[options->sort] == measure)
            return 0;
    return status ? status : dw_cli_usage("--sort %s: it is not among the measures shown", word);
}

static int parse_labels(struct dw_view_request *request, const struct dw_view_words *words)
{
    struct dw_view_options *options = &request->options;
    for (uint32_t i = 0; i < words->match_labels.count; i++) {
        const char *word = words->match_labels.uses[i].value, *equals = strchr(word, '=');
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

static int parse_uses(struct dw_view_request *request, const struct dw_function_words *functions)
{
    int status = 0;
    for (uint32_t i = 0; i < functions->restrictions.count && !status; i++) {
        const struct dw_option_use *use = &functions->restrictions.uses[i];
        char *end;
        if (!strcmp(use->name, "match")) {
            if (request->options.match)
                return dw_cli_usage("--match can be given only once");
            status = dw_cli_compile(use->value, &request->pattern);
            request->options.match = status ? NULL : &request->pattern;
            continue;
        }
        errno = 0;
        request->options.limit = strtoull(use->value, &end, 10);
        if (*use->value < '0' || *use->value > '9' || *end || errno)
            return dw_cli_usage("--limit needs a number of rows, not '%s'", use->value);
    }
    return status;
}

int dw_view_request_init(struct dw_view_request *request, const struct dw_profile *profile,
                         const struct dw_view_words *words, const struct dw_report_words *report,
                         const struct dw_function_words *functions)
{
    struct dw_view_options *options = &request->options;
    *request = (struct dw_view_request){0};
    int status = parse_keys(request, profile, report->by ? report->by : "function");
    if (!status && words->measures)
        status = parse_measures(options, profile, words->measures);
    else if (!status)
        options->measure_count =
            dw_view_default_measures(profile, request->is_of_places, options->measures);
    if (!status && report->sort)
        status = parse_sort(options, profile, report->sort);
    if (!status)
        status = parse_labels(request, words);
    return status ? status : parse_uses(request, functions);
}

void dw_view_request_release(struct dw_view_request *request)
{
    if (request->options.match)
        regfree(&request->pattern);
    for (uint32_t i = 0; i < request->options.label_count; i++)
        free(request->label_keys[i]);
    free(request->keys);
}
