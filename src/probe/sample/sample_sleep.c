/* SPDX-License-Identifier: MIT
 * CPU time of which no sample tells was spent in the kernel, and wall time beyond CPU time was
 * spent waiting. Both go to a stack that was read while the thread did not run. */
#define _GNU_SOURCE
#include "probe/sample/sample_sleep.h"

#include "attach/sampling/activity.h"
#include "cpython/context_labels.h"
#include "probe/sample/sample_timer.h"
#include "record/recorder.h"

#include <inttypes.h>
#include <stdio.h>

#define CREDIT_AFTER_NS 10000000u /* time of a long sleep goes to the log so often */
#define RETRY_AFTER_NS 5000000u   /* between readings of a thread that sleeps only shortly */
#define SOME_PART 8               /* a smaller part of the time between two looks is ignored */
#define SILENT_PERIODS 3          /* of CPU time without a sample: the timer is silent */
#define SILENT_LOOKS 2            /* in a row: a machine that is shared stands still at times */
#define OWED_NS 500000000u        /* how long ticks may take to say where time was spent */

static uint32_t wait_state(const struct dw_sample_reader *reader, const struct dw_py_thread *thread,
                           const struct dw_stand *stand)
{
    enum dw_activity activity = dw_activity_parse(stand->text, thread ? thread->gil : 0);
    if (activity == DW_ACTIVITY_WAITS_FOR_GIL)
        return DW_SAMPLE_GIL;
    /* A thread that only lacks a CPU does not wait for anything in the program. */
    uint32_t state = activity == DW_ACTIVITY_RUNS ? DW_SAMPLE_RUNNING : DW_SAMPLE_WAITING;
    return state | (dw_sample_reader_holds_gil(reader, thread) ? DW_SAMPLE_HOLDS_GIL : 0);
}

static void add(struct dw_sample_reader *reader, struct dw_slot *slot, dw_path_id path,
                uint32_t state, dw_labels_id labels, uint64_t now_ns, uint64_t weight_ns)
{
    struct dw_ledger *log = reader->places->log;
    if (!weight_ns || dw_sample_enter_thread(reader->places, slot))
        return;
    if (!dw_samples_add(log, slot->thread - 1, path, state, labels, now_ns, weight_ns))
        log->sampling.taken++;
}

static void credit_sleep(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns)
{
    add(reader, slot, slot->sleep_path, slot->sleep_state, slot->sleep_labels, now_ns,
        slot->waited_ns);
    slot->waited_ns = 0;
}

/* What a thread that seems to sleep is doing. It is right when the thread does not run meanwhile.
 */
static dw_labels_id sleeper_labels(const struct dw_slot *slot, const struct dw_py_thread *thread)
{
    const PyThreadState *state = thread ? (const PyThreadState *)(uintptr_t)thread->state : NULL;
    return dw_region_label(state ? dw_py_labels_of_sleeper(state) : 0,
                           dw_region_of_thread((uint64_t)slot->tid));
}

/* Reads the stack of a thread that seems to sleep. */
static void fall_asleep(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t cpu_ns,
                        uint64_t now_ns)
{
    struct dw_stand stand;
    const struct dw_py_thread *thread = dw_sample_reader_thread(reader, slot->tid, now_ns);
    slot->tried_ns = now_ns;
    dw_stand_read(slot, &stand);
    slot->sleep_state = wait_state(reader, thread, &stand);
    slot->sleep_labels = sleeper_labels(slot, thread);
    slot->sleeps = dw_sample_reader_path(reader, slot, thread, &stand, now_ns, &slot->sleep_path) &&
                   dw_thread_cpu_ns(slot->tid) == cpu_ns;
    reader->places->log->sampling.retried += !slot->sleeps;
    reader->places->log->sampling.guessed +=
        slot->sleeps && dw_sample_reader_lacks_natives(reader, &stand);
}

bool dw_sleep_look(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns)
{
    struct dw_stand stand;
    uint64_t cpu_ns = dw_thread_cpu_ns(slot->tid);
    uint64_t wall_ns = slot->wall_looked_ns ? now_ns - slot->wall_looked_ns : 0;
    uint64_t ran_ns = cpu_ns - slot->cpu_looked_ns;
    if (cpu_ns < slot->cpu_looked_ns)
        return false;
    uint64_t waited_ns = wall_ns > ran_ns ? wall_ns - ran_ns : 0;
    slot->waited_ns += waited_ns;
    slot->cpu_looked_ns = cpu_ns;
    slot->wall_looked_ns = now_ns;
    if (ran_ns && slot->sleeps) {
        credit_sleep(reader, slot, now_ns);
        slot->sleeps = false;
    }
    bool is_due =
        !ran_ns || (now_ns - slot->tried_ns > RETRY_AFTER_NS && dw_stand_read(slot, &stand));
    if (!slot->sleeps && slot->waited_ns && is_due)
        fall_asleep(reader, slot, cpu_ns, now_ns);
    if (slot->sleeps && slot->waited_ns >= CREDIT_AFTER_NS)
        credit_sleep(reader, slot, now_ns);
    return ran_ns > wall_ns / SOME_PART && waited_ns > wall_ns / SOME_PART;
}

