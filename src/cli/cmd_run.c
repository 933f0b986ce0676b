/* SPDX-License-Identifier: MIT
 * dwell run: starts the program as Python itself would, waits, and reports. The
 * interpreter is told by its environment what to record, so the program finds
 * the same argv, path, frames and exit that it has without us. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/error.h"
#include "cli/child.h"
#include "cli/python.h"
#include "cli/recordings.h"
#include "lens/function_list.h"
#include "lens/lens.h"
#include "log/reader.h"
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

#define REPORT_ROWS 25
#define RATE_MAX 100000
#define LONGEST_PERIOD_NS 1e18

static const char help[] =
    "usage: dwell run [options] [--] [options of Python]\n"
    "                 script.py | -m module | -c code | -  [arguments...]\n"
    "\n"
    "Runs a Python program and records it: samples of all its threads and the regions that it\n"
    "marks (dwell.region, dwell.func, dwell.iter_proxy), or its calls or its lines. It runs as it\n"
    "would without dwell; its exit status is kept.\n"
    "\n"
    "  --sample       take samples, of Python and of native code, beside the regions (the\n"
    "                 default); with --lines beside these, and the table of lines tells Python,\n"
    "                 native and waiting time apart\n"
    "  --rate HZ      so many for each second that a thread runs (default: 1000)\n"
    "  --mode MODE    cpu, the time that threads run (the default), or wall, all their time\n"
    "  --no-native    only Python frames\n"
    "  --regions      record marked regions alone, without samples\n"
    "  --calls        record every call, exactly, of all threads (regions are then off)\n"
    "  --signatures   the same, each function apart by the types of its arguments\n"
    "  --lines        record the lines of the functions marked with @profile, which is then a\n"
    "                 builtin, or @dwell.profile\n"
    "  -f FUNCTION    the same for functions that are not marked: func, Class or Class.method of\n"
    "                 the program, module, module.func or module.Class of others; may be repeated\n"
    "  --callees      with lines: also what each line calls\n"
    "  --subprocesses the Python programs that it starts too, each in a file NAME.PID.dwell, as\n"
    "                 forked children have one in any case (with --calls: none)\n"
    "  -o FILE        the recording (default: NAME.PID.dwell in this directory)\n"
    "  --timeline     keep every event, for 'dwell export --to chrome'\n"
    "  --cpu          measure CPU time beside wall time\n"
    "  --redact WHAT  leave out argv, sources or both (argv,sources): the command line, the text "
    "of\n"
    "                 source files\n"
    "  --python PATH  the interpreter (default: the one beside this dwell)\n"
    "  -q, --quiet    no report at the end\n"
    "\n"
    "Options of Python, as -I, -O, -u, -W error or -X dev, are passed on to it; behind -- also "
    "those\n"
    "that are called like one of these. -S is not possible: it does without the module that "
    "starts\n"
    "the recording. With - the program is read from standard input.\n"
    "\n"
    "examples:\n"
    "  dwell run train.py --epochs 3\n"
    "  dwell run -X dev -W error -m mypackage\n"
    "  dwell run --rate 5000 --mode wall -m mypackage\n"
    "  dwell run --regions --timeline -o trace.dwell -m mypackage\n"
    "  dwell run --lines -f json.decoder -f Model.fit train.py\n"
    "  dwell run --lines --sample --mode wall train.py\n";

struct run {
    const char *out;
    const char *python;
    bool timeline, cpu, regions, calls, signatures, lines, callees, quiet, help;
    bool sample, wall, no_native, subprocesses;
    double rate_hz;
    struct dw_out functions; /* of -f, one a line */
    char **words;            /* NULL-terminated: options of Python, then the program. Owned */
    int word_count;
    char **program; /* in them: script, -m module, -c code or -, and arguments */
};

static int absolute_out(const struct run *run, char *path, size_t size)
{
    char directory[PATH_MAX] = "", name[NAME_MAX];
    dw_python_program_name(run->program, name, sizeof name);
    if ((!run->out || run->out[0] != '/') && !getcwd(directory, sizeof directory))
        return -1;
    int written = run->out
                      ? snprintf(path, size, "%s%s%s", directory, *directory ? "/" : "", run->out)
                      : snprintf(path, size, "%s/%s.%d.dwell", directory, name, (int)getpid());
    errno = ENAMETOOLONG;
    return written < (int)size ? 0 : -1;
}

