/* SPDX-License-Identifier: MIT
 * The mode, and the short table at the end, are `attach`'s alone. Signals only set a flag, which
 * loops look at; one that arrives during a sleep ends it. */
#include "cli/sampling_options.h"

#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_RATE_HZ 1e6
#define REPORT_ROWS 25

volatile int dw_cli_stopped;

static void on_signal(int number)
{
    (void)number;
    dw_cli_stopped = 1;
}

/* No SA_RESTART: sleeping ends at once. */
void dw_cli_catch_stop(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int dw_cli_parse_rate(const char *word, uint64_t *period_ns)
{
    char *end;
    double rate_hz = strtod(word, &end);
    *period_ns = 0;
    if (!strcmp(word, "max"))
        return 0;
    if (end == word || *end || !(rate_hz >= 0.01) || rate_hz > MAX_RATE_HZ)
        return dw_cli_usage("--rate needs samples a second, up to 1000000, or 'max', not '%s'",
                            word);
    *period_ns = (uint64_t)(1e9 / rate_hz);
    return 0;
}

int dw_cli_parse_mode(const char *word, enum dw_sample_mode *mode)
{
    bool is_cpu = !strcmp(word, "cpu");
    if (!is_cpu && strcmp(word, "wall") != 0)
        return dw_cli_usage("no mode '%s'; there are: wall, cpu", word);
    *mode = is_cpu ? DW_SAMPLE_CPU : DW_SAMPLE_WALL;
    return 0;
}

void dw_cli_report_samples(const char *path)
{
    int status = 0;
    struct dw_out out;
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = REPORT_ROWS};
    struct dw_view_options view =
        dw_view_of_samples("function", (struct dw_restrictions){&first, 1});
    struct dw_lens_options options = {.view = &view, .width = dw_cli_width(STDERR_FILENO)};
    char *files[] = {(char *)(uintptr_t)path};
    struct dw_profile *profile = dw_cli_load(files, 1, 0, &(struct dw_native_words){0}, &status);
    if (!profile)
        return;
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_view_table.write(profile, &options, &out);
    dw_out_close(&out);
    dw_profile_free(profile);
}
