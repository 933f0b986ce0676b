/* SPDX-License-Identifier: MIT
 * Chooses what to say from what was measured. A share is named only when there are enough samples
 * for it, and a command is suggested only when it would show more. */
#include "cli/run/run_text.h"

#include "lens/view/column.h"
#include "log/log_name.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/wait.h>

#define FEW_SAMPLES 20
#define WAIT_MIN_NS 250000000u /* less may be the start of the interpreter */
#define CHILDREN_MIN_NS 100000000u
#define COMMAND_MAX 100 /* characters of a command line that is shown again */

struct dw_run_samples dw_run_samples_of(const struct dw_profile *profile)
{
    struct dw_run_samples sums = {0};
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        struct dw_sample sample;
        for (uint32_t at = 0; dw_profile_sample(profile, t, &at, &sample);) {
            sums.count += sample.count;
            sums.weight_ns += sample.weight;
            sums.state_ns[(sample.state & DW_SAMPLE_STATE_MASK) % DW_SAMPLE_STATES] +=
                sample.weight;
        }
    }
    return sums;
}

bool dw_run_is_short(const struct dw_run_end *end, const struct dw_run_samples *samples)
{
    return end->asked->sample && samples->count < FEW_SAMPLES;
}

/* Whether samples by CPU time miss most of the time. */
static bool has_mostly_waited(const struct dw_run_end *end)
{
    const struct dw_child_times *times = &end->times;
    uint64_t others_ns = end->recordings->children ? times->children_cpu_ns : 0;
    uint64_t ready_ns = times->cpu_ns + times->delay_ns + others_ns;
    return end->asked->sample && !end->asked->wall && ready_ns < times->elapsed_ns / 2 &&
           times->elapsed_ns - ready_ns > WAIT_MIN_NS;
}

/* Whether the machine was so busy that elapsed times say little of the program. */
static bool has_queued(const struct dw_child_times *times)
{
    return times->delay_ns > times->elapsed_ns / 4 && times->delay_ns > WAIT_MIN_NS;
}

void dw_run_put_times(struct dw_out *out, const struct dw_run_end *end)
{
    dw_out_text(out, "dwell: ");
    if (WIFSIGNALED(end->status))
        dw_out_printf(out, "ended by signal %d (%s) after ", WTERMSIG(end->status),
                      strsignal(WTERMSIG(end->status)));
    else if (WEXITSTATUS(end->status))
        dw_out_printf(out, "ended with status %d after ", WEXITSTATUS(end->status));
    else
        dw_out_text(out, "ran ");
    dw_out_duration(out, end->times.elapsed_ns);
    dw_out_text(out, ", on a CPU for ");
    dw_out_duration(out, end->times.cpu_ns);
}

/* The largest of the shares that are not named yet, or DW_SAMPLE_STATES. */
static unsigned next_state(const struct dw_run_samples *samples,
                           const bool is_told[DW_SAMPLE_STATES])
{
    unsigned next = DW_SAMPLE_STATES;
    uint64_t least_ns = samples->weight_ns / 200; /* less would read 0 % */
    for (unsigned state = 0; state < DW_SAMPLE_STATES; state++)
        if (!is_told[state] && samples->state_ns[state] > least_ns &&
            (next == DW_SAMPLE_STATES || samples->state_ns[state] > samples->state_ns[next]))
            next = state;
    return next;
}

static void put_shares(struct dw_out *out, const struct dw_run_samples *samples, bool wall)
{
    static const char *const names[DW_SAMPLE_STATES] = {[DW_SAMPLE_PYTHON] = "Python",
                                                        [DW_SAMPLE_NATIVE] = "native code",
                                                        [DW_SAMPLE_KERNEL] = "kernel",
                                                        [DW_SAMPLE_WAITING] = "waiting",
                                                        [DW_SAMPLE_GIL] = "waiting for the GIL"};
    bool is_told[DW_SAMPLE_STATES] = {false};
    const char *before = wall ? "; its threads: " : ": ";
    for (unsigned state; (state = next_state(samples, is_told)) < DW_SAMPLE_STATES;) {
        is_told[state] = true;
        const char *other = wall ? "ready to run" : "not known";
        dw_out_printf(out, "%s%.0f %% %s", before,
                      100 * (double)samples->state_ns[state] / (double)samples->weight_ns,
                      names[state] ? names[state] : other);
        before = ", ";
    }
}