static void print_table(const struct run *run, const struct dw_profile *profile, struct dw_out *out)
{
    struct dw_lens_options options = {.limit = REPORT_ROWS};
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = REPORT_ROWS};
    struct dw_function_options functions = {.restrictions = &first, .restriction_count = 1};
    struct dw_lens_options of_functions = {.functions = &functions};
    struct dw_line_options lines = dw_line_defaults;
    struct dw_lens_options of_lines = {.lines = &lines};
    struct dw_sample_options samples = {.limit = REPORT_ROWS};
    struct dw_lens_options of_samples = {.samples = &samples, .width = dw_cli_width(STDERR_FILENO)};
    lines.strip_zeros = true;
    lines.callees = run->callees;
    dw_out_text(out, dw_cli_heading(profile));
    if ((dw_samples_are_in(profile) || dw_samples_are_all(profile)) && !run->lines)
        dw_sample_table.write(profile, &of_samples, out);
    else if (dw_lines_are_in(profile))
        dw_lens_lines.write(profile, &of_lines, out);
    else if (run->lines)
        dw_out_text(out, "dwell: no lines were recorded; mark functions with @profile or name "
                         "them with -f\n");
    else if (dw_functions_are_in(profile))
        dw_function_table.write(profile, &of_functions, out);
    else if (dw_entries_are_in(profile))
        dw_lens_find("table")->write(profile, &options, out);
    else
        dw_out_text(out, "dwell: no regions were entered; mark some with dwell.region()\n");
}

/* Regions beside samples are read once more: adding up the samples took their place. */
static void print_regions(const struct run *run, struct dw_recordings *recordings,
                          struct dw_out *out)
{
    struct dw_profile *profile;
    if (!dw_recordings_load(recordings, &profile)) {
        dw_profile_keep(profile, DW_PART_ENTRIES);
        print_table(run, profile, out);
    }
    dw_profile_free(profile);
}

static void print_report(const struct run *run, struct dw_recordings *recordings,
                         const struct dw_profile *profile)
{
    struct dw_out out;
    dw_out_init_fd(&out, STDERR_FILENO);
    print_table(run, profile, &out);
    if (profile->lacks_entries)
        print_regions(run, recordings, &out);
    dw_out_printf(&out, "dwell: recorded in %s", recordings->out_file);
    if (recordings->children)
        dw_out_printf(&out, " and the files of %u child%s", recordings->children,
                      recordings->children == 1 ? "" : "ren");
    dw_out_text(&out, "; see 'dwell report' and 'dwell export'\n");
    if (recordings->strangers)
        dw_out_printf(&out,
                      "dwell: %u file%s of children beside it: of earlier runs, and not in this "
                      "report\n",
                      recordings->strangers, recordings->strangers == 1 ? "" : "s");
    dw_out_close(&out);
}

/* The file of the outermost Python function of a stack; empty when it has none. */
static struct dw_string outermost_file(const struct dw_profile *profile, dw_path_id stack)
{
    struct dw_string file = {0};
    for (; stack; stack = profile->stacks.paths[stack].parent) {
        const struct dw_place *place = &profile->places.places[profile->stacks.paths[stack].frame];
        const struct dw_frame *frame = &profile->frames.frames[place->frame];
        if (frame->kind == DW_FRAME_FUNCTION)
            file = dw_profile_string(profile, frame->file);
    }
    return file;
}

/* Whether samples saw the program. Until it begins, everything runs under a module that is built
 * into the interpreter. */
static bool has_sampled_program(const struct dw_profile *profile)
{
    static const char built_in[] = "<frozen ";
    size_t size = sizeof built_in - 1;
    for (dw_path_id stack = 1; stack < profile->stacks.count; stack++) {
        struct dw_string file = outermost_file(profile, stack);
        if (file.size && (file.size < size || memcmp(file.bytes, built_in, size) != 0))
            return true;
    }
    return false;
}

