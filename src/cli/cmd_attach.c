/* SPDX-License-Identifier: MIT
 * `dwell attach`: records a running process from outside. */
#include "cli/cli.h"

#include "attach/sampling/describe.h"
#include "attach/sampling/recording.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/attach_heap.h"
#include "cli/process_text.h"
#include "cli/run/child.h"
#include "cli/run/python.h"
#include "cli/sampling_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRESS_EVERY_NS 500000000
#define PATIENCE_NS 500000000 /* with a process that is only starting */
#define ENTERED_MINOR 14      /* of the first Python 3 that lets others in */

static const char help[] =
    "usage: dwell attach PID [options]\n"
    "\n"
    "Records where a running Python process spends its time, by looking at the stacks of all its\n"
    "threads from outside, until it ends, the time is over or Ctrl-C. The process needs nothing\n"
    "installed, is not changed, and goes on running: only a thread whose stack changes too fast\n"
    "to be read is stopped, for some millionths of a second. CPython 3.11 to 3.15.\n"
    "\n"
    "  -o FILE         the recording (default: PROGRAM.PID.dwell in this directory)\n"
    "  --duration S    stop after so many seconds\n"
    "  --rate HZ       samples a second (default: 100), or 'max'\n"
    "  --mode MODE     wall: elapsed time, waiting included (the default); cpu: CPU time\n"
    "  --subprocesses  children that run Python too, each in a file NAME.PID.dwell\n"
    "  --native        native frames between the Python ones, and threads that Python does not\n"
    "                  know; stops each thread that runs, for some hundred-thousandths of a\n"
    "                  second a sample\n"
    "  --timeline      keep every sample, not only sums\n"
    "  --heap          no samples but a picture of the heap, as it is now: all objects and what\n"
    "                  holds them; stops the process meanwhile, and says for how long\n"
    "  --memory[=HOW]  what the process allocates, by samples or =exact, in place of its time. "
    "This\n"
    "                  runs code in the process, which Python allows from 3.14 on\n"
    "  --redact WHAT   leave out argv, sources or both (argv,sources): the command line, the text\n"
    "                  of source files\n"
    "  -q, --quiet     no report at the end\n"
    "\n"
    "examples:\n"
    "  dwell attach 4711 --duration 10\n"
    "  dwell attach 4711 --heap -o heap.dwell\n"
    "  dwell attach $(pgrep -f train.py) --rate 1000 -o train.dwell\n"
    "\n"
    "The memory of other users' processes can be read only by root. The exit status is 1 when\n"
    "the process cannot be read.\n";

struct attach {
    struct dw_recording_options options;
    struct dw_recording recording;
    uint64_t duration_ns; /* UINT64_MAX: no end */
    char path[PATH_MAX];
    bool quiet, is_shown, heap, memory;
};

static int parse_duration(const char *word, uint64_t *duration_ns)
{
    char *end;
    double seconds = strtod(word, &end);
    if (end == word || *end || !(seconds > 0) || seconds > 1e9)
        return dw_cli_usage("--duration needs a number of seconds, not '%s'", word);
    *duration_ns = (uint64_t)(seconds * 1e9);
    return 0;
}

/* PROGRAM.PID.dwell, when no name was given. */
static void make_path(struct attach *attach, const char *word)
{
    struct dw_out name;
    struct dw_target target = {.pid = attach->options.pid};
    attach->options.path = attach->path;
    if (word) {
        snprintf(attach->path, sizeof attach->path, "%s", word);
        return;
    }
    attach->options.is_path_ours = true;
    dw_out_init_memory(&name);
    dw_target_put_program(&target, &name);
    size_t size = name.buffer.size;
    if (size > 3 && !memcmp(name.buffer.data + size - 3, ".py", 3))
        size -= 3;
    bool is_named = size && name.buffer.data[0] != '-';
    snprintf(attach->path, sizeof attach->path, "%.*s.%d.dwell", is_named ? (int)size : 6,
             is_named ? (const char *)name.buffer.data : "python", (int)target.pid);
    for (char *at = attach->path; (at = strchr(at, '/'));)
        *at = '_';
    dw_out_close(&name);
}

