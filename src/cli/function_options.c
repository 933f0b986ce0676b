/* SPDX-License-Identifier: MIT
 * What `dwell report --by function` takes for a recording of calls: pstats' words. */
#include "cli/cli.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

static int bad_limit(const char *text)
{
    return dw_cli_usage("--limit needs a number of functions or a part of them such as 0.1, "
                        "not '%s'",
                        text);
}

static int parse_fraction(const char *text, struct dw_restriction *restriction)
{
    char *end;
    restriction->kind = DW_RESTRICT_FRACTION;
    restriction->fraction = strtod(text, &end);
    bool is_part = restriction->fraction >= 0 && restriction->fraction <= 1;
    return *end || !is_part ? bad_limit(text) : 0;
}

/* 0 is no limit, as in the other reports. */
static int parse_limit(const char *text, struct dw_restriction *restriction)
{
    char *end;
    if (text[strspn(text, "0123456789.eE+-")] || strpbrk(text, "+-") == text)
        return bad_limit(text);
    if (strpbrk(text, ".eE"))
        return parse_fraction(text, restriction);
    errno = 0;
    restriction->kind = DW_RESTRICT_COUNT;
    restriction->count = strtoull(text, &end, 10);
    if (end == text || *end || errno)
        return bad_limit(text);
    if (!restriction->count)
        restriction->count = UINT64_MAX;
    return 0;
}

int dw_cli_compile(const char *text, regex_t *pattern)
{
    char reason[256];
    int error = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
    if (!error)
        return 0;
    regerror(error, pattern, reason, sizeof reason);
    return dw_cli_usage("--match '%s': %s", text, reason);
}

static int parse_match(const char *text, struct dw_restriction *restriction)
{
    restriction->kind = DW_RESTRICT_PATTERN;
    restriction->text = text;
    return dw_cli_compile(text, &restriction->pattern);
}

static int parse_restrictions(struct dw_function_request *request,
                              const struct dw_option_uses *uses)
{
    request->restrictions = calloc(uses->count + 1u, sizeof *request->restrictions);
    if (!request->restrictions)
        return dw_cli_usage("out of memory");
    for (uint32_t i = 0; i < uses->count; i++) {
        struct dw_restriction *restriction = &request->restrictions[i];
        bool is_match = !strcmp(uses->uses[i].name, "match");
        const char *value = uses->uses[i].value;
        int status = is_match ? parse_match(value, restriction) : parse_limit(value, restriction);
        if (status)
            return status;
        request->count++;
    }
    request->options.restrictions = request->restrictions;
    request->options.restriction_count = request->count;
    return 0;
}

static int say_unknown_sort(const char *sort)
{
    struct dw_guess guess = {.typed = sort};
    dw_function_sort_guess(&guess);
    return dw_cli_unknown("cannot sort functions by", "", &guess, "there are: %s",
                          dw_function_sort_words());
}

int dw_function_request_init(struct dw_function_request *request,
                             const struct dw_function_words *words, const char *sort)
{
    *request = (struct dw_function_request){.options = {.callers = words->callers,
                                                        .callees = words->callees,
                                                        .full_paths = words->full_paths}};
    if (words->full_paths && words->strip_dirs)
        return dw_cli_usage("--full-paths and --strip-dirs exclude each other");
    if (sort && dw_function_sort_parse(sort, &request->options.sort))
        return say_unknown_sort(sort);
    return parse_restrictions(request, &words->restrictions);
}

void dw_function_request_release(struct dw_function_request *request)
{
    for (uint32_t i = 0; i < request->count; i++)
        if (request->restrictions[i].kind == DW_RESTRICT_PATTERN)
            regfree(&request->restrictions[i].pattern);
    free(request->restrictions);
}

const char *dw_function_words_own(const struct dw_function_words *words)
{
    return words->callers      ? "callers"
           : words->full_paths ? "full-paths"
           : words->strip_dirs ? "strip-dirs"
                               : NULL;
}

const char *dw_function_words_given(const struct dw_function_words *words)
{
    for (uint32_t i = 0; i < words->restrictions.count; i++)
        if (!strcmp(words->restrictions.uses[i].name, "match"))
            return "match";
    return words->callees ? "callees" : dw_function_words_own(words);
}
