/* SPDX-License-Identifier: MIT
 * What `dwell report` takes for a recording of samples. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
    const char *word;
    enum dw_spot by;
} groupings[] = {
    {"function", DW_SPOT_FUNCTION}, {"line", DW_SPOT_LINE}, {"module", DW_SPOT_MODULE}};

static const struct {
    const char *word;
    enum dw_sample_sort sort;
} orders[] = {{"self", DW_SAMPLES_SORT_SELF},     {"total", DW_SAMPLES_SORT_TOTAL},
              {"samples", DW_SAMPLES_SORT_COUNT}, {"count", DW_SAMPLES_SORT_COUNT},
              {"name", DW_SAMPLES_SORT_NAME},     {"tottime", DW_SAMPLES_SORT_SELF},
              {"time", DW_SAMPLES_SORT_SELF},     {"cumulative", DW_SAMPLES_SORT_TOTAL},
              {"cumtime", DW_SAMPLES_SORT_TOTAL}};

bool dw_sample_by_is_known(const char *by)
{
    for (size_t i = 0; by && i < sizeof groupings / sizeof *groupings; i++)
        if (!strcmp(groupings[i].word, by))
            return true;
    return !by;
}

static int parse_sort(const char *word, enum dw_sample_sort *sort)
{
    struct dw_guess guess = {.typed = word};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (!strcmp(orders[i].word, word)) {
            *sort = orders[i].sort;
            return 0;
        }
        dw_guess_try(&guess, orders[i].word);
    }
    return dw_cli_unknown("cannot sort samples by", "", &guess,
                          "there are: self, total, samples, name");
}

static int parse_limit(const char *word, uint64_t *limit)
{
    char *end;
    errno = 0;
    *limit = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno)
        return dw_cli_usage("--limit needs a number of rows, not '%s'", word);
    return 0;
}

static int parse_use(struct dw_sample_request *request, const struct dw_option_use *use)
{
    if (!strcmp(use->name, "limit"))
        return parse_limit(use->value, &request->options.limit);
    if (request->options.match)
        return dw_cli_usage("--match can be given only once with samples");
    int status = dw_cli_compile(use->value, &request->pattern);
    if (!status)
        request->options.match = &request->pattern;
    return status;
}

int dw_sample_request_init(struct dw_sample_request *request, const struct dw_report_words *words,
                           const struct dw_function_words *functions)
{
    const struct dw_option_uses *uses = &functions->restrictions;
    *request = (struct dw_sample_request){.options = {.full_paths = functions->full_paths}};
    for (size_t i = 0; words->by && i < sizeof groupings / sizeof *groupings; i++)
        if (!strcmp(groupings[i].word, words->by))
            request->options.by = groupings[i].by;
    int status = words->sort ? parse_sort(words->sort, &request->options.sort) : 0;
    for (uint32_t i = 0; !status && i < uses->count; i++)
        status = parse_use(request, &uses->uses[i]);
    return status;
}

void dw_sample_request_release(struct dw_sample_request *request)
{
    if (request->options.match)
        regfree(&request->pattern);
}
