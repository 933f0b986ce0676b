/* SPDX-License-Identifier: MIT
 * The rate obtained is that of the time that was recorded: samples divided by what they
 * stand for. It is the asked one unless samples were late or were missed. */
#include "lens/view/notes.h"

#include "base/order.h"
#include "lens/view/column.h"
#include "lens/view/roster.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"CPU time", "wall time", "counts"};

struct summary {
    uint32_t processes;
    uint64_t samples, weight; /* as kept, so that they are what the rows below add up to */
    uint64_t shortest_ns, longest_ns;
    struct dw_sampling sums;
};

struct gil {
    uint64_t held, awaited;
};

static void add_process(struct summary *summary, const struct dw_sampling *sampling)
{
    uint64_t period = sampling->period_ns;
    if (!summary->processes++)
        summary->shortest_ns = summary->longest_ns = period;
    summary->shortest_ns = period < summary->shortest_ns ? period : summary->shortest_ns;
    summary->longest_ns = period > summary->longest_ns ? period : summary->longest_ns;
    summary->sums.missed += sampling->missed;
    summary->sums.guessed += sampling->guessed;
    summary->sums.cut += sampling->cut;
    summary->sums.retried += sampling->retried;
}

static void add_thread(struct summary *summary, const struct dw_profile *profile, uint32_t thread)
{
    struct dw_sample sample;
    for (uint32_t at = 0; dw_profile_sample(profile, thread, &at, &sample);) {
        summary->samples += sample.count;
        summary->weight += sample.weight;
    }
}

static bool has_mode(const struct dw_process *process, enum dw_sample_mode mode)
{
    return process->is_sampled && process->sampling.mode == mode;
}

static struct summary summarize(const struct dw_profile *profile, enum dw_sample_mode mode)
{
    struct summary summary = {0};
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (has_mode(&profile->processes[i], mode))
            add_process(&summary, &profile->processes[i].sampling);
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (has_mode(&profile->processes[profile->threads[i].process], mode))
            add_thread(&summary, profile, i);
    return summary;
}

static void put_rate(struct dw_out *out, double hz)
{
    dw_out_printf(out, hz < 100 ? "%.1f Hz" : "%.0f Hz", hz);
}

static void put_asked(struct dw_out *out, const struct summary *summary)
{
    if (!summary->longest_ns) {
        dw_out_text(out, "as fast as it goes");
        return;
    }
    put_rate(out, 1e9 / (double)summary->longest_ns);
    if (summary->shortest_ns != summary->longest_ns && summary->shortest_ns) {
        dw_out_text(out, " to ");
        put_rate(out, 1e9 / (double)summary->shortest_ns);
    }
    dw_out_text(out, " asked");
}

/* What a probe counts of samples. */
static const struct {
    size_t count; /* in struct dw_sampling */
    const char *what, *meaning;
} troubles[] = {{offsetof(struct dw_sampling, missed), "missed", "were due and not taken"},
                {offsetof(struct dw_sampling, guessed), "guessed",
                 "have native callers that are likely, not certain"},
                {offsetof(struct dw_sampling, cut), "cut", "lack their outermost functions"},
                {offsetof(struct dw_sampling, retried), "retried", "were read more than once"}};
#define TROUBLES (sizeof troubles / sizeof *troubles)

static uint64_t count_of(const struct dw_sampling *sums, size_t trouble)
{
    uint64_t count;
    memcpy(&count, (const char *)sums + troubles[trouble].count, sizeof count);
    return count;
}

/* What went wrong, as far as something did. */
static void put_trouble(struct dw_out *out, const struct dw_sampling *sums)
{
    const char *before = "; ";
    for (size_t i = 0; i < TROUBLES; i++) {
        if (!count_of(sums, i))
            continue;
        dw_out_printf(out, "%s%" PRIu64 " %s", before, count_of(sums, i), troubles[i].what);
        before = ", ";
    }
    dw_out_char(out, '\n');
}

/* A line each, and only of what there is. */
static void explain_trouble(struct dw_out *out, const struct dw_sampling *sums, const char *prefix)
{
    for (size_t i = 0; i < TROUBLES; i++)
        if (count_of(sums, i))
            dw_out_printf(out, "%s%s samples %s\n", prefix, troubles[i].what, troubles[i].meaning);
}

static void put_summary(struct dw_out *out, const struct summary *summary, enum dw_sample_mode mode)
{
    dw_out_printf(out, "%s: %" PRIu64 " sample%s", modes[mode], summary->samples,
                  summary->samples == 1 ? "" : "s");
    if (mode == DW_SAMPLE_COUNTS) {
        dw_out_text(out, ", of which it is not known how long they stand for\n");
        return;
    }
    dw_out_text(out, ", ");
    put_asked(out, summary);
    dw_out_text(out, ", ");
    put_rate(out, summary->weight ? (double)summary->samples * 1e9 / (double)summary->weight : 0);
    dw_out_text(out, " obtained");
    put_trouble(out, &summary->sums);
}

