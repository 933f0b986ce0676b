/* SPDX-License-Identifier: MIT
 * `dwell merge`: many recordings as one. The inputs are taken in the order of
 * their starts, so that the result does not depend on how they were named. */
#include "cli/cli.h"

#include "base/error.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"
#include "log/reader.h"

#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "usage: dwell merge FILE... -o OUT\n"
    "\n"
    "Makes one recording of many: the processes of a run, its hosts, or several runs.\n"
    "OUT appears only when it is whole, and may replace one of the inputs.\n"
    "\n"
    "  -o, --output OUT   where to\n"
    "\n"
    "example:\n"
    "  dwell merge rank*.dwell -o all.dwell && dwell report all.dwell --by process\n";

struct input {
    char *file;
    uint64_t start_ns;
    uint8_t uuid[16]; /* of the process that started first */
};

static int compare_inputs(const void *left, const void *right)
{
    const struct input *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    int order = memcmp(a->uuid, b->uuid, sizeof a->uuid);
    return order ? order : strcmp(a->file, b->file);
}

/* What cannot be read stays at zero; loading will say why. */
static void identify(struct input *input)
{
    struct dw_profile *profile;
    uint32_t *order = NULL;
    if (dw_profile_new(&profile))
        return;
    bool known = !dw_log_read_file(input->file, DW_READ_PROCESSES, profile) &&
                 profile->process_count && !dw_roster_processes(profile, &order);
    if (known) {
        const struct dw_process *first = &profile->processes[order[0]];
        input->start_ns = first->first_clock.wall_ns;
        memcpy(input->uuid, first->uuid, sizeof input->uuid);
    }
    free(order);
    dw_profile_free(profile);
}

static int sort_inputs(char **files, int count)
{
    struct input *inputs = calloc((size_t)count, sizeof *inputs);
    if (!inputs)
        return dw_cli_error(files[0], DW_ERR_MEMORY);
    for (int i = 0; i < count; i++) {
        inputs[i].file = files[i];
        identify(&inputs[i]);
    }
    qsort(inputs, (size_t)count, sizeof *inputs, compare_inputs);
    for (int i = 0; i < count; i++)
        files[i] = inputs[i].file;
    free(inputs);
    return 0;
}

static void say_losses(const struct dw_profile *profile)
{
    struct dw_out out;
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_notes_put_losses(&out, profile, "dwell: ");
    dw_out_close(&out);
}

int dw_cmd_merge(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    const char *path = NULL;
    const struct dw_option known[] = {{.name = "output", .letter = 'o', .value = &path},
                                      {.name = NULL}};
    int files = dw_cli_parse(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    if (!files || !path)
        return dw_cli_usage("merge needs files and -o OUT; see 'dwell merge --help'");
    int status = dw_cli_check_recording(path);
    if (!status)
        status = sort_inputs(argv + 1, files);
    if (status)
        return status;
    struct dw_profile *profile = dw_cli_read(argv + 1, files, DW_READ_EVENTS, &status);
    if (!profile)
        return status;
    say_losses(profile);
    int saved = dw_cli_save(profile, path);
    return saved ? saved : status;
}