static void show_progress(const struct attach *attach)
{
    struct dw_recording_numbers numbers = dw_recording_numbers(&attach->recording);
    double seconds = (double)(attach->recording.ended_ns - attach->recording.begun_ns) / 1e9;
    if (attach->is_shown)
        fprintf(stderr, "\r\033[K%.0f s, %" PRIu64 " samples, %.0f a second; Ctrl-C ends it",
                seconds, numbers.taken, numbers.rate_hz);
}

static int record(struct attach *attach)
{
    uint64_t begun_ns = attach->recording.begun_ns, end_ns = UINT64_MAX;
    int error = 0;
    if (attach->duration_ns < UINT64_MAX - begun_ns)
        end_ns = begun_ns + attach->duration_ns;
    while (!error && !dw_cli_stopped && !attach->recording.is_over) {
        uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + PROGRESS_EVERY_NS;
        if (until_ns > end_ns)
            until_ns = end_ns;
        error = dw_recording_run(&attach->recording, until_ns, &dw_cli_stopped);
        show_progress(attach);
        if (until_ns == end_ns)
            break;
    }
    if (attach->is_shown)
        fputs("\r\033[K", stderr);
    int trouble = dw_recording_end(&attach->recording);
    return error ? error : trouble;
}

static void report(struct attach *attach)
{
    struct dw_recording_numbers numbers = dw_recording_numbers(&attach->recording);
    uint32_t files = dw_recording_file_count(&attach->recording);
    if (attach->quiet)
        return;
    dw_cli_report_samples(attach->path);
    if (attach->recording.is_over || attach->recording.is_barred)
        dw_cli_process_end(attach->options.pid, attach->recording.is_barred);
    if (attach->recording.lacks_files)
        fprintf(stderr, "dwell: not everything could be recorded: %s; see 'ulimit -n'\n",
                strerror(EMFILE));
    if (numbers.stops)
        fprintf(stderr,
                "dwell: to be read, threads were stopped %" PRIu64 " time%s, for %.1f ms in all\n",
                numbers.stops, numbers.stops == 1 ? "" : "s", (double)numbers.stopped_ns / 1e6);
    fprintf(stderr, "dwell: recorded in %s", attach->path);
    if (files > 1)
        fprintf(stderr, " and the files of %u child%s", files - 1, files == 2 ? "" : "ren");
    fputs("; see 'dwell report' and 'dwell export'\n", stderr);
}

static int run(struct attach *attach)
{
    attach->is_shown = !attach->quiet && isatty(STDERR_FILENO);
    if (attach->options.native && !attach->quiet)
        fputs("dwell: with --native, threads that run are stopped for a moment for each sample\n",
              stderr);
    int error = dw_recording_begin(&attach->recording, &attach->options, PATIENCE_NS);
    int status = 0;
    if (error == DW_ERR_IO) {
        status = dw_cli_error(attach->path, error);
    } else if (error) {
        status = dw_cli_process_trouble(attach->options.pid,
                                        &dw_recording_sampler(&attach->recording)->python, error);
    } else {
        error = record(attach);
        if (!error && access(attach->path, F_OK))
            error = DW_ERR_REMOVED;
        if (error)
            status = dw_cli_error(attach->path, error);
        else
            report(attach);
    }
    dw_recording_release(&attach->recording);
    return status;
}

