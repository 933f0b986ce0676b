/* SPDX-License-Identifier: MIT
 * Samples say how much of the last one's stack they share, so the paths of the last one are
 * kept, and only what is new is looked up. */
#include "base/grow.h"
#include "probe/sample/probe_sampler.h"
#include "probe/sample/sample_places.h"
#include "record/recorder.h"

#define TICKS_MOST_NS                                                                              \
    50000000u                 /* that ticks are ahead of the time that samples came too late for */
#define RECENT_NS 1000000000u /* of that time: what ticks said before says little about now */

static int push_path(struct dw_sample_places *places, struct dw_slot *slot, dw_path_id *path,
                     uint64_t token)
{
    int error = DW_GROW(slot->paths, slot->path_count, slot->path_capacity);
    if (!error)
        error = dw_sample_places_extend(places, token, path);
    if (!error)
        slot->paths[slot->path_count++] = (struct dw_slot_path){*path, token};
    return error;
}

/* The path of the record's stack. */
static int path_of(struct dw_sample_places *places, struct dw_slot *slot,
                   const struct dw_sample_record *record, dw_path_id *path)
{
    int error = 0;
    if (record->kept > slot->path_count)
        return DW_ERR_DAMAGED;
    slot->path_count = record->kept;
    *path = record->kept ? slot->paths[record->kept - 1].path : DW_PATH_ROOT;
    for (uint32_t i = record->count; i-- > 0 && !error;)
        error = push_path(places, slot, path, record->tokens[i]);
    return error;
}

void dw_sample_drain_rename(struct dw_sample_places *places, struct dw_slot *slot)
{
    dw_path_id path = DW_PATH_ROOT;
    uint32_t count = slot->path_count;
    int error = 0;
    slot->path_count = 0;
    while (slot->path_count < count && !error)
        error = push_path(places, slot, &path, slot->paths[slot->path_count].token);
}

/* The timer ticks by CPU time but is silent while the kernel works for the thread. What a
 * sample has beyond one period was spent there, shortly before. */
static uint64_t kernel_ns(const struct dw_sample_places *places,
                          const struct dw_sample_record *record)
{
    uint64_t period_ns = record->period_ns;
    uint32_t others = DW_SAMPLE_CARRIES | DW_SAMPLE_TICK;
    bool is_plain = period_ns && !(record->flags & others) && !places->may_be_held_back;
    return is_plain && record->cpu_ns > period_ns + period_ns / 2 ? record->cpu_ns - period_ns : 0;
}

/* Where that was is not known here: the sample is from after it. */
static void owe_kernel(struct dw_slot *slot, const struct dw_sample_record *record, dw_path_id path,
                       uint64_t weight_ns)
{
    if (!slot->owed_ns)
        slot->owed_since_ns = record->now_ns;
    slot->owed_ns += weight_ns;
    slot->owed_path = path;
    slot->owed_sum_ns += weight_ns;
    if (slot->owed_sum_ns > RECENT_NS) {
        bool are_ahead = slot->tick_sum_ns > slot->owed_sum_ns;
        slot->tick_sum_ns = (are_ahead ? slot->owed_sum_ns : slot->tick_sum_ns) / 2;
        slot->owed_sum_ns /= 2;
    }
}

/* Nobody knows how much of the time between ticks that was, but on the average it is all of it as
 * often as a tick meets the thread there. */
static void note_tick(struct dw_slot *slot, const struct dw_sample_record *record, dw_path_id path)
{
    uint64_t told_ns = slot->tick_told_ns;
    slot->tick_told_ns = 0;
    slot->tick_path = path;
    uint64_t said_ns = record->cpu_ns > told_ns ? record->cpu_ns - told_ns : 0;
    slot->tick_sum_ns += said_ns;
    slot->tick_ns += said_ns;
    slot->tick_ns = slot->tick_ns < TICKS_MOST_NS ? slot->tick_ns : TICKS_MOST_NS;
}

