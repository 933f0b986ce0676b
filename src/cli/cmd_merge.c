/* SPDX-License-Identifier: MIT
 * `dwell merge`: many recordings as one. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/pieces.h"
#include "cli/run/recordings.h"

#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: dwell merge FILE... -o OUT\n"
    "       dwell merge --children FILE\n"
    "\n"
    "Makes one recording of many: the processes of a run, its hosts, or several runs.\n"
    "OUT appears only when it is whole, and may replace one of the inputs.\n"
    "\n"
    "  -o, --output OUT   where to\n"
    "  --children         makes NAME.PID.dwell, the files of the processes that the one of\n"
    "                     NAME.dwell has started, part of it, once they have ended\n"
    "  --keep             with --children: they stay beside it\n"
    "\n"
    "example:\n"
    "  dwell merge rank*.dwell -o all.dwell && dwell report all.dwell --by process\n";

static int merge(char **files, int count, const char *path)
{
    struct dw_pieces pieces = {0};
    int error = 0;
    for (int i = 0; i < count && !error; i++)
        error = dw_pieces_add(&pieces, files[i]);
    if (error)
        return dw_cli_error(path, error);
    dw_pieces_sort(&pieces);
    bool is_whole = dw_pieces_merge(&pieces, path, true) && !dw_pieces_unread(&pieces);
    dw_pieces_release(&pieces);
    return is_whole ? 0 : DW_EXIT_TROUBLE;
}

static int merge_children(const char *file, bool keeps)
{
    char *path = realpath(file, NULL);
    if (!path)
        return dw_cli_error(file, DW_ERR_IO);
    struct dw_recordings recordings = {.out_file = path,
                                       .since = (time_t)(dw_piece_of(path).start_ns / 1000000000u),
                                       .keeps = keeps,
                                       .says = true};
    dw_recordings_gather(&recordings);
    free(path);
    if (recordings.living)
        fprintf(stderr, "dwell: %s: %u child%s not ended yet\n", file, recordings.living,
                recordings.living == 1 ? " has" : "ren have");
    return recordings.beside ? DW_EXIT_TROUBLE : 0;
}

int dw_cmd_merge(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    const char *path = NULL;
    bool children = false, keep = false;
    const struct dw_option known[] = {{.name = "output", .letter = 'o', .value = &path},
                                      {.name = "children", .flag = &children},
                                      {.name = "keep", .flag = &keep},
                                      {.name = NULL}};
    int files = dw_cli_parse(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    if (children || keep)
        return children && files == 1 && !path
                   ? merge_children(argv[1], keep)
                   : dw_cli_usage("merge --children takes one file, which gets what its children "
                                  "have; see 'dwell merge --help'");
    if (!files || !path)
        return dw_cli_usage("merge needs files and -o OUT; see 'dwell merge --help'");
    int status = dw_cli_check_recording(path);
    return status ? status : merge(argv + 1, files, path);
}
