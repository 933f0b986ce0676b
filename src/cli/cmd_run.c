/* SPDX-License-Identifier: MIT
 * dwell run: starts the program as Python itself would, waits, and reports. The
 * interpreter is told by its environment what to record, so the program finds
 * the same argv, path, frames and exit that it has without us. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/run/child.h"
#include "cli/run/python.h"
#include "cli/run/run_options.h"
#include "cli/run/run_rank.h"
#include "cli/run/run_report.h"
#include "log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_PERIOD_NS 1e18
#define CANNOT_START 127 /* as shells have it */

static const char help[] =
    "usage: dwell run [options] script.py | -m module | -c code | -  [arguments...]\n"
    "\n"
    "Runs a Python program as Python would, records it, and says where its time went.\n"
    "\n"
    "  dwell run train.py --epochs 3            samples of all threads, Python and native code\n"
    "  dwell run --mode wall -m mypackage       where it waits, too\n"
    "  dwell run --lines -f Model.fit train.py  the lines of one function\n"
    "  dwell run --sample --calls train.py      samples, and every call exactly, in one file\n"
    "  dwell run -o run.dwell train.py          for 'dwell report run.dwell'\n"
    "\n"
    "what is recorded, any of these together (default: samples, and the regions that are marked):\n"
    "  --sample        samples of all threads, Python and native code\n"
    "  --regions       marked regions; alone, without samples\n"
    "  --calls         every call, exactly, of all threads\n"
    "  --lines         the lines of functions marked with @profile, a builtin, or @dwell.profile\n"
    "  --memory[=HOW]  what is allocated: by samples (sampled), or each allocation (exact; the\n"
    "                  default with --lines); memory and CPU over time, for 'dwell plot'\n"
    "  --heap[=WHEN]   the objects that are alive: at the end, and every so often (10s), at a\n"
    "                  signal (USR1, USR2, HUP) or where a region begins and ends (region:NAME)\n"
    "  --leaks[=TIME]  what becomes more and more, by type and by line, and what holds it\n";
static const char help_of_options[] =
    "\n"
    "  --mode MODE     of samples: cpu, the time that threads run (the default), or wall, all of "
    "it\n"
    "  --rate HZ       so many samples for each second that a thread runs (default: 1000)\n"
    "  --no-native     of samples: only Python frames\n"
    "  --interval TIME of memory over time: between two readings (100ms)\n"
    "  --pss           of memory over time: PSS beside RSS\n"
    "  --pdb-above N   with --memory: a debugger at the line where more than N (100M) is resident\n"
    "  --stop-above N  with --memory: the program is stopped when more than N is resident\n"
    "  --timeline      every sample and event, for 'dwell export --to chrome'\n"
    "  --cpu           the CPU time of regions beside their wall time\n"
    "  --signatures    calls, each function apart by the types of its arguments\n"
    "  -f FUNCTION     lines of func, Class, Class.method, module or module.func; may be repeated\n"
    "  --callees       with lines: also what each line calls\n"
    "  --redact WHAT   not the command line (argv), source files (sources) or argv,sources\n"
    "\n"
    "which processes: all that it starts and that run Python, in one file (default)\n"
    "  --no-follow     only the program itself\n"
    "  --only NAME     processes of that name, as worker.py or 'SpawnPoolWorker-*'\n"
    "  --keep          the files NAME.PID.dwell of the processes stay beside it\n"
    "\n"
    "how:\n"
    "  -o FILE         the recording; replaces an earlier one (default: NAME.PID.dwell, a new "
    "file)\n"
    "  --ranks LIST    of an MPI job only these ranks, as in 0,7; files are run.rank0.dwell, ...\n"
    "  --merge-ranks   rank 0 waits for the others at the end and makes one file of all\n"
    "  --python PATH   the interpreter (default: the one beside this dwell)\n"
    "  -q, --quiet     no report at the end\n"
    "\n"
    "Options of Python, as -X dev, -W error or -u, go before the program; behind -- also those\n"
    "that are called like one of these. The exit status is the program's.\n";