void dw_run_put_ending(struct dw_out *out, const struct dw_run_end *end,
                       const struct dw_run_samples *samples, uint32_t recorded_children)
{
    const struct dw_child_times *times = &end->times;
    bool is_short = dw_run_is_short(end, samples);
    dw_run_put_times(out, end);
    if (recorded_children && times->children_cpu_ns) {
        dw_out_text(out, ", and its children for ");
        dw_out_duration(out, times->children_cpu_ns);
    }
    if (samples->count >= FEW_SAMPLES)
        put_shares(out, samples, end->asked->wall);
    if (has_mostly_waited(end))
        dw_out_text(out, "; it mostly waited");
    else if (is_short)
        dw_out_printf(out, ": too short for samples to tell much (%" PRIu64 " taken)",
                      samples->count);
    if (has_queued(times)) {
        dw_out_text(out, "; on a busy machine: it waited for a CPU for ");
        dw_out_duration(out, times->delay_ns);
    }
    dw_out_char(out, '\n');
    if (times->children_cpu_ns < CHILDREN_MIN_NS || times->children_cpu_ns < times->cpu_ns / 4 ||
        recorded_children)
        return;
    dw_out_text(out, "dwell: programs that it started were on a CPU for ");
    dw_out_duration(out, times->children_cpu_ns);
    dw_out_text(out, !end->asked->no_follow
                         ? "; they are not recorded: they run no Python that has dwell\n"
                         : "; they are not recorded, because of --no-follow\n");
}

/* Quoted for a shell, and without anything that would steer a terminal. */
static void put_word(struct dw_out *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./-_";
    if (*word && !word[strspn(word, plain)]) {
        dw_out_text(out, word);
        return;
    }
    dw_out_char(out, '\'');
    for (size_t size; *word; word += size) {
        size = strcspn(word, "'");
        dw_out_printable(out, word, size);
        if (word[size] == '\'') {
            dw_out_text(out, "'\\''");
            size++;
        }
    }
    dw_out_char(out, '\'');
}

#define COMMANDS_MAX 4

/* What to type next, and what for. */
struct commands {
    struct dw_out texts[COMMANDS_MAX];
    const char *comments[COMMANDS_MAX];
    size_t count;
};

static struct dw_out *add_command(struct commands *commands, const char *comment)
{
    struct dw_out *text = &commands->texts[commands->count];
    dw_out_init_memory(text);
    commands->comments[commands->count++] = comment;
    return text;
}

static void put_commands(struct dw_out *out, struct commands *commands)
{
    size_t width = 0;
    for (size_t i = 0; i < commands->count; i++)
        if (commands->texts[i].buffer.size > width)
            width = commands->texts[i].buffer.size;
    for (size_t i = 0; i < commands->count; i++) {
        const struct dw_buffer *text = &commands->texts[i].buffer;
        dw_out_text(out, "  ");
        dw_out_write(out, text->data, text->size);
        dw_out_repeat(out, ' ', width - text->size);
        dw_out_printf(out, "  # %s\n", commands->comments[i]);
        dw_out_close(&commands->texts[i]);
    }
}

/* The program once more, with an option that it did not have. */
static void add_again(struct commands *commands, const struct dw_run_end *end, const char *option,
                      const char *comment)
{
    struct dw_out *text = add_command(commands, comment);
    dw_out_printf(text, "dwell run %s", option);
    for (char *const *word = end->asked->given; *word; word++) {
        if (text->buffer.size + strlen(*word) > COMMAND_MAX) {
            dw_out_text(text, " ...");
            break;
        }
        dw_out_char(text, ' ');
        put_word(text, *word);
    }
}

/* The recording, and those of its children when they are no part of it, unless files of other runs
 * lie among them. */
static void put_files(struct dw_out *out, const struct dw_run_end *end)
{
    char stem[PATH_MAX];
    put_word(out, end->name);
    if (!end->recordings->beside || end->recordings->children || end->recordings->strangers)
        return;
    snprintf(stem, sizeof stem, "%.*s", (int)dw_log_stem_size(end->name), end->name);
    dw_out_char(out, ' ');
    put_word(out, stem);
    dw_out_text(out, ".*.dwell");
}

static void add_show(struct commands *commands, const struct dw_run_end *end, const char *command,
                     const char *options, const char *comment)
{
    struct dw_out *text = add_command(commands, comment);
    dw_out_printf(text, "dwell %s ", command);
    put_files(text, end);
    dw_out_text(text, options);
}

