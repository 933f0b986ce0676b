/* SPDX-License-Identifier: MIT
 * The order comes from clocks and ids of the system, which do not change with the order of the
 * logs. Names come from properties that probes and engines recorded. */
#include "lens/view/roster.h"

#include "base/error.h"
#include "base/order.h"

#include <stdlib.h>

/* An idle thread waits for the GIL for one part in so many of its time at most. */
#define IDLE_ASKS 10

static int compare_processes(const void *left, const void *right, void *context)
{
    const struct dw_profile *profile = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct dw_process *p = &profile->processes[a], *q = &profile->processes[b];
    return dw_ascending(p->first_clock.wall_ns, q->first_clock.wall_ns)
           ?: dw_ascending(p->pid, q->pid) ?: memcmp(p->uuid, q->uuid, sizeof p->uuid)
           ?: dw_ascending(a, b);
}

/* Ids are given out upwards from that of the process, and begin anew at the top. */
static uint64_t thread_age(const struct dw_profile *profile, const struct dw_thread *thread)
{
    return thread->tid - profile->processes[thread->process].pid;
}

static int compare_threads(const void *left, const void *right, void *context)
{
    const struct dw_profile *profile = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct dw_thread *s = &profile->threads[a], *t = &profile->threads[b];
    return compare_processes(&s->process, &t->process, context)
           ?: dw_ascending(thread_age(profile, s), thread_age(profile, t)) ?: dw_ascending(a, b);
}

static int sorted_indices(const struct dw_profile *profile, uint32_t count,
                          int (*compare)(const void *, const void *, void *), uint32_t **result)
{
    uint32_t *indices = malloc((count + 1u) * sizeof *indices);
    if (!indices)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        indices[i] = i;
    qsort_r(indices, count, sizeof *indices, compare, (void *)profile);
    *result = indices;
    return 0;
}

int dw_roster_threads(const struct dw_profile *profile, uint32_t **threads)
{
    return sorted_indices(profile, profile->thread_count, compare_threads, threads);
}

int dw_roster_processes(const struct dw_profile *profile, uint32_t **processes)
{
    return sorted_indices(profile, profile->process_count, compare_processes, processes);
}

int dw_roster_first_threads(const struct dw_profile *profile, uint32_t **result)
{
    uint32_t *first = malloc((profile->process_count + 1u) * sizeof *first);
    if (!first)
        return DW_ERR_MEMORY;
    memset(first, 0xff, profile->process_count * sizeof *first);
    for (uint32_t i = profile->thread_count; i-- > 0;)
        first[profile->threads[i].process] = i;
    *result = first;
    return 0;
}

/* The name that the process was given, what a person calls the program, or the file name in argv's
 * first word. */
static struct dw_string program_name(const struct dw_profile *profile, uint32_t process)
{
    struct dw_string name = dw_profile_property(profile, process, "name");
    struct dw_string program = dw_profile_property(profile, process, "program");
    struct dw_string argv = dw_profile_property(profile, process, "argv");
    size_t start = strspn(argv.bytes, "[\"'"), end = start;
    if (name.size || program.size)
        return name.size ? name : program;
    while (end < argv.size && argv.bytes[end] && !strchr(" \n\t\"',", argv.bytes[end]))
        if (argv.bytes[end++] == '/')
            start = end;
    return (struct dw_string){argv.bytes + start, end - start};
}

bool dw_roster_has_hosts(const struct dw_profile *profile)
{
    for (uint32_t i = 1; i < profile->process_count; i++)
        if (dw_string_compare(dw_profile_property(profile, i, "host"),
                              dw_profile_property(profile, 0, "host")))
            return true;
    return false;
}

void dw_roster_put_process(struct dw_out *out, const struct dw_profile *profile, uint32_t process)
{
    dw_roster_put_program(out, profile, process, profile->process_count > 1);
}

void dw_roster_put_program(struct dw_out *out, const struct dw_profile *profile, uint32_t process,
                           bool with_host)
{
    struct dw_string program = program_name(profile, process);
    struct dw_string host = dw_profile_property(profile, process, "host");
    struct dw_string rank = dw_profile_property(profile, process, "rank");
    if (!program.size)
        program = (struct dw_string){"process", strlen("process")};
    dw_out_write(out, program.bytes, program.size);
    dw_out_char(out, ' ');
    dw_out_u64(out, profile->processes[process].pid);
    if (host.size && with_host) {
        dw_out_char(out, '@');
        dw_out_write(out, host.bytes, host.size);
    }
    if (rank.size)
        dw_out_text(out, " rank ");
    dw_out_write(out, rank.bytes, rank.size);
}

void dw_roster_put_properties(struct dw_out *out, const struct dw_profile *profile,
                              const struct dw_property *properties, uint32_t count)
{
    dw_out_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        struct dw_string key = dw_profile_string(profile, properties[i].key);
        struct dw_string value = dw_profile_string(profile, properties[i].value);
        dw_out_text(out, i ? ", " : "");
        dw_out_json_string(out, key.bytes, key.size);
        dw_out_text(out, ": ");
        dw_out_json_string(out, value.bytes, value.size);
    }
    dw_out_char(out, '}');
}

void dw_roster_put_thread(struct dw_out *out, const struct dw_profile *profile, uint32_t thread)
{
    struct dw_string name = dw_profile_string(profile, profile->threads[thread].name);
    if (name.size) {
        dw_out_write(out, name.bytes, name.size);
        return;
    }
    dw_out_text(out, "thread ");
    dw_out_u64(out, profile->threads[thread].tid);
}

void dw_roster_put_thread_of(struct dw_out *out, const struct dw_profile *profile, uint32_t thread,
                             bool with_host)
{
    dw_roster_put_thread(out, profile, thread);
    if (profile->process_count < 2)
        return;
    dw_out_text(out, " of ");
    dw_roster_put_program(out, profile, profile->threads[thread].process, with_host);
}

/* A thread that wakes to see that there is nothing to do may wait for the GIL then. */
bool dw_roster_is_idle(const struct dw_profile *profile, uint32_t thread)
{
    struct dw_sample sample;
    uint64_t all = 0, waited = 0, asked = 0;
    for (uint32_t at = 0; dw_profile_sample(profile, thread, &at, &sample);) {
        uint32_t state = sample.state & DW_SAMPLE_STATE_MASK;
        all += sample.weight;
        waited += state == DW_SAMPLE_WAITING ? sample.weight : 0;
        asked += state == DW_SAMPLE_GIL ? sample.weight : 0;
    }
    return waited && all - waited - asked <= all / DW_IDLE_RUNS && asked <= all / IDLE_ASKS;
}

uint64_t dw_roster_epoch_ns(const struct dw_profile *profile)
{
    uint64_t epoch = UINT64_MAX;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        uint64_t start = profile->processes[i].first_clock.wall_ns;
        if (start && start < epoch)
            epoch = start;
    }
    return epoch == UINT64_MAX ? 0 : epoch;
}
