/* SPDX-License-Identifier: MIT
 * Recordings as reports want them: samples added up, and native code with names that people
 * can read. */
#include "cli/cli.h"

#include "cli/memory_limit.h"

#include <stdio.h>

/* On another machine than that of the recording, every file differs. */
#define MAX_COMPLAINTS 5

static int parse_names(const char *word, enum dw_demangle *names)
{
    static const struct {
        const char *word;
        enum dw_demangle names;
    } known[] = {
        {"short", DW_DEMANGLE_SHORT}, {"full", DW_DEMANGLE_FULL}, {"raw", DW_DEMANGLE_NONE}};
    *names = DW_DEMANGLE_SHORT;
    if (!word)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(known[i].word, word)) {
            *names = known[i].names;
            return 0;
        }
    }
    return dw_cli_usage("--names is short, full or raw, not '%s'", word);
}

int dw_native_words_check(const struct dw_native_words *words)
{
    enum dw_demangle names;
    return parse_names(words->names, &names);
}

static void complain(void *context, const char *module, const char *reason)
{
    uint32_t *count = context;
    if ((*count)++ < MAX_COMPLAINTS)
        fprintf(stderr, "dwell: %s: %s\n", module, reason);
}

int dw_cli_make_showable(struct dw_profile *profile, const struct dw_native_words *words)
{
    uint32_t complaints = 0;
    struct dw_annotate_options options = {
        .lines = words->lines, .complain = complain, .context = &complaints};
    parse_names(words->names, &options.names);
    if (options.lines)
        dw_memory_unlimit(); /* debug information is as large as it is */
    bool is_sampled = dw_profile_measures(profile) & DW_STACK_MASK;
    int error = is_sampled ? dw_annotate(profile, &options) : 0;
    dw_memory_limit();
    if (complaints > MAX_COMPLAINTS)
        fprintf(stderr, "dwell: the same goes for %u more files\n", complaints - MAX_COMPLAINTS);
    if (error)
        return error;
    return words->only_functions ? dw_profile_prepare_functions(profile, words->internals)
                                 : dw_profile_prepare(profile, words->internals);
}

struct dw_profile *dw_cli_load(char **files, int count, unsigned flags,
                               const struct dw_native_words *words, int *status)
{
    struct dw_profile *profile = dw_cli_read(files, count, flags, status);
    int error = profile ? dw_cli_make_showable(profile, words) : 0;
    if (!error)
        return profile;
    *status = dw_cli_error(files[0], error);
    dw_profile_free(profile);
    return NULL;
}
