/* SPDX-License-Identifier: MIT
 * dwell run: starts the program as Python itself would, waits, and reports. The
 * interpreter is told by its environment what to record, so the program finds
 * the same argv, path, frames and exit that it has without us. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/error.h"
#include "cli/run/child.h"
#include "cli/run/python.h"
#include "cli/run/run_report.h"
#include "log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RATE_MAX 100000
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
    "  dwell run -o run.dwell train.py          for 'dwell report run.dwell'\n"
    "\n"
    "what is recorded (default: samples, and the regions that the program marks):\n"
    "  --mode MODE     cpu, the time that threads run (the default), or wall, all their time\n"
    "  --rate HZ       so many samples for each second that a thread runs (default: 1000)\n"
    "  --no-native     only Python frames\n"
    "  --timeline      every sample and event, for 'dwell export --to chrome'\n"
    "  --regions       marked regions alone, without samples\n"
    "  --cpu           the CPU time of regions beside their wall time\n"
    "  --calls         every call, exactly, of all threads (regions are then off)\n"
    "  --signatures    the same, each function apart by the types of its arguments\n"
    "  --lines         the lines of functions marked with @profile, a builtin, or @dwell.profile\n"
    "  -f FUNCTION     the same of func, Class or Class.method of the program, or of module,\n"
    "                  module.func or module.Class; may be repeated\n"
    "  --callees       with lines: also what each line calls\n"
    "  --sample        with lines: samples too, to tell Python, native and waiting time apart\n"
    "  --subprocesses  the Python programs that it starts too, each in a file NAME.PID.dwell, as\n"
    "                  forked children have one in any case (with --calls: none)\n"
    "  --redact WHAT   not the command line (argv), source files (sources) or argv,sources\n"
    "\n"
    "how:\n"
    "  -o FILE         the recording; replaces an earlier one (default: NAME.PID.dwell, a new "
    "file)\n"
    "  --python PATH   the interpreter (default: the one beside this dwell)\n"
    "  -q, --quiet     no report at the end\n"
    "\n"
    "Options of Python, as -X dev, -W error or -u, go before the program; behind -- also those\n"
    "that are called like one of these. The exit status is the program's.\n";

struct run {
    const char *out;
    const char *python;
    bool timeline, cpu, regions, calls, signatures, lines, callees, quiet, help;
    bool sample, wall, no_native, subprocesses;
    double rate_hz;
    struct dw_out functions; /* of -f, one a line */
    char **given;            /* the command line behind "run" */
    char **words;            /* NULL-terminated: options of Python, then the program. Owned */
    int word_count;
    char **program; /* in them: script, -m module, -c code or -, and arguments */
};

/* The recording, as the user would type it and with all its directories. */
struct place {
    char name[PATH_MAX], path[PATH_MAX];
};