static void add_gil(struct gil *gil, const struct dw_profile *profile, uint32_t thread)
{
    struct dw_sample sample;
    for (uint32_t at = 0; dw_profile_sample(profile, thread, &at, &sample);) {
        if (sample.state & DW_SAMPLE_HOLDS_GIL)
            gil->held += sample.weight;
        if ((sample.state & DW_SAMPLE_STATE_MASK) == DW_SAMPLE_GIL)
            gil->awaited += sample.weight;
    }
}

/* Threads run at the same time: what passed for the process is the time of the one that was there
 * for longest. CPU time is that of all of them. */
static uint64_t time_of_process(const struct dw_profile *profile, uint32_t process)
{
    uint64_t sum = 0, most = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        struct summary all = {0};
        if (profile->threads[t].process != process)
            continue;
        add_thread(&all, profile, t);
        sum += all.weight;
        most = all.weight > most ? all.weight : most;
    }
    return has_mode(&profile->processes[process], DW_SAMPLE_WALL) ? most : sum;
}

static void put_gil(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    struct gil gil = {0};
    uint64_t whole = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        add_gil(&gil, profile, i);
    if (!gil.held && !gil.awaited) /* always so in profiles of other tools */
        return;
    for (uint32_t i = 0; i < profile->process_count; i++)
        whole += time_of_process(profile, i);
    /* Threads are read one after the other: the GIL may have gone from one to the next. */
    double held = gil.held < whole ? (double)gil.held / (double)whole : 1;
    double awaited = (double)gil.awaited / (double)whole;
    dw_out_printf(out, "%sGIL: held in %.1f %% of the time", prefix, 100 * held);
    if (summarize(profile, DW_SAMPLE_WALL).processes)
        dw_out_printf(out, ", waited for by %.2f threads on average\n", awaited);
    else
        dw_out_printf(out, " sampled, waited for in %.1f %%\n", 100 * awaited);
}

/* Probes that see every call or line: what they do takes time in the place of what they see. */
static const char *const exact_probes[] = {"calls", "lines"};
#define EXACT_PROBES (sizeof exact_probes / sizeof *exact_probes)

/* Whether a probe ran in the process too. */
static bool has_probe(const struct dw_profile *profile, uint32_t process, const char *probe)
{
    struct dw_string probes = dw_profile_property(profile, process, "probes");
    return profile->processes[process].is_sampled &&
           memmem(probes.bytes, probes.size, probe, strlen(probe));
}

static void put_exact_probes(struct dw_out *out, const struct dw_profile *profile,
                             const char *prefix)
{
    const char *before = "of these times, a part is the work of recording ";
    bool is_any = false;
    for (size_t i = 0; i < EXACT_PROBES; i++) {
        bool is_there = false;
        for (uint32_t p = 0; p < profile->process_count && !is_there; p++)
            is_there = has_probe(profile, p, exact_probes[i]);
        if (!is_there)
            continue;
        dw_out_printf(out, "%s%s%s", is_any ? "" : prefix, before, exact_probes[i]);
        before = " and ";
        is_any = true;
    }
    if (is_any)
        dw_out_char(out, '\n');
}

void dw_notes_put_sampling(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    for (enum dw_sample_mode mode = DW_SAMPLE_CPU; mode < DW_SAMPLE_MODES; mode++) {
        struct summary summary = summarize(profile, mode);
        if (!summary.processes)
            continue;
        dw_out_text(out, prefix);
        put_summary(out, &summary, mode);
        if (mode != DW_SAMPLE_COUNTS) /* which say nothing of it */
            explain_trouble(out, &summary.sums, prefix);
    }
    put_exact_probes(out, profile, prefix);
    put_gil(out, profile, prefix);
}

static uint32_t count_sampled_threads(const struct dw_profile *profile)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        count += dw_thread_is_sampled(&profile->threads[i]);
    return count;
}

void dw_notes_put_whole_name(struct dw_out *out, const struct dw_profile *profile)
{
    uint32_t threads = count_sampled_threads(profile);
    enum dw_sample_mode mode = DW_SAMPLE_CPU;
    if (dw_profile_shown_unit(profile) == DW_UNIT_BYTES) {
        dw_out_text(out, "the memory that is shown");
        return;
    }
    while (mode < DW_SAMPLE_COUNTS && !summarize(profile, mode).processes)
        mode++;
    dw_out_printf(out, "the %s of ", mode == DW_SAMPLE_COUNTS ? "samples" : modes[mode]);
    if (threads == 1)
        dw_out_text(out, "the thread");
    else
        dw_out_printf(out, "%" PRIu32 " threads", threads);
}

static uint64_t running_ns(const struct dw_profile *profile, uint32_t thread)
{
    struct dw_sample sample;
    uint64_t sum_ns = 0;
    for (uint32_t at = 0; dw_profile_sample(profile, thread, &at, &sample);) {
        uint32_t state = sample.state & DW_SAMPLE_STATE_MASK;
        sum_ns += state == DW_SAMPLE_WAITING || state == DW_SAMPLE_GIL ? 0 : sample.weight;
    }
    return sum_ns;
}

/* What the processes are that share the work. */
struct workers {
    const char *property; /* that engines give their workers; NULL: there is no engine */
    const char *name;
    uint64_t epoch_ns;
};

