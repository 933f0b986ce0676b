/* SPDX-License-Identifier: MIT
 * The rank comes from the environment (record/rank.h). Rank 0 reports, and merges where that is
 * asked for; the others write their file and are silent. */
#include "cli/run/run_rank.h"

#include "base/error.h"
#include "cli/pieces.h"
#include "log/reader.h"
#include "record/rank.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DWELL ".dwell"
/* The end of MPI is one that all ranks reach together; then each writes the last of its own. */
#define PATIENCE_ROUNDS 600
#define PATIENCE_NS 50000000

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

static bool is_in_list(uint32_t rank, const char *list)
{
    for (char *at = (char *)(uintptr_t)list; *at; at += *at == ',')
        if (strtoul(at, &at, 10) == rank)
            return true;
    return false;
}

bool dw_run_rank_is_left_out(const char *list)
{
    struct dw_rank rank;
    return list && dw_rank_now(&rank) && !is_in_list(rank.rank, list);
}

/* Whether all processes of the recording have closed it. */
static bool is_closed(const char *path)
{
    struct dw_profile *profile;
    if (dw_profile_new(&profile))
        return false;
    bool is_whole = !dw_log_read_file(path, DW_READ_PROCESSES, profile);
    for (uint32_t i = 0; i < profile->process_count; i++)
        is_whole &= profile->processes[i].ended;
    dw_profile_free(profile);
    return is_whole;
}

/* Whether files of children are still to become part of it. */
static bool has_children(const char *path)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%.*s.*" DWELL, stem_of(path), path);
    bool is_any = !glob(pattern, GLOB_NOSORT, NULL, &found);
    globfree(&found);
    return is_any;
}

static bool has_come(const char *path, bool keeps)
{
    for (int i = 0; i < PATIENCE_ROUNDS; i++) {
        if (is_closed(path) && (keeps || !has_children(path)))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = PATIENCE_NS}, NULL);
    }
    return !access(path, F_OK); /* its rank was killed */
}

static int add_rank(struct dw_pieces *pieces, const char *out, uint32_t rank, bool keeps)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s.rank%" PRIu32 DWELL, stem_of(out), out, rank);
    if (!has_come(path, keeps)) {
        fprintf(stderr, "dwell: %s is not there: rank %" PRIu32 " may run on, or on another disk\n",
                path, rank);
        return DW_ERR_IO;
    }
    char *copy = strdup(path);
    int error = copy ? dw_pieces_add(pieces, copy) : DW_ERR_MEMORY;
    if (error)
        free(copy);
    return error;
}

bool dw_run_rank_merge(const char *out, const char *list, bool keeps)
{
    struct dw_rank job;
    struct dw_pieces pieces = {0};
    if (!out || !dw_rank_now(&job) || job.rank)
        return false;
    int error = 0;
    for (uint32_t rank = 0; rank < job.size && !error; rank++)
        if (!list || is_in_list(rank, list))
            error = add_rank(&pieces, out, rank, keeps);
    if (!error)
        dw_pieces_sort(&pieces);
    bool is_merged = !error && dw_pieces_merge(&pieces, out, true);
    for (uint32_t i = 0; i < pieces.count; i++) {
        if (is_merged && !keeps && !pieces.pieces[i].error)
            unlink(pieces.pieces[i].file);
        free(pieces.pieces[i].file);
    }
    dw_pieces_release(&pieces);
    return is_merged;
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