static int find_place(const struct run *run, struct place *place)
{
    char directory[PATH_MAX] = "", program[NAME_MAX];
    dw_python_program_name(run->program, program, sizeof program);
    int size =
        run->out ? snprintf(place->name, sizeof place->name, "%s", run->out)
                 : snprintf(place->name, sizeof place->name, "%s.%d.dwell", program, (int)getpid());
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
static bool prepare_place(const struct run *run, struct place *place)
{
    if (find_place(run, place) || (run->out && !can_write(place->path)))
        return false;
    remove_old(place->path);
    return run->out || !dw_log_claim(place->path);
}

/* There is no place for the recording. If it was asked for, the program does not start; else, as in
 * a directory that was deleted, it runs as it would without dwell. */
static int run_unrecorded(const struct run *run, const struct place *place, const char *python)
{
    struct dw_child_times times;
    fprintf(stderr, "dwell: %s: %s; %s\n", place->name, strerror(errno),
            run->out ? "the program was not started"
                     : "nothing is recorded: name another place with -o");
    if (run->out)
        return DW_EXIT_TROUBLE;
    int status = dw_child_run(python, run->words, &times);
    return status < 0 ? CANNOT_START : dw_child_exit(status);
}

static const char *probes_of(const struct run *run)
{
    return run->lines     ? run->sample ? "lines,sample" : "lines"
           : run->calls   ? "calls"
           : run->regions ? run->sample ? "sample,regions" : "regions"
                          : "sample,regions";
}

static void set_functions(const struct run *run)
{
    const struct dw_buffer *names = &run->functions.buffer;
    char *text = names->size ? strndup((const char *)names->data, names->size) : NULL;
    if (text)
        setenv("DWELL_LINES", text, 1);
    free(text);
}

/* What the interpreter is to record, and where. */
static int set_request(const struct run *run, const char *out_file)
{
    char *wanted;
    const char *redactions =
        dw_redacts(DW_REDACT_ARGV)
            ? dw_redacts(DW_REDACT_SOURCES) ? ",no-argv,no-sources" : ",no-argv"
        : dw_redacts(DW_REDACT_SOURCES) ? ",no-sources"
                                        : "";
    if (asprintf(&wanted, "%s%s%s%s%s%s%s%s%s,period=%.0f,by=%d %s", probes_of(run),
                 run->signatures ? ",signatures" : "", run->callees ? ",callees" : "",
                 run->timeline ? ",timeline" : "", run->cpu ? ",cpu" : "", run->wall ? ",wall" : "",
                 run->no_native ? "" : ",native", run->subprocesses ? ",subprocesses" : "",
                 redactions, fmin(1e9 / run->rate_hz, LONGEST_PERIOD_NS), (int)getpid(),
                 out_file) < 0)
        return dw_cli_error("run", DW_ERR_MEMORY);
    setenv("DWELL_RUN", wanted, 1);
    set_functions(run);
    free(wanted);
    return 0;
}

/* Whether the script does not exist, which Python itself reports. */
static bool is_missing(char *const *program)
{
    return program[0][0] != '-' && access(program[0], F_OK);
}

static void report_nothing(const struct run *run, const struct dw_run_end *end, const char *python)
{
    char reason[PATH_MAX + 64];
    if (!run->out)
        unlink(end->out_file);
    snprintf(reason, sizeof reason, "nothing was recorded%s%s%s",
             WIFSIGNALED(end->status) ? " yet" : ": is dwell installed for ",
             WIFSIGNALED(end->status) ? "" : python, WIFSIGNALED(end->status) ? "" : "?");
    dw_run_report_nothing(end, reason);
}

static void report(const struct run *run, const struct dw_run_end *end, const char *python)
{
    bool is_missing_script = end->status && is_missing(run->program);
    if (is_missing_script && !run->out)
        unlink(end->out_file);
    if (run->quiet || is_missing_script)
        return;
    if (has_bytes(end->out_file))
        dw_run_report(end);
    else
        report_nothing(run, end, python);
}

static int start(const struct run *run)
{
    char found[PATH_MAX];
    struct place place;
    const char *python = run->python ? run->python : dw_python_find(found, sizeof found);
    if (strchr(python, '/') && access(python, X_OK)) {
        dw_cli_error(python, DW_ERR_IO);
        return CANNOT_START;
    }
    if (!prepare_place(run, &place))
        return run_unrecorded(run, &place, python);
    int status = set_request(run, place.path);
    if (status)
        return status;
    struct dw_run_end end = {.out_file = place.path,
                             .name = place.name,
                             .is_name_ours = !run->out,
                             .words = run->given,
                             .since = time(NULL),
                             .samples = strstr(probes_of(run), "sample") != NULL,
                             .wall = run->wall,
                             .lines = run->lines,
                             .callees = run->callees,
                             .named = run->functions.buffer.size > 0,
                             .may_be_calls =
                                 !run->sample && !run->regions && !run->timeline && !run->cpu,
                             .subprocesses = run->subprocesses};
    end.status = dw_child_run(python, run->words, &end.times);
    if (end.status < 0) {
        dw_cli_error(python, DW_ERR_IO);
        return CANNOT_START;
    }
    report(run, &end, python);
    return dw_child_exit(end.status);
}

static int take_rate(struct run *run, const char *value)
{
    char *end;
    run->rate_hz = strtod(value, &end);
    run->sample = true;
    if (*end || !(run->rate_hz > 0 && run->rate_hz <= RATE_MAX))
        return dw_cli_usage("--rate is a number of samples for each second, up to %d, not '%s'",
                            RATE_MAX, value);
    return 0;
}

static int take_mode(struct run *run, const char *value)
{
    run->wall = !strcmp(value, "wall");
    run->sample = true;
    return run->wall || !strcmp(value, "cpu")
               ? 0
               : dw_cli_usage("--mode is 'cpu' or 'wall', not '%s'", value);
}

static int take_redact(struct run *run, const char *value)
{
    (void)run;
    return dw_cli_redact(value);
}

static int take_out(struct run *run, const char *value)
{
    run->out = value;
    return dw_cli_check_recording(value);
}

static int take_interpreter(struct run *run, const char *value)
{
    run->python = value;
    return 0;
}

static int take_function(struct run *run, const char *value)
{
    run->lines = true;
    dw_out_printf(&run->functions, "%s\n", value);
    return 0;
}

static const struct valued {
    const char *word;
    const char *needs;
    int (*take)(struct run *run, const char *value);
} valued[] = {
    {"-f", "a function", take_function},
    {"-o", "a file", take_out},
    {"--python", "an interpreter", take_interpreter},
    {"--redact", "what to leave out", take_redact},
    {"--rate", "a number of samples for each second", take_rate},
    {"--mode", "'cpu' or 'wall'", take_mode},
};

#define SETS(member) offsetof(struct run, member)
static const struct {
    const char *word;
    size_t sets, sets_too; /* members; the second may be the same */
} flags[] = {
    {"--timeline", SETS(timeline), SETS(timeline)},
    {"--cpu", SETS(cpu), SETS(cpu)},
    {"--calls", SETS(calls), SETS(calls)},
    {"--signatures", SETS(signatures), SETS(calls)},
    {"--lines", SETS(lines), SETS(lines)},
    {"--callees", SETS(callees), SETS(lines)},
    {"--subprocesses", SETS(subprocesses), SETS(subprocesses)},
    {"--quiet", SETS(quiet), SETS(quiet)},
    {"-q", SETS(quiet), SETS(quiet)},
    {"--regions", SETS(regions), SETS(regions)},
    {"--sample", SETS(sample), SETS(sample)},
    {"--no-native", SETS(no_native), SETS(sample)},
    {"--help", SETS(help), SETS(help)},
    {"-h", SETS(help), SETS(help)},
};
#define FLAGS (sizeof flags / sizeof *flags)
#define VALUED (sizeof valued / sizeof *valued)

static bool take_flag(struct run *run, const char *word)
{
    for (size_t i = 0; i < FLAGS; i++) {
        if (strcmp(flags[i].word, word) != 0)
            continue;
        *(bool *)((char *)run + flags[i].sets) = true;
        *(bool *)((char *)run + flags[i].sets_too) = true;
        return true;
    }
    return false;
}

/* The option with a value that the word names, or NULL; and the value if it is in the same word:
 * --name=value. */
static const struct valued *find_valued(const char *word, const char **value)
{
    for (size_t i = 0; i < VALUED; i++) {
        size_t size = strlen(valued[i].word);
        if (strncmp(word, valued[i].word, size) != 0)
            continue;
        *value = size > 2 && word[size] == '=' ? word + size + 1 : NULL;
        if (!word[size] || *value)
            return &valued[i];
    }
    return NULL;
}

/* One of our options. Returns how many words it takes, 0 when it is not one, or -1 after saying
 * what is wrong. */
static int take_own(struct run *run, int argc, char **argv, int at)
{
    const char *value;
    const struct valued *option = find_valued(argv[at], &value);
    if (!option)
        return take_flag(run, argv[at]);
    if (value)
        return option->take(run, value) ? -1 : 1;
    if (at + 1 < argc)
        return option->take(run, argv[at + 1]) ? -1 : 2;
    dw_cli_usage("%s needs %s; see 'dwell run --help'", argv[at], option->needs);
    return -1;
}

static void say_unknown(const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    struct dw_guess guess = {.typed = name};
    for (size_t i = 0; name[1] == '-' && i < VALUED; i++)
        dw_guess_try(&guess, valued[i].word);
    for (size_t i = 0; name[1] == '-' && i < FLAGS; i++)
        dw_guess_try(&guess, flags[i].word);
    dw_cli_unknown("run has no option", "", &guess, "see 'dwell run --help'");
}

/* The same for an option of Python, which gets it as it is; 0 where the program begins. */
static int take_python(struct run *run, int argc, char **argv, int at)
{
    int count = dw_python_option(argv[at]);
    if (count < 0)
        say_unknown(argv[at]);
    else if (dw_python_has_letter(argv[at], 'S')) {
        dw_cli_usage("with -S Python does not load what starts the recording; leave it out, or "
                     "use 'dwell attach'");
        count = -1;
    }
    for (int i = 0; i < count && at + i < argc; i++)
        run->words[run->word_count++] = argv[at + i];
    return count;
}

/* Options end where the program begins, ours already at "--". Returns where, or -1. */
static int take_options(struct run *run, int argc, char **argv)
{
    int at = 1, count = 1;
    for (bool is_ours = true; count > 0 && at < argc && !run->help; at += count > 0 ? count : 0) {
        count = is_ours ? take_own(run, argc, argv, at) : 0;
        if (!count && is_ours && !strcmp(argv[at], "--"))
            count = 1, is_ours = false;
        else if (!count)
            count = take_python(run, argc, argv, at);
    }
    return count < 0 ? -1 : at;
}

/* Which options exclude each other, or NULL. */
static const char *find_contradiction(const struct run *run)
{
    bool is_exact = run->calls || run->lines;
    return run->lines && run->calls
               ? "--lines and --calls cannot be recorded in one run yet; run it twice"
           : run->sample && run->calls
               ? "samples cannot be recorded together with --calls yet; run it twice"
           : run->regions && is_exact
               ? "regions cannot be recorded together with calls or lines yet; run it twice"
           : run->timeline && is_exact && !run->sample
               ? "--timeline is of samples and regions; calls and lines have none"
           : run->cpu && is_exact ? "--cpu is of regions; calls and lines have none"
                                  : NULL;
}

/* Without names, lines are those of marked functions. A program without marks that imports nothing
 * has none, which is said at once; with imports, only the end of the run shows it. */
static int check_marks(const struct run *run)
{
    if (!run->lines || run->sample || run->functions.buffer.size)
        return 0;
    char *text = dw_python_source(run->program);
    bool is_marked = !text || strstr(text, "profile");
    bool may_import =
        text && (strstr(text, "import") || strstr(text, "exec") || strstr(text, "eval"));
    free(text);
    if (is_marked)
        return 0;
    if (!may_import)
        return dw_cli_usage("--lines has nothing to record: no function is marked with @profile; "
                            "mark some, or name them with -f FUNCTION");
    if (run->quiet)
        return 0;
    fputs("dwell: the program marks no function with @profile; unless a module that it imports "
          "does, no lines are recorded: -f FUNCTION names some\n",
          stderr);
    return 0;
}

/* Returns 0, or the status after saying what is wrong. */
static int parse(struct run *run, int argc, char **argv)
{
    int at = take_options(run, argc, argv);
    if (at < 0)
        return DW_EXIT_USAGE;
    if (run->help)
        return 0;
    if (at >= argc)
        return dw_cli_usage("run needs a program: 'dwell run script.py'");
    const char *contradiction = find_contradiction(run);
    if (contradiction)
        return dw_cli_usage("%s", contradiction);
    run->given = argv + 1;
    run->program = run->words + run->word_count;
    memcpy(run->program, argv + at, (size_t)(argc - at) * sizeof *argv);
    return check_marks(run);
}

int dw_cmd_run(int argc, char **argv)
{
    struct run run = {.rate_hz = 1000, .words = calloc((size_t)argc + 1, sizeof *argv)};
    dw_out_init_memory(&run.functions);
    int status = run.words ? parse(&run, argc, argv) : dw_cli_error("run", DW_ERR_MEMORY);
    if (run.help)
        fputs(help, stdout);
    else if (!status)
        status = start(&run);
    dw_out_close(&run.functions);
    free(run.words);
    return status;
}