/* A program that failed before anything was recorded has said what there is to say. */
static bool is_in_vain(const struct dw_profile *profile, bool failed)
{
    return failed && !dw_lines_are_in(profile) && !dw_functions_are_in(profile) &&
           !dw_entries_are_in(profile) && !has_sampled_program(profile);
}

static void report(const struct run *run, const char *out_file, time_t since, bool failed)
{
    struct dw_recordings recordings = {
        .out_file = out_file, .since = since, .flags = run->lines ? 0 : DW_READ_NO_SOURCES};
    struct dw_profile *profile;
    if (run->quiet)
        return;
    int error = dw_recordings_load(&recordings, &profile);
    bool in_vain = !error && is_in_vain(profile, failed);
    if (!error)
        error = dw_cli_make_showable(profile, DW_PART_SAMPLES, &(struct dw_native_words){0});
    if (error == DW_ERR_IO && errno == ENOENT)
        dw_cli_usage("%s: is not there: it was removed, or the program never began to record",
                     out_file);
    else if (error)
        dw_cli_error(out_file, error);
    else if (!in_vain)
        print_report(run, &recordings, profile);
    else if (!run->out && !recordings.children)
        unlink(out_file);
    dw_profile_free(profile);
}

/* So that what is there afterwards is of this run. Never more than a regular file. */
static void remove_old(const char *path)
{
    struct stat status;
    if (!lstat(path, &status) && S_ISREG(status.st_mode))
        unlink(path);
}

