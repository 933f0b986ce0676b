/* SPDX-License-Identifier: MIT
 * The words of `dwell run`: ours, then those of Python, then the program, whose words are its own
 * and are not looked at. */
#include "cli/run/run_options.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/run/python.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MAX 100000
#define REGION_NAME_MAX 100
#define INTERVAL_NS 1e8
#define INTERVAL_MIN_NS 1e6
#define INTERVAL_MAX_NS 3.6e12

static int take_rate(struct dw_run_options *run, const char *value)
{
    char *end;
    run->rate_hz = strtod(value, &end);
    run->sample = true;
    if (*end || !(run->rate_hz > 0 && run->rate_hz <= RATE_MAX))
        return dw_cli_usage("--rate is a number of samples for each second, up to %d, not '%s'",
                            RATE_MAX, value);
    return 0;
}

static int take_mode(struct dw_run_options *run, const char *value)
{
    run->wall = !strcmp(value, "wall");
    run->sample = true;
    return run->wall || !strcmp(value, "cpu")
               ? 0
               : dw_cli_usage("--mode is 'cpu' or 'wall', not '%s'", value);
}

static int take_redact(struct dw_run_options *run, const char *value)
{
    (void)run;
    return dw_cli_redact(value);
}

static int take_out(struct dw_run_options *run, const char *value)
{
    run->out = value;
    return dw_cli_check_recording(value);
}

/* The value may be missing. */
static int take_memory(struct dw_run_options *run, const char *value)
{
    run->memory = true;
    run->exact_memory = value && !strcmp(value, "exact");
    run->sampled_memory = value && !strcmp(value, "sampled");
    return !value || run->exact_memory || run->sampled_memory
               ? 0
               : dw_cli_usage("--memory is 'sampled' or 'exact', not '%s'", value);
}

static void add_word(struct dw_run_options *run, const char *format, ...)
{
    size_t used = strlen(run->more);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->more + used, sizeof run->more - used, format, arguments);
    va_end(arguments);
}

static const struct {
    const char *name;
    int number;
} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

/* The name may have any characters, and goes as hexadecimal digits. */
static int take_heap_region(struct dw_run_options *run, const char *name)
{
    if (!*name || strlen(name) > REGION_NAME_MAX)
        return dw_cli_usage("--heap=region:NAME needs the name of a region, of up to %d bytes",
                            REGION_NAME_MAX);
    add_word(run, "heap_region=");
    for (; *name; name++)
        add_word(run, "%02x", (unsigned char)*name);
    add_word(run, ",");
    run->regions = true;
    return 0;
}

static bool is_interval(const char *value, double *ns)
{
    char *end;
    double number = strtod(value, &end);
    *ns = number * (!strcmp(end, "ms") ? 1e6 : !*end || !strcmp(end, "s") ? 1e9 : 0);
    return end != value && *ns >= INTERVAL_MIN_NS && *ns <= INTERVAL_MAX_NS;
}

/* Also at the end. The value may be missing, and says when else: a time, a signal or a region. */
static int take_heap(struct dw_run_options *run, const char *value)
{
    double every_ns;
    if (!run->heap)
        add_word(run, "heap,");
    run->heap = true;
    if (!value)
        return 0;
    if (!strncmp(value, "region:", strlen("region:")))
        return take_heap_region(run, value + strlen("region:"));
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!strcmp(value + 3 * !strncmp(value, "SIG", 3), signals[i].name)) {
            add_word(run, "heap_signal=%d,", signals[i].number);
            return 0;
        }
    if (!is_interval(value, &every_ns))
        return dw_cli_usage("--heap is a time from 1ms to 3600s, such as 10s, one of the signals "
                            "USR1, USR2 and HUP, or region:NAME, not '%s'",
                            value);
    add_word(run, "heap_every=%.0f,", every_ns);
    return 0;
}

static int take_leaks(struct dw_run_options *run, const char *value)
{
    add_word(run, "leaks,");
    run->memory = run->exact_memory = true;
    return take_heap(run, value);
}

static int take_interval(struct dw_run_options *run, const char *value)
{
    run->memory = true;
    return is_interval(value, &run->interval_ns)
               ? 0
               : dw_cli_usage("--interval is a time from 1ms to 3600s, such as 100ms, not '%s'",
                              value);
}