/* 0, or the exit status after saying why not. */
static int check_version(pid_t pid)
{
    struct dw_target target = {0};
    struct dw_python python = {0};
    int error = dw_target_open(pid, &target);
    if (!error)
        error = dw_python_locate(&target, &python);
    unsigned minor = dw_python_minor(&python);
    int status = error ? dw_cli_process_trouble(pid, &python, error) : 0;
    dw_target_release(&target);
    if (error || minor >= ENTERED_MINOR)
        return status;
    dw_cli_usage(
        "process %d runs Python 3.%u, which lets nobody in: from 3.%d on it does. Start it "
        "with 'dwell run --memory', or call dwell.memory.track() in it",
        (int)pid, minor, ENTERED_MINOR);
    return DW_EXIT_TROUBLE;
}

/* What allocates is seen in the process only. From 3.14 on Python lets others run code in a
 * process; what does so is Python too. */
static int record_memory(pid_t pid, const char *path, const char *mode, double seconds)
{
    char found[PATH_MAX], process[16], time[32];
    int status = check_version(pid);
    if (status)
        return status;
    snprintf(process, sizeof process, "%d", (int)pid);
    snprintf(time, sizeof time, "%.9g", seconds);
    char *const arguments[] = {
        "-P", "-m", "dwell.memory._attach", process, (char *)path, (char *)mode, time, NULL};
    struct dw_child_times times;
    const char *python = dw_python_find(found, sizeof found);
    status = dw_child_run(python, arguments, 0, &times);
    return status < 0 ? dw_cli_error(python, DW_ERR_IO) : dw_child_exit(status);
}

static int run_memory(const struct attach *attach, const char *mode)
{
    double seconds = attach->duration_ns == UINT64_MAX ? 1e9 : (double)attach->duration_ns / 1e9;
    bool is_known = !mode || !strcmp(mode, "sampled") || !strcmp(mode, "exact");
    if (!is_known)
        return dw_cli_usage("--memory is 'sampled' or 'exact', not '%s'", mode);
    int status = record_memory(attach->options.pid, attach->path, mode ? mode : "sampled", seconds);
    if (status || attach->quiet)
        return status;
    fprintf(stderr, "dwell: recorded in %s; see 'dwell report', 'dwell plot' and 'dwell export'\n",
            attach->path);
    char *words[] = {"report", (char *)attach->path, NULL};
    return dw_cmd_report(2, words);
}

int dw_cmd_attach(int argc, char **argv)
{
    struct attach attach = {.duration_ns = UINT64_MAX, .options.mode = DW_SAMPLE_WALL};
    const char *out = NULL, *duration = NULL, *rate = "100", *mode = "wall", *redact = NULL,
               *memory = NULL;
    const struct dw_option options[] = {
        {.name = "output", .letter = 'o', .value = &out},
        {.name = "duration", .letter = 'd', .value = &duration},
        {.name = "rate", .letter = 'r', .value = &rate},
        {.name = "mode", .value = &mode},
        {.name = "subprocesses", .letter = 's', .flag = &attach.options.subprocesses},
        {.name = "native", .letter = 'n', .flag = &attach.options.native},
        {.name = "timeline", .flag = &attach.options.timeline},
        {.name = "heap", .flag = &attach.heap},
        {.name = "memory", .flag = &attach.memory, .value = &memory},
        {.name = "redact", .value = &redact},
        {.name = "quiet", .letter = 'q', .flag = &attach.quiet},
        {.name = NULL},
    };
    if (dw_cli_help(argc, argv, help))
        return 0;
    if (dw_cli_parse_process(options, argc, argv, &attach.options.pid) ||
        dw_cli_parse_rate(rate, &attach.options.period_ns) ||
        dw_cli_parse_mode(mode, &attach.options.mode) ||
        (duration && parse_duration(duration, &attach.duration_ns)) || dw_cli_redact(redact) ||
        (out && dw_cli_check_recording(out)))
        return DW_EXIT_USAGE;
    make_path(&attach, out);
    if (attach.heap)
        return dw_cli_attach_heap(attach.options.pid, attach.path, attach.options.is_path_ours,
                                  attach.quiet);
    if (attach.memory)
        return run_memory(&attach, memory);
    dw_cli_catch_stop();
    return run(&attach);
}