static bool can_write(const char *path)
{
    struct stat status;
    if (!stat(path, &status))
        return !S_ISDIR(status.st_mode) && !access(path, W_OK);
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

static int run_program(const struct run *run, const char *python, int *status)
{
    *status = dw_child_run(python, run->words);
    if (*status >= 0)
        return 0;
    dw_cli_error(python, DW_ERR_IO);
    return 127;
}

/* Where there is no place for the recording, as in a directory that was deleted. */
static int run_unrecorded(const struct run *run, const char *python, const char *place)
{
    int status;
    fprintf(stderr, "dwell: %s: %s; nothing is recorded\n", place, strerror(errno));
    return run_program(run, python, &status) ? 127 : dw_child_exit(status);
}

static int start(const struct run *run)
{
    char out_file[PATH_MAX], found[PATH_MAX], *wanted;
    const char *redactions =
        dw_redacts(DW_REDACT_ARGV)
            ? dw_redacts(DW_REDACT_SOURCES) ? ",no-argv,no-sources" : ",no-argv"
        : dw_redacts(DW_REDACT_SOURCES) ? ",no-sources"
                                        : "";
    const char *python = run->python ? run->python : dw_python_find(found, sizeof found);
    if (absolute_out(run, out_file, sizeof out_file))
        return run_unrecorded(run, python, run->out ? run->out : "the working directory");
    remove_old(out_file);
    if (!run->out && dw_log_claim(out_file)) /* before anybody else takes the name */
        return run_unrecorded(run, python, out_file);
    if (asprintf(&wanted, "%s%s%s%s%s%s%s%s%s,period=%.0f,by=%d %s", probes_of(run),
                 run->signatures ? ",signatures" : "", run->callees ? ",callees" : "",
                 run->timeline ? ",timeline" : "", run->cpu ? ",cpu" : "", run->wall ? ",wall" : "",
                 run->no_native ? "" : ",native", run->subprocesses ? ",subprocesses" : "",
                 redactions, fmin(1e9 / run->rate_hz, LONGEST_PERIOD_NS), (int)getpid(),
                 out_file) < 0)
        return 1;
    setenv("DWELL_RUN", wanted, 1);
    set_functions(run);
    free(wanted);
    bool is_writable = can_write(out_file); /* if not, the interpreter says so */
    time_t since = time(NULL);
    int status;
    if (run_program(run, python, &status))
        return 127;
    if (is_writable && !has_bytes(out_file)) {
        if (!run->out)
            unlink(out_file);
        if (!WIFSIGNALED(status)) /* else it was killed before it had begun */
            fprintf(stderr, "dwell: nothing was recorded: is dwell installed for %s?\n", python);
        is_writable = false;
    }
    if (is_writable)
        report(run, out_file, since, status != 0);
    return dw_child_exit(status);
}

static bool take_flag(struct run *run, const char *word)
{
    if (!strcmp(word, "--timeline"))
        run->timeline = true;
    else if (!strcmp(word, "--cpu"))
        run->cpu = true;
    else if (!strcmp(word, "--calls"))
        run->calls = true;
    else if (!strcmp(word, "--signatures"))
        run->calls = run->signatures = true;
    else if (!strcmp(word, "--lines"))
        run->lines = true;
    else if (!strcmp(word, "--callees"))
        run->lines = run->callees = true;
    else if (!strcmp(word, "--subprocesses"))
        run->subprocesses = true;
    else if (!strcmp(word, "--quiet") || !strcmp(word, "-q"))
        run->quiet = true;
    else if (!strcmp(word, "--regions"))
        run->regions = true;
    else if (!strcmp(word, "--no-native"))
        run->sample = run->no_native = true;
    else if (!strcmp(word, "--sample"))
        run->sample = true;
    else
        return false;
    return true;
}

/* What the value of an option is, or NULL when it is none that has one. */
static const char *value_of(const char *word)
{
    return !strcmp(word, "-f")         ? "a function"
           : !strcmp(word, "-o")       ? "a file"
           : !strcmp(word, "--python") ? "an interpreter"
           : !strcmp(word, "--redact") ? "what to leave out"
           : !strcmp(word, "--rate")   ? "a number of samples for each second"
           : !strcmp(word, "--mode")   ? "'cpu' or 'wall'"
                                       : NULL;
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

static int take_value(struct run *run, const char *word, const char *value)
{
    if (!strcmp(word, "--rate"))
        return take_rate(run, value);
    if (!strcmp(word, "--mode"))
        return take_mode(run, value);
    if (!strcmp(word, "--redact"))
        return dw_cli_redact(value);
    if (!strcmp(word, "-o")) {
        run->out = value;
        return dw_cli_check_recording(value);
    }
    if (!strcmp(word, "--python")) {
        run->python = value;
    } else {
        run->lines = true;
        dw_out_printf(&run->functions, "%s\n", value);
    }
    return 0;
}

/* The value in "--name=value", of which the name is left; NULL when it is no option with one. */
static const char *cut_value(char *word)
{
    char *equals = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
    if (!equals)
        return NULL;
    *equals = 0;
    if (value_of(word))
        return equals + 1;
    *equals = '=';
    return NULL;
}

/* One of our options. Returns how many words it takes, 0 when it is none, or -1 after saying what
 * is wrong. */
static int take_own(struct run *run, int argc, char **argv, int at)
{
    const char *value = cut_value(argv[at]), *needed = value_of(argv[at]);
    run->help = !strcmp(argv[at], "--help") || !strcmp(argv[at], "-h");
    if (run->help || !needed)
        return run->help || take_flag(run, argv[at]);
    if (value)
        return take_value(run, argv[at], value) ? -1 : 1;
    if (at + 1 < argc)
        return take_value(run, argv[at], argv[at + 1]) ? -1 : 2;
    dw_cli_usage("%s needs %s; see 'dwell run --help'", argv[at], needed);
    return -1;
}

/* The same for an option of Python, which gets it as it is; 0 where the program begins. */
static int take_python(struct run *run, int argc, char **argv, int at)
{
    int count = dw_python_option(argv[at]);
    if (count < 0)
        dw_cli_usage("run has no option '%s'; see 'dwell run --help'", argv[at]);
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
    if (run->lines && run->calls)
        return dw_cli_usage("--lines and --calls cannot be recorded in one run yet; run it twice");
    if (run->sample && run->calls)
        return dw_cli_usage("samples cannot be recorded together with --calls yet; run it twice");
    run->program = run->words + run->word_count;
    memcpy(run->program, argv + at, (size_t)(argc - at) * sizeof *argv);
    return 0;
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