static void print_help(void)
{
    fputs(help, stdout);
    dw_run_print_more_probes();
    fputs(help_of_options, stdout);
}

/* The recording, as the user would type it and with all its directories. */
struct place {
    char name[PATH_MAX], path[PATH_MAX];
};

static int find_place(const struct dw_run_options *run, struct place *place)
{
    char directory[PATH_MAX] = "", program[NAME_MAX];
    dw_python_program_name(run->program, program, sizeof program);
    int size = dw_run_rank_name(run->out, program, place->name, sizeof place->name);
    if (place->name[0] != '/' && !getcwd(directory, sizeof directory))
        return -1;
    errno = ENAMETOOLONG;
    return size < (int)sizeof place->name &&
                   snprintf(place->path, sizeof place->path, "%s%s%s", directory,
                            *directory ? "/" : "", place->name) < (int)sizeof place->path
               ? 0
               : -1;
}

/* Removes an old recording, so that what is there afterwards is of this run. Only regular files
 * go. */
static void remove_old(const char *path)
{
    struct stat status;
    if (!lstat(path, &status) && S_ISREG(status.st_mode))
        unlink(path);
}

/* When false, errno says why. */
static bool can_write(const char *path)
{
    struct stat status;
    if (!stat(path, &status)) {
        errno = EISDIR;
        return !S_ISDIR(status.st_mode) && !access(path, W_OK);
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    close(file);
    unlink(path);
    return true;
}

static bool has_bytes(const char *path)
{
    struct stat status;
    return !stat(path, &status) && (status.st_size || !S_ISREG(status.st_mode));
}

/* Makes room for the recording; a name that we made up is claimed at once. When false, errno says
 * why. */
static bool prepare_place(const struct dw_run_options *run, struct place *place)
{
    if (find_place(run, place) || (run->out && !can_write(place->path)))
        return false;
    remove_old(place->path);
    return run->out || !dw_log_claim(place->path);
}

static int run_plainly(const struct dw_run_options *run, const char *python)
{
    struct dw_child_times times;
    int status = dw_child_run(python, run->words, 0, &times);
    return status < 0 ? CANNOT_START : dw_child_exit(status);
}

/* There is no place for the recording. If it was asked for, the program does not start; else, as in
 * a directory that was deleted, it runs as it would without dwell. */
static int run_unrecorded(const struct dw_run_options *run, const struct place *place,
                          const char *python)
{
    fprintf(stderr, "dwell: %s: %s; %s\n", place->name, strerror(errno),
            run->out ? "the program was not started"
                     : "nothing is recorded: name another place with -o");
    return run->out ? DW_EXIT_TROUBLE : run_plainly(run, python);
}

static void set_functions(const struct dw_run_options *run)
{
    const struct dw_buffer *names = &run->functions.buffer;
    char *text = names->size ? strndup((const char *)names->data, names->size) : NULL;
    if (text)
        setenv("DWELL_LINES", text, 1);
    free(text);
}

static void put_words(struct dw_out *out, const struct dw_run_options *run)
{
    const struct {
        bool is_meant;
        const char *word;
    } words[] = {
        {run->sample, "sample"},
        {run->calls, "calls"},
        {run->regions, "regions"},
        {run->lines, "lines"},
        {run->memory, "memory"},
        {run->memory, "gauges"},
        {run->exact_memory, "exact-memory"},
        {run->pss, "pss"},
        {run->signatures, "signatures"},
        {run->callees, "callees"},
        {run->timeline, "timeline"},
        {run->cpu, "cpu"},
        {run->wall, "wall"},
        {!run->no_native, "native"},
        {!run->no_follow, "subprocesses"},
        {dw_redacts(DW_REDACT_ARGV), "no-argv"},
        {dw_redacts(DW_REDACT_SOURCES), "no-sources"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].is_meant)
            dw_out_printf(out, "%s,", words[i].word);
    dw_out_text(out, run->more);
}

/* What the interpreter is to record, and where. */
static int set_request(const struct dw_run_options *run, const char *out_file)
{
    struct dw_out wanted;
    dw_out_init_memory(&wanted);
    put_words(&wanted, run);
    if (run->pdb_above > 0)
        dw_out_printf(&wanted, "pdb=%.0f,", run->pdb_above);
    dw_out_printf(&wanted, "period=%.0f,interval=%.0f,by=%d ",
                  fmin(1e9 / run->rate_hz, LONGEST_PERIOD_NS), run->interval_ns, (int)getpid());
    dw_out_text(&wanted, out_file);
    dw_out_char(&wanted, 0);
    if (!wanted.error)
        setenv("DWELL_RUN", (const char *)wanted.buffer.data, 1);
    set_functions(run);
    return dw_out_close(&wanted) ? dw_cli_error("run", DW_ERR_MEMORY) : 0;
}

/* Whether the script does not exist, which Python itself reports. */
static bool is_missing(char *const *program)
{
    return program[0][0] != '-' && access(program[0], F_OK);
}

static void report_nothing(const struct dw_run_options *run, const struct dw_run_end *end,
                           const char *python)
{
    char reason[PATH_MAX + 64];
    if (!run->out)
        unlink(end->out_file);
    snprintf(reason, sizeof reason, "nothing was recorded%s%s%s",
             WIFSIGNALED(end->status) ? " yet" : ": is dwell installed for ",
             WIFSIGNALED(end->status) ? "" : python, WIFSIGNALED(end->status) ? "" : "?");
    dw_run_report_nothing(end, reason);
}

static void report_recorded(const struct dw_run_options *run, const struct dw_run_end *end)
{
    char program[NAME_MAX];
    dw_python_program_name(run->program, program, sizeof program);
    dw_run_report(end);
    if (!run->merge_ranks)
        dw_run_rank_say_merge(run->out, program);
}

static void report(const struct dw_run_options *run, const struct dw_run_end *end,
                   const char *python)
{
    bool is_missing_script = end->status && is_missing(run->program);
    if (is_missing_script && !run->out)
        unlink(end->out_file);
    if (run->quiet || is_missing_script || dw_run_rank_is_silent())
        return;
    if (has_bytes(end->out_file))
        report_recorded(run, end);
    else
        report_nothing(run, end, python);
}

/* Makes one recording of all that the run left, and says how it went. */
static void finish(const struct dw_run_options *run, struct dw_run_end *end, time_t since,
                   const char *python)
{
    struct dw_recordings recordings = {.out_file = end->out_file,
                                       .since = since,
                                       .only = run->only,
                                       .keeps = run->keep,
                                       .says = !run->quiet};
    dw_recordings_gather(&recordings);
    end->recordings = &recordings;
    report(run, end, python);
    end->recordings = NULL;
    if (run->merge_ranks && dw_run_rank_merge(run->out, run->ranks, run->keep) && !run->quiet)
        fprintf(stderr, "dwell: all ranks are in %s; dwell report %s --by rank\n", run->out,
                run->out);
}

static int start(const struct dw_run_options *run)
{
    time_t since = time(NULL);
    char found[PATH_MAX];
    struct place place;
    const char *python = run->python ? run->python : dw_python_find(found, sizeof found);
    if (strchr(python, '/') && access(python, X_OK)) {
        dw_cli_error(python, DW_ERR_IO);
        return CANNOT_START;
    }
    if (dw_run_rank_is_left_out(run->ranks))
        return run_plainly(run, python);
    if (!prepare_place(run, &place))
        return run_unrecorded(run, &place, python);
    int status = set_request(run, place.path);
    if (status)
        return status;
    struct dw_run_end end = {.out_file = place.path, .name = place.name, .asked = run};
    end.status = dw_child_run(python, run->words, (uint64_t)run->stop_above, &end.times);
    if (end.status < 0) {
        dw_cli_error(python, DW_ERR_IO);
        return CANNOT_START;
    }
    finish(run, &end, since, python);
    return dw_child_exit(end.status);
}

int dw_cmd_run(int argc, char **argv)
{
    struct dw_run_options run;
    int status = dw_run_options_init(&run, argc, argv);
    if (run.help)
        print_help();
    else if (!status)
        status = start(&run);
    dw_run_options_release(&run);
    return status;
}