static int take_bytes(const char *option, const char *value, double *bytes)
{
    return dw_cli_parse_bytes(value, bytes) && *bytes >= 1 && *bytes <= 1e18
               ? 0
               : dw_cli_usage("%s needs a size, such as 100M or 1.5GB, not '%s'", option, value);
}

static int take_pdb_above(struct dw_run_options *run, const char *value)
{
    run->memory = true;
    return take_bytes("--pdb-above", value, &run->pdb_above);
}

static int take_stop_above(struct dw_run_options *run, const char *value)
{
    run->memory = true;
    return take_bytes("--stop-above", value, &run->stop_above);
}

static int take_ranks(struct dw_run_options *run, const char *value)
{
    bool is_list = *value && !value[strspn(value, "0123456789,")] && !strstr(value, ",,") &&
                   *value != ',' && value[strlen(value) - 1] != ',';
    run->ranks = value;
    return is_list ? 0 : dw_cli_usage("--ranks are numbers as in 0,7, not '%s'", value);
}

static int take_function(struct dw_run_options *run, const char *value)
{
    run->lines = true;
    dw_out_printf(&run->functions, "%s\n", value);
    return 0;
}

#define SETS(member) offsetof(struct dw_run_options, member)
static const struct valued {
    const char *word;
    const char *needs; /* NULL: it may be left out, and is never the next word */
    int (*take)(struct dw_run_options *run, const char *value); /* NULL: it is kept as it is */
    size_t sets;                                                /* and that is where */
} valued[] = {
    {"-f", "a function", take_function, 0},
    {"-o", "a file", take_out, 0},
    {"--python", "an interpreter", NULL, SETS(python)},
    {"--only", "the name of a process", NULL, SETS(only)},
    {"--redact", "what to leave out", take_redact, 0},
    {"--ranks", "numbers as in 0,7", take_ranks, 0},
    {"--rate", "a number of samples for each second", take_rate, 0},
    {"--mode", "'cpu' or 'wall'", take_mode, 0},
    {"--memory", NULL, take_memory, 0},
    {"--heap", NULL, take_heap, 0},
    {"--leaks", NULL, take_leaks, 0},
    {"--interval", "a time, such as 100ms", take_interval, 0},
    {"--pdb-above", "a size, such as 100M", take_pdb_above, 0},
    {"--stop-above", "a size, such as 2G", take_stop_above, 0},
};

/* Probes that have no options of their own, and that leave the choice of the others as it is. */
static const struct {
    const char *word; /* --word */
    const char *help;
} more_probes[] = {
    {"gc", "beside these: collections of garbage, on the stacks that set them off"},
    {NULL, NULL},
};

void dw_run_print_more_probes(void)
{
    for (size_t i = 0; more_probes[i].word; i++)
        printf("  --%-14s%s\n", more_probes[i].word, more_probes[i].help);
}

static bool take_more(struct dw_run_options *run, const char *word)
{
    for (size_t i = 0; more_probes[i].word; i++) {
        size_t used = strlen(run->more);
        if (strncmp(word, "--", 2) != 0 || strcmp(word + 2, more_probes[i].word) != 0)
            continue;
        if (!strstr(run->more, more_probes[i].word))
            snprintf(run->more + used, sizeof run->more - used, "%s,", more_probes[i].word);
        return true;
    }
    return false;
}

static const struct {
    const char *word;
    size_t sets, sets_too; /* members; the second may be the same */
} flags[] = {
    {"--timeline", SETS(timeline), SETS(timeline)},
    {"--cpu", SETS(cpu), SETS(cpu)},
    {"--calls", SETS(calls), SETS(calls)},
    {"--pss", SETS(pss), SETS(memory)},
    {"--signatures", SETS(signatures), SETS(calls)},
    {"--lines", SETS(lines), SETS(lines)},
    {"--callees", SETS(callees), SETS(lines)},
    {"--no-follow", SETS(no_follow), SETS(no_follow)},
    {"--keep", SETS(keep), SETS(keep)},
    {"--merge-ranks", SETS(merge_ranks), SETS(merge_ranks)},
    {"--subprocesses", SETS(subprocesses), SETS(subprocesses)},
    {"--quiet", SETS(quiet), SETS(quiet)},
    {"-q", SETS(quiet), SETS(quiet)},
    {"--regions", SETS(regions), SETS(names_regions)},
    {"--sample", SETS(sample), SETS(sample)},
    {"--no-native", SETS(no_native), SETS(sample)},
    {"--help", SETS(help), SETS(help)},
    {"-h", SETS(help), SETS(help)},
};
#define FLAGS (sizeof flags / sizeof *flags)
#define VALUED (sizeof valued / sizeof *valued)