static void add_page(struct commands *commands, const struct dw_run_end *end)
{
    struct dw_out *text = add_command(commands, "a page for the browser");
    char page[PATH_MAX];
    snprintf(page, sizeof page, "%.*s.html", (int)dw_log_stem_size(end->name), end->name);
    dw_out_text(text, "dwell export ");
    put_files(text, end);
    dw_out_text(text, " -o ");
    put_word(text, page);
}

/* Whether no option was given that excludes --calls. */
static bool may_be_calls(const struct dw_run_options *asked)
{
    return !asked->calls && !asked->timeline && !asked->cpu;
}

static void add_commands(struct commands *commands, const struct dw_run_end *end,
                         enum dw_run_kind kind, bool is_short)
{
    static const struct {
        const char *options, *comment;
    } reports[DW_RUN_KINDS] = {
        [DW_RUN_SAMPLES] = {" --by line", "lines instead of functions"},
        [DW_RUN_CALLS] = {" --callers", "who called them"},
        [DW_RUN_MEMORY] = {" --by function --measure peak_bytes,live_bytes",
                           "functions instead of lines"},
        [DW_RUN_REGIONS] = {" --by thread", "each thread by itself"},
        [DW_RUN_LINES] = {" --sort time", "whole functions, the longest last"},
    };
    if (has_mostly_waited(end))
        add_again(commands, end, "--mode wall", "where it waits, too");
    else if (is_short && may_be_calls(end->asked))
        add_again(commands, end, "--calls", "every call, however short");
    if (kind == DW_RUN_SAMPLES && is_short)
        add_show(commands, end, "report", "", "the samples that were taken");
    else
        add_show(commands, end, "report", reports[kind].options, reports[kind].comment);
    if (end->recordings->children)
        add_show(commands, end, "report", " --by process", "each process by itself");
    if (end->asked->memory)
        add_show(commands, end, "plot", "", "memory over time; -o FILE.svg draws it");
    if (!is_short)
        add_page(commands, end);
}

/* What of its children is where. */
static void put_children(struct dw_out *out, const struct dw_recordings *recordings)
{
    const char *plural = recordings->children == 1 ? "" : "ren";
    if (recordings->children)
        dw_out_printf(out, ", with %" PRIu32 " child%s", recordings->children, plural);
    else if (recordings->beside)
        dw_out_printf(out, " and the files of %" PRIu32 " child%s", recordings->beside,
                      recordings->beside == 1 ? "" : "ren");
}

void dw_run_put_left_out(struct dw_out *out, const struct dw_recordings *recordings)
{
    if (recordings->children && recordings->beside)
        dw_out_printf(out, "dwell: %" PRIu32 " file%s of children cannot be read, and %s\n",
                      recordings->beside, recordings->beside == 1 ? "" : "s",
                      recordings->beside == 1 ? "stays beside it" : "stay beside it");
    if (recordings->living)
        dw_out_printf(out,
                      "dwell: %" PRIu32 " child%s not ended yet: the file%s of %s beside it, for "
                      "'dwell merge --children'\n",
                      recordings->living, recordings->living == 1 ? " has" : "ren have",
                      recordings->living == 1 ? "" : "s",
                      recordings->living == 1 ? "it is" : "them are");
    if (recordings->strangers)
        dw_out_printf(out,
                      "dwell: %" PRIu32 " file%s of children beside it: of earlier runs, and not "
                      "in this report\n",
                      recordings->strangers, recordings->strangers == 1 ? "" : "s");
}

void dw_run_put_next(struct dw_out *out, const struct dw_run_end *end, enum dw_run_kind kind,
                     const struct dw_run_samples *samples)
{
    struct commands commands = {.count = 0};
    dw_out_text(out, "dwell: recorded in ");
    put_word(out, end->name);
    put_children(out, end->recordings);
    dw_out_text(out, "; next:\n");
    bool is_short = kind == DW_RUN_SAMPLES && dw_run_is_short(end, samples);
    add_commands(&commands, end, kind, is_short);
    put_commands(out, &commands);
}

void dw_run_put_no_regions(struct dw_out *out)
{
    dw_out_text(out, "dwell: no regions were entered; mark some with dwell.region()\n");
}

void dw_run_put_no_lines(struct dw_out *out, const struct dw_run_end *end)
{
    struct commands commands = {.count = 0};
    if (end->asked->functions.buffer.size) {
        dw_out_text(out, "dwell: no lines were recorded: no function that -f names has run\n");
    } else {
        dw_out_text(out, "dwell: no lines were recorded: no function that is marked with @profile "
                         "has run; mark some, or name them:\n");
        add_again(&commands, end, "-f FUNCTION", "func, Class.method or module.func");
    }
    put_commands(out, &commands);
}