static bool has_property(const struct dw_profile *profile, uint32_t process, const char *key)
{
    return dw_profile_property(profile, process, key).size > 0;
}

/* An engine says who works. Otherwise the first process has started the others, and a fork server
 * does no work. */
static bool is_worker(const struct dw_profile *profile, uint32_t process,
                      const struct workers *workers)
{
    const struct dw_process *one = &profile->processes[process];
    if (!one->is_sampled || workers->property)
        return one->is_sampled && has_property(profile, process, workers->property);
    return one->first_clock.wall_ns > workers->epoch_ns &&
           strcmp(dw_profile_property(profile, process, "name").bytes, "forkserver") != 0;
}

static struct workers find_workers(const struct dw_profile *profile)
{
    static const struct workers of_engines[] = {{"worker", "workers", 0}, {"rank", "ranks", 0}};
    for (size_t kind = 0; kind < sizeof of_engines / sizeof *of_engines; kind++)
        for (uint32_t i = 0; i < profile->process_count; i++)
            if (has_property(profile, i, of_engines[kind].property))
                return of_engines[kind];
    return (struct workers){NULL, "processes beside the first", dw_roster_epoch_ns(profile)};
}

static int compare_times(const void *left, const void *right)
{
    return dw_ascending(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* Keeps those of workers, in order. How many they are. */
static uint32_t sort_workers(const struct dw_profile *profile, const struct workers *workers,
                             uint64_t *times_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (is_worker(profile, i, workers))
            times_ns[count++] = times_ns[i];
    qsort(times_ns, count, sizeof *times_ns, compare_times);
    return count;
}

/* How even the work of several processes is. */
static void put_balance(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    uint64_t *times_ns =
        profile->process_count > 1 ? calloc(profile->process_count, sizeof *times_ns) : NULL;
    if (!times_ns)
        return;
    struct workers workers = find_workers(profile);
    for (uint32_t i = 0; i < profile->thread_count; i++)
        times_ns[profile->threads[i].process] += running_ns(profile, i);
    uint32_t count = sort_workers(profile, &workers, times_ns);
    if (count > 1) {
        dw_out_printf(out, "%s%" PRIu32 " %s: CPU time from ", prefix, count, workers.name);
        dw_out_duration(out, times_ns[0]);
        dw_out_text(out, " to ");
        dw_out_duration(out, times_ns[count - 1]);
        dw_out_text(out, ", median ");
        dw_out_duration(out, times_ns[count / 2]);
        dw_out_char(out, '\n');
    }
    free(times_ns);
}

void dw_notes_put_whole(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    uint64_t weight =
        summarize(profile, DW_SAMPLE_CPU).weight + summarize(profile, DW_SAMPLE_WALL).weight;
    if (!weight)
        return;
    dw_out_printf(out, "%spercentages are of ", prefix);
    dw_out_duration(out, weight);
    dw_out_text(out, ", ");
    dw_notes_put_whole_name(out, profile);
    dw_out_char(out, '\n');
    put_balance(out, profile, prefix);
}

void dw_notes_put_json_text(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_out text;
    dw_out_init_memory(&text);
    dw_notes_put_sampling(&text, profile, "");
    size_t size = text.buffer.size;
    dw_out_json_string(out, text.buffer.data, size ? size - 1 : 0);
    dw_out_close_into(&text, out);
}

static void put_json_exact(struct dw_out *out, const struct dw_profile *profile, uint32_t process)
{
    const char *before = ", \"with_work_of\": [", *end = "";
    for (size_t i = 0; i < EXACT_PROBES; i++) {
        if (!has_probe(profile, process, exact_probes[i]))
            continue;
        dw_out_printf(out, "%s\"%s\"", before, exact_probes[i]);
        before = ", ";
        end = "]";
    }
    dw_out_text(out, end);
}

static void put_json_process(struct dw_out *out, const struct dw_process *process)
{
    static const char *const words[] = {"cpu", "wall", "counts"};
    const struct dw_sampling *sampling = &process->sampling;
    dw_out_printf(out,
                  "{\"pid\": %" PRIu64 ", \"mode\": \"%s\", \"native\": %s, \"period_ns\": %" PRIu64
                  ", \"taken\": %" PRIu64 ", \"missed\": %" PRIu64 ", \"guessed\": %" PRIu64
                  ", \"cut\": %" PRIu64 ", \"retried\": %" PRIu64,
                  process->pid, words[sampling->mode], sampling->native ? "true" : "false",
                  sampling->period_ns, sampling->taken, sampling->missed, sampling->guessed,
                  sampling->cut, sampling->retried);
}

void dw_notes_put_json_sampling(struct dw_out *out, const struct dw_profile *profile)
{
    bool first = true;
    dw_out_text(out, ",\n  \"sampling\": [");
    for (uint32_t i = 0; i < profile->process_count; i++) {
        if (!profile->processes[i].is_sampled)
            continue;
        dw_out_text(out, first ? "\n    " : ",\n    ");
        first = false;
        put_json_process(out, &profile->processes[i]);
        put_json_exact(out, profile, i);
        dw_out_char(out, '}');
    }
    dw_out_char(out, ']');
}