static bool take_flag(struct dw_run_options *run, const char *word)
{
    for (size_t i = 0; i < FLAGS; i++) {
        if (strcmp(flags[i].word, word) != 0)
            continue;
        *(bool *)((char *)run + flags[i].sets) = true;
        *(bool *)((char *)run + flags[i].sets_too) = true;
        return true;
    }
    return take_more(run, word);
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

static int take_value(struct dw_run_options *run, const struct valued *option, const char *value)
{
    if (option->take)
        return option->take(run, value);
    *(const char **)((char *)run + option->sets) = value;
    return 0;
}

/* One of our options. Returns how many words it takes, 0 when it is not one, or -1 after saying
 * what is wrong. */
static int take_own(struct dw_run_options *run, int argc, char **argv, int at)
{
    const char *value;
    const struct valued *option = find_valued(argv[at], &value);
    if (!option)
        return take_flag(run, argv[at]);
    if (value || !option->needs)
        return take_value(run, option, value) ? -1 : 1;
    if (at + 1 < argc)
        return take_value(run, option, argv[at + 1]) ? -1 : 2;
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
    for (size_t i = 0; name[1] == '-' && more_probes[i].word; i++)
        dw_guess_try(&guess, more_probes[i].word);
    dw_cli_unknown("run has no option", "", &guess, "see 'dwell run --help'");
}

/* The same for an option of Python, which gets it as it is; 0 where the program begins. */
static int take_python(struct dw_run_options *run, int argc, char **argv, int at)
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
static int take_options(struct dw_run_options *run, int argc, char **argv)
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

/* Which options exclude each other, or NULL. What is left is a set of probes. */
static const char *choose_probes(struct dw_run_options *run)
{
    bool is_exact = run->calls || run->lines;
    run->regions = run->regions || !is_exact;
    run->sample = run->sample || !(run->names_regions || is_exact || run->memory || run->heap);
    run->exact_memory |= run->memory && run->lines && !run->sampled_memory;
    if (run->timeline && !run->sample && !run->regions)
        return "--timeline is of samples and regions: add --sample or --regions, as calls and "
               "lines "
               "have none";
    if (run->merge_ranks && !run->out)
        return "--merge-ranks needs a name for the recording: -o FILE";
    if (run->no_follow && run->only)
        return "--only chooses among processes: leave out --no-follow";
    if (run->cpu && !run->regions)
        return "--cpu is of regions: add --regions, as calls and lines have none";
    return NULL;
}

/* Without names, lines are those of marked functions. A program without marks that imports nothing
 * has none, which is said at once; with imports, only the end of the run shows it. */
static int check_marks(const struct dw_run_options *run)
{
    bool is_alone = !run->sample && !run->calls && !run->regions;
    if (!run->lines || !is_alone || run->functions.buffer.size)
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

static int parse(struct dw_run_options *run, int argc, char **argv)
{
    int at = take_options(run, argc, argv);
    if (at < 0)
        return DW_EXIT_USAGE;
    if (run->help)
        return 0;
    if (at >= argc)
        return dw_cli_usage("run needs a program: 'dwell run script.py'");
    const char *contradiction = choose_probes(run);
    if (contradiction)
        return dw_cli_usage("%s", contradiction);
    run->given = argv + 1;
    run->program = run->words + run->word_count;
    memcpy(run->program, argv + at, (size_t)(argc - at) * sizeof *argv);
    return check_marks(run);
}

int dw_run_options_init(struct dw_run_options *run, int argc, char **argv)
{
    *run = (struct dw_run_options){.rate_hz = 1000,
                                   .interval_ns = INTERVAL_NS,
                                   .words = calloc((size_t)argc + 1, sizeof *argv)};
    dw_out_init_memory(&run->functions);
    return run->words ? parse(run, argc, argv) : dw_cli_error("run", DW_ERR_MEMORY);
}

void dw_run_options_release(struct dw_run_options *run)
{
    dw_out_close(&run->functions);
    free(run->words);
}