void dw_sleep_finish(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns)
{
    if (slot->sleeps)
        credit_sleep(reader, slot, now_ns);
}

/* Whether the thread keeps our signal from coming. */
static bool blocks_signal(pid_t tid, int signal)
{
    char path[64], line[256];
    uint64_t mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "SigBlk: %" SCNx64, &mask) == 1)
            break;
    if (status)
        fclose(status);
    return mask >> (signal - 1) & 1;
}

/* Two readings that agree, with no sample in between: it is the stack that the thread had all
 * the time. */
static bool read_settled(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                         dw_path_id *path)
{
    dw_path_id again;
    struct dw_stand stand;
    const struct dw_py_thread *thread = dw_sample_reader_thread(reader, slot->tid, now_ns);
    dw_stand_read(slot, &stand);
    if (!dw_sample_reader_path(reader, slot, thread, &stand, now_ns, path) ||
        !dw_sample_reader_path(reader, slot, thread, &stand, now_ns, &again) || *path != again ||
        atomic_load(&slot->samples) != slot->samples_looked)
        return false;
    reader->places->log->sampling.guessed += dw_sample_reader_lacks_natives(reader, &stand);
    return true;
}

void dw_sleep_look_at_kernel(struct dw_sample_reader *reader, struct dw_slot *slot, int signal,
                             uint64_t now_ns)
{
    dw_path_id path;
    uint64_t samples = atomic_load(&slot->samples);
    bool had_sample = samples != slot->samples_looked;
    slot->samples_looked = samples;
    uint64_t done_ns = atomic_load(&slot->cpu_done_ns), cpu_ns = dw_thread_cpu_ns(slot->tid);
    bool is_silent = !had_sample && !atomic_load(&slot->handlers) &&
                     cpu_ns >= done_ns + SILENT_PERIODS * slot->period_ns;
    slot->silent_looks = is_silent ? slot->silent_looks + 1 : 0;
    if (slot->silent_looks < SILENT_LOOKS || !read_settled(reader, slot, now_ns, &path))
        return;
    if (!atomic_compare_exchange_strong(&slot->cpu_done_ns, &done_ns, cpu_ns))
        return;
    slot->tick_told_ns += cpu_ns - done_ns;
    bool is_blocked = atomic_load(&slot->tight_stack) || blocks_signal(slot->tid, signal);
    if (!is_blocked &&
        dw_ledger_path(reader->places->log, path, reader->places->marks[DW_MARK_KERNEL], &path))
        return;
    add(reader, slot, path, is_blocked ? DW_SAMPLE_RUNNING : DW_SAMPLE_KERNEL, slot->last_labels,
        now_ns, cpu_ns - done_ns);
}

bool dw_sleep_account(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t cpu_ns,
                      uint64_t now_ns)
{
    dw_path_id path;
    struct dw_stand stand;
    uint64_t done_ns = atomic_load(&slot->cpu_done_ns);
    if (!dw_stand_read(slot, &stand))
        return false;
    const struct dw_py_thread *thread = dw_sample_reader_thread(reader, slot->tid, now_ns);
    if (done_ns < cpu_ns && dw_sample_reader_path(reader, slot, thread, &stand, now_ns, &path) &&
        dw_thread_cpu_ns(slot->tid) == cpu_ns &&
        atomic_compare_exchange_strong(&slot->cpu_done_ns, &done_ns, cpu_ns))
        add(reader, slot, path, DW_SAMPLE_RUNNING, slot->last_labels, now_ns, cpu_ns - done_ns);
    return true;
}

static void pay(struct dw_ledger *log, struct dw_slot *slot, dw_path_id path, uint64_t now_ns,
                uint64_t paid_ns)
{
    dw_samples_add_time(log, slot->thread - 1, path, DW_SAMPLE_KERNEL, slot->last_labels, now_ns,
                        paid_ns);
    slot->owed_ns -= paid_ns;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Ticks are few and come by chance. Where they have of late explained most of the time that samples
 * came too late for, what they do not explain was spent in system calls, too; else in page faults.
 */
static bool are_calls(const struct dw_slot *slot)
{
    return slot->tick_sum_ns > slot->owed_sum_ns / 2;
}

void dw_sleep_pay_kernel(struct dw_sample_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                         bool end)
{
    struct dw_ledger *log = reader->places->log;
    bool is_due = end || now_ns >= slot->owed_since_ns + OWED_NS;
    uint64_t met_ns =
        is_due && are_calls(slot) ? slot->owed_ns : smaller(slot->owed_ns, slot->tick_ns);
    dw_path_id path = slot->owed_path;
    slot->tick_ns -= smaller(met_ns, slot->tick_ns);
    if (met_ns) {
        pay(log, slot, slot->tick_path, now_ns, met_ns);
        slot->owed_since_ns = now_ns;
    }
    if (slot->owed_ns && is_due &&
        !dw_ledger_path(log, path, reader->places->marks[DW_MARK_KERNEL], &path))
        pay(log, slot, path, now_ns, slot->owed_ns);
}
