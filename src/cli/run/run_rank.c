/* SPDX-License-Identifier: MIT */
#include "cli/run/run_rank.h"

#include "record/rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DWELL ".dwell"

/* How much of the name comes before the extension. */
static int stem_of(const char *name)
{
    size_t size = strlen(name), extension = strlen(DWELL);
    bool has_extension = size > extension && !strcmp(name + size - extension, DWELL);
    return (int)(has_extension ? size - extension : size);
}

int dw_run_rank_name(const char *out, const char *program, char *name, size_t size)
{
    struct dw_rank rank;
    char of_rank[24] = "";
    bool is_ranked = dw_rank_now(&rank);
    if (is_ranked)
        snprintf(of_rank, sizeof of_rank, ".rank%" PRIu32, rank.rank);
    if (!out)
        return snprintf(name, size, "%s%s.%d" DWELL, program, of_rank, (int)getpid());
    int stem = is_ranked ? stem_of(out) : (int)strlen(out);
    return snprintf(name, size, "%.*s%s%s", stem, out, of_rank, is_ranked ? DWELL : "");
}

bool dw_run_rank_is_left_out(const char *list)
{
    struct dw_rank rank;
    if (!list || !dw_rank_now(&rank))
        return false;
    for (char *at = (char *)list; *at; at += *at == ',')
        if (strtoul(at, &at, 10) == rank.rank)
            return false;
    return true;
}

bool dw_run_rank_is_silent(void)
{
    struct dw_rank rank;
    return dw_rank_now(&rank) && rank.rank > 0;
}

void dw_run_rank_say_merge(const char *out, const char *program)
{
    struct dw_rank rank;
    const char *name = out ? out : program;
    int stem = stem_of(name);
    if (dw_rank_now(&rank))
        fprintf(stderr,
                "dwell: this was rank %" PRIu32 " of %" PRIu32 "; all of them, when they ended:\n"
                "  dwell merge %.*s.rank*.dwell -o %.*s.dwell && "
                "dwell report %.*s.dwell --by rank\n",
                rank.rank, rank.size, stem, name, stem, name, stem, name);
}