int dw_sample_enter_thread(struct dw_sample_places *places, struct dw_slot *slot)
{
    uint32_t index;
    int error = slot->thread ? 0
                             : dw_ledger_thread(places->log, dw_sample_probe.bit,
                                                (uint64_t)slot->tid, &index);
    if (!error && !slot->thread)
        slot->thread = index + 1;
    return error;
}

/* Programs stay in one region, under the same labels, for many samples. */
static dw_labels_id labels_of(struct dw_slot *slot, const struct dw_sample_record *record)
{
    if (slot->last_doing.labels != record->labels || slot->last_doing.region != record->region) {
        slot->last_doing.labels = record->labels;
        slot->last_doing.region = record->region;
        slot->last_labels = dw_region_label(record->labels, record->region);
    }
    return slot->last_labels;
}

static int add_counted(struct dw_sample_places *places, struct dw_slot *slot,
                       const struct dw_sample_record *record, dw_path_id path)
{
    uint64_t numbers[DW_COUNTERS_MAX];
    dw_measure_mask mask = dw_counters_measures(record->counted, numbers);
    return mask ? dw_ledger_add(places->log, slot->thread - 1, path, 1 + record->state,
                                labels_of(slot, record), mask, numbers)
                : 0;
}

static void add_sample(struct dw_sample_places *places, struct dw_slot *slot,
                       const struct dw_sample_record *record)
{
    dw_path_id path;
    struct dw_sampling *sampling = &places->log->sampling;
    uint64_t in_kernel = kernel_ns(places, record);
    bool is_tick = record->flags & DW_SAMPLE_TICK;
    int error = dw_sample_enter_thread(places, slot);
    if (!error)
        error = path_of(places, slot, record, &path);
    if (!error && in_kernel)
        owe_kernel(slot, record, path, in_kernel);
    if (!error && is_tick)
        note_tick(slot, record, path);
    else if (!error)
        error = dw_samples_add(places->log, slot->thread - 1, path, record->state,
                               labels_of(slot, record), record->now_ns, record->cpu_ns - in_kernel);
    if (!error)
        error = add_counted(places, slot, record, path);
    if (error) {
        sampling->missed++;
        return;
    }
    slot->last_state = record->state;
    if (is_tick)
        return;
    sampling->taken++;
    sampling->guessed += !!(record->flags & DW_SAMPLE_GUESSED);
    sampling->cut += !!(record->flags & DW_SAMPLE_CUT);
}

static void learn_task(struct dw_sample_places *places, const struct dw_task_record *record)
{
    dw_sample_places_learn_task(places, (uint32_t)record->number, &record->name);
}

void dw_sample_drain(struct dw_sample_places *places, struct dw_slot *slot)
{
    const struct dw_ring_record *record;
    while ((record = dw_ring_first(&slot->ring))) {
        if (record->kind == DW_RING_CODE)
            dw_sample_places_learn(places, (const struct dw_code_record *)record);
        else if (record->kind == DW_RING_TASK)
            learn_task(places, (const struct dw_task_record *)record);
        else
            add_sample(places, slot, (const struct dw_sample_record *)record);
        dw_ring_drop(&slot->ring, record);
    }
    uint64_t missed = atomic_load_explicit(&slot->missed, memory_order_relaxed);
    places->log->sampling.missed += missed - slot->seen_missed;
    slot->seen_missed = missed;
}

void dw_sample_drain_rest(struct dw_sample_places *places, struct dw_slot *slot, uint64_t now_ns)
{
    uint64_t done_ns = atomic_load(&slot->cpu_done_ns);
    uint32_t state = slot->path_count ? slot->last_state : DW_SAMPLE_RUNNING;
    dw_path_id path = slot->path_count ? slot->paths[slot->path_count - 1].path : DW_PATH_ROOT;
    if (slot->cpu_end_ns <= done_ns || dw_sample_enter_thread(places, slot))
        return;
    atomic_store(&slot->cpu_done_ns, slot->cpu_end_ns);
    if (path != DW_PATH_ROOT ||
        !dw_ledger_path(places->log, path, places->marks[DW_MARK_UNKNOWN], &path))
        dw_samples_add_time(places->log, slot->thread - 1, path, state, slot->last_labels, now_ns,
                            slot->cpu_end_ns - done_ns);
}
