/* SPDX-License-Identifier: MIT
 * What `dwell report --by line` takes: line_profiler's words. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

static int parse_unit(const char *text, double *unit_s)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0)
        return dw_cli_usage("--unit needs seconds such as 1e-3, not '%s'", text);
    *unit_s = value;
    return 0;
}

static int parse_sort(const char *text, bool *by_time)
{
    *by_time = !strcmp(text, "time") || !strcmp(text, "total");
    if (*by_time || !strcmp(text, "file"))
        return 0;
    return dw_cli_usage("cannot sort functions with lines by '%s'; there are: file, time", text);
}

static int parse_uses(struct dw_line_request *request, const struct dw_option_uses *uses)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        if (strcmp(uses->uses[i].name, "match") != 0)
            return dw_cli_usage("--%s does not go with --by line", uses->uses[i].name);
        if (request->options.match)
            return dw_cli_usage("--match can be given only once with --by line");
        int status = dw_cli_compile(uses->uses[i].value, &request->pattern);
        if (status)
            return status;
        request->options.match = &request->pattern;
    }
    return 0;
}

int dw_line_request_init(struct dw_line_request *request, const struct dw_line_words *words,
                         const struct dw_function_words *functions, const char *sort)
{
    const char *foreign = dw_function_words_own(functions);
    *request = (struct dw_line_request){.options = dw_line_defaults};
    request->options.strip_zeros = words->strip_zeros;
    request->options.summarize = words->summarize;
    request->options.callees = functions->callees;
    if (foreign)
        return dw_cli_usage("--%s goes with --by function", foreign);
    int status = words->unit ? parse_unit(words->unit, &request->options.unit_s) : 0;
    if (!status && sort)
        status = parse_sort(sort, &request->options.sort);
    return status ? status : parse_uses(request, &functions->restrictions);
}

void dw_line_request_release(struct dw_line_request *request)
{
    if (request->options.match)
        regfree(&request->pattern);
}

const char *dw_line_words_given(const struct dw_line_words *words)
{
    return words->unit          ? "unit"
           : words->strip_zeros ? "strip-zeros"
           : words->summarize   ? "summarize"
                                : NULL;
}
