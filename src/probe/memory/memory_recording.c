/* SPDX-License-Identifier: MIT
 * The lock of dw_allocs is held as long as it takes to copy what changed. Then steps become paths,
 * and changes are added to rows. */
#define _GNU_SOURCE
#include "probe/memory/memory_recording.h"

#include "base/clock.h"
#include "base/grow.h"
#include "probe/memory/alloc_events.h"
#include "probe/memory/alloc_stack.h"
#include "probe/memory/library_use.h"
#include "probe/memory/memory_probe.h"
#include "record/recorder.h"

#include <string.h>

struct dw_memory_change {
    struct dw_alloc_site_key key;
    uint64_t token; /* of the function that allocated */
    uint64_t by[DW_SITE_NUMBERS];
    bool is_of_peak;  /* the thread was here at the peak, or is said to have been: */
    uint64_t peak_ns; /* when; 0: it was not */
};

static const enum dw_measure measures[DW_SITE_NUMBERS] = {
    [DW_SITE_ALLOCATIONS] = DW_ALLOCATIONS,
    [DW_SITE_BYTES] = DW_ALLOC_BYTES,
    [DW_SITE_LIVE] = DW_LIVE,
    [DW_SITE_LIVE_BYTES] = DW_LIVE_BYTES,
    [DW_SITE_PEAK_BYTES] = DW_PEAK_BYTES,
    [DW_SITE_TEMPORARY] = DW_TEMPORARY,
};

int dw_memory_recording_init(struct dw_memory_recording *recording)
{
    int error = dw_sample_places_init(&recording->places, recording->log, &dw_alloc_codes);
    recording->places.natives.with_frames = !recording->is_exact;
    recording->places.natives.is_rare = true;
    return error ? error
                 : dw_sample_natives_init(&recording->places.natives, dw_alloc_stack_publish);
}

void dw_memory_recording_release(struct dw_memory_recording *recording)
{
    dw_sample_places_release(&recording->places);
    free(recording->paths);
    free(recording->threads);
    free(recording->steps);
    free(recording->entries);
    free(recording->changes);
    *recording =
        (struct dw_memory_recording){.log = recording->log, .is_exact = recording->is_exact};
}

static bool counts(enum dw_site_number number)
{
    return dw_measures[measures[number]].unit == DW_UNIT_COUNT;
}

/* As a reader wants it; what stands for parts of allocations is rounded. */
static uint64_t shown(const struct dw_alloc_site *site, enum dw_site_number number)
{
    uint64_t now = dw_alloc_number(site, number);
    return counts(number) ? (now + DW_ALLOC_COUNT / 2) / DW_ALLOC_COUNT : now;
}

/* Whether the log knows all of a site: without events only its peak may be another. */
static inline bool is_told(const struct dw_alloc_site *site,
                           const struct dw_alloc_site_record *record, uint64_t peak_ns)
{
    return site->allocations + site->freed == record->told_events &&
           dw_alloc_number(site, DW_SITE_PEAK_BYTES) == record->told[DW_SITE_PEAK_BYTES] &&
           peak_ns == record->told_peak_ns;
}

static int add_change(struct dw_memory_recording *recording, const struct dw_alloc_site *site,
                      struct dw_alloc_site_record *record, uint64_t peak_ns)
{
    struct dw_memory_change change = {.key = record->key,
                                      .token = dw_allocs.steps[record->key.step].token,
                                      .peak_ns = peak_ns,
                                      .is_of_peak = peak_ns != record->told_peak_ns};
    for (enum dw_site_number i = 0; i < DW_SITE_NUMBERS; i++) {
        uint64_t now = shown(site, i);
        change.by[i] = now - record->told[i];
        record->told[i] = now;
    }
    record->told_events = site->allocations + site->freed;
    record->told_peak_ns = peak_ns;
    int error = DW_GROW(recording->changes, recording->change_count, recording->change_capacity);
    if (!error)
        recording->changes[recording->change_count++] = change;
    return error;
}

static int look_at_site(struct dw_memory_recording *recording, uint32_t index)
{
    const struct dw_alloc_site *site = &dw_allocs.sites[index];
    struct dw_alloc_site_record *record = &dw_allocs.records[index];
    struct dw_alloc_thread_entry *thread = &recording->entries[record->key.thread];
    uint64_t peak_ns = dw_alloc_site_at_peak(thread) == index ? dw_allocs.peak_ns : 0;
    int error = 0;
    if (!is_told(site, record, peak_ns))
        error = add_change(recording, site, record, peak_ns);
    thread->has_live |= site->allocations != site->freed || record->told[DW_SITE_PEAK_BYTES] ||
                        record->told_peak_ns;
    return error;
}

static int copy_steps(struct dw_memory_recording *recording)
{
    int error = 0;
    recording->step_count = 0;
    for (uint32_t i = recording->path_count; i < dw_allocs.step_count && !error; i++) {
        error = DW_GROW(recording->steps, recording->step_count, recording->step_capacity);
        if (!error)
            recording->steps[recording->step_count++] = dw_allocs.steps[i];
    }
    return error;
}

static int copy_threads(struct dw_memory_recording *recording)
{
    int error = 0;
    recording->entry_count = 0;
    for (uint32_t i = 0; i < dw_allocs.thread_count && !error; i++) {
        error = DW_GROW(recording->entries, recording->entry_count, recording->entry_capacity);
        if (!error)
            recording->entries[recording->entry_count++] = dw_allocs.threads[i];
    }
    return error;
}

/* What is new; nobody allocates meanwhile. */
static int copy_news(struct dw_memory_recording *recording, struct dw_alloc_code **codes)
{
    recording->change_count = recording->step_count = 0;
    *codes = NULL;
    if (!dw_alloc_lock_or_leave())
        return 0;
    *codes = dw_allocs.codes;
    dw_allocs.codes = NULL;
    int error = copy_steps(recording);
    if (!error)
        error = copy_threads(recording);
    for (uint32_t i = 1; i < dw_allocs.site_count && !error; i++)
        error = look_at_site(recording, i);
    recording->log->dropped += dw_allocs.dropped;
    dw_allocs.dropped = 0;
    dw_alloc_unlock();
    return error;
}

static void learn_codes(struct dw_memory_recording *recording, struct dw_alloc_code *codes)
{
    struct dw_alloc_code *next;
    for (; codes; codes = next) {
        next = codes->next;
        dw_sample_places_learn(&recording->places, &codes->record);
        free(codes);
    }
}

/* A step has a larger number than its parent. */
static int find_paths(struct dw_memory_recording *recording)
{
    int error = 0;
    for (uint32_t i = 0; i < recording->step_count && !error; i++) {
        const struct dw_alloc_step *step = &recording->steps[i];
        dw_path_id path = DW_PATH_ROOT;
        error = DW_GROW(recording->paths, recording->path_count, recording->path_capacity);
        if (!error && recording->path_count) {
            path = recording->paths[step->parent];
            error = dw_sample_places_extend(&recording->places, step->token, &path);
        }
        if (!error)
            recording->paths[recording->path_count++] = path;
    }
    return error;
}

static int enter_thread(struct dw_memory_recording *recording, uint64_t tid)
{
    uint32_t index;
    int error = DW_GROW(recording->threads, recording->thread_count, recording->thread_capacity);
    if (!error)
        error = dw_ledger_thread(recording->log, dw_memory_probe.bit, tid, &index);
    if (!error)
        recording->threads[recording->thread_count++] =
            (struct dw_memory_thread){.log_thread = index + 1};
    return error;
}

static int enter_threads(struct dw_memory_recording *recording)
{
    int error = 0;
    while (recording->thread_count < recording->entry_count && !error)
        error = enter_thread(recording, (uint64_t)recording->entries[recording->thread_count].tid);
    return error;
}

/* Nothing of what a thread allocated is there once it has ended: nothing about it can change. The
 * first one also has what the process has. */
static void leave_threads(struct dw_memory_recording *recording)
{
    for (uint32_t i = 0; i < recording->thread_count; i++) {
        struct dw_memory_thread *thread = &recording->threads[i];
        if (!recording->entries[i].has_ended || thread->is_left)
            continue;
        dw_ledger_end_thread(recording->log, thread->log_thread - 1);
        if (!i || recording->entries[i].has_live)
            continue;
        dw_ledger_leave_thread(recording->log, dw_memory_probe.bit, thread->log_thread - 1);
        thread->is_left = true;
    }
}

/* What is mapped goes by the allocator of a library that did so. */
static const char *allocator_of(struct dw_memory_recording *recording,
                                const struct dw_memory_change *change)
{
    static const char *const allocators[DW_ALLOC_KINDS] = {
        [DW_ALLOC_PYTHON] = "python",     [DW_ALLOC_LARGE] = "python",
        [DW_ALLOC_MALLOC] = "malloc",     [DW_ALLOC_MIMALLOC] = "mimalloc",
        [DW_ALLOC_JEMALLOC] = "jemalloc", [DW_ALLOC_MMAP] = "mmap",
        [DW_ALLOC_ARENA] = "arenas",
    };
    const char *library = NULL;
    if (change->key.kind == DW_ALLOC_MMAP && DW_TOKEN_KIND(change->token) == DW_TOKEN_NATIVE)
        library = dw_library_allocator_at(&recording->places.natives, DW_TOKEN_REST(change->token));
    return library ? library : allocators[change->key.kind];
}

static int labels_of(struct dw_memory_recording *recording, const struct dw_memory_change *change,
                     dw_labels_id *labels)
{
    const struct dw_alloc_site_key *key = &change->key;
    const char *allocator = allocator_of(recording, change);
    const char *mark = key->mark ? dw_alloc_mark_name(key->mark) : "";
    const struct dw_label_text texts[] = {{{"allocator", 9}, {allocator, strlen(allocator)}},
                                          {{"mark", 4}, {mark, strlen(mark)}}};
    dw_labels_id live = dw_region_label(key->labels, key->region);
    int error = dw_labels_extend(live, texts, key->mark ? 2 : 1, &live);
    return error ? error : dw_ledger_labels(recording->log, live, 0, labels);
}

/* The row is new to the log. */
static int set_peak(const struct dw_ledger *log, struct dw_ledger_thread *thread, uint32_t row,
                    uint64_t peak_ns)
{
    uint64_t since_ns = peak_ns ? peak_ns - log->process.first_clock.monotonic_ns : 0;
    return dw_value_row_set(&thread->values, row, DW_MASK(DW_PEAK_TIME), &since_ns);
}

/* What is mapped is reserved, and says nothing of what is live. */
static int add_row(struct dw_memory_recording *recording, const struct dw_memory_change *change)
{
    uint32_t row;
    dw_labels_id labels;
    dw_path_id path = recording->paths[change->key.step];
    struct dw_ledger *log = recording->log;
    bool is_reserved = change->key.kind >= DW_ALLOC_MMAP;
    dw_measure_mask mask = is_reserved ? DW_MASK(DW_RESERVED_BYTES) : DW_MEMORY_MASK;
    const uint64_t *by = is_reserved ? &change->by[DW_SITE_LIVE_BYTES] : change->by;
    int error = labels_of(recording, change, &labels);
    if (error)
        return error;
    pthread_mutex_lock(&log->tables);
    struct dw_ledger_thread *thread =
        &log->threads[recording->threads[change->key.thread].log_thread - 1];
    uint32_t known = thread->values.count;
    error = dw_ledger_add_row(thread, path, labels, mask, by, &row);
    if (!error && row == known)
        dw_ledger_meet_sources(log, path, DW_SOURCE_ENOUGH);
    if (!error && change->is_of_peak)
        error = set_peak(log, thread, row, change->peak_ns);
    pthread_mutex_unlock(&log->tables);
    return error;
}

/* Where the memory of the process is belongs to nobody in it: the first thread has it. */
static int add_resident(struct dw_memory_recording *recording, const char *name, uint64_t by)
{
    struct dw_ledger *log = recording->log;
    uint32_t row;
    dw_place_id place;
    dw_path_id path;
    int error = dw_ledger_named_place(log, DW_FRAME_MARK, (struct dw_string){name, strlen(name)},
                                      (struct dw_string){"", 0}, 0, &place);
    if (!error)
        error = dw_ledger_path(log, DW_PATH_ROOT, place, &path);
    if (error)
        return error;
    pthread_mutex_lock(&log->tables);
    error = dw_ledger_add_row(&log->threads[recording->threads[0].log_thread - 1], path,
                              DW_LABELS_NONE, DW_MASK(DW_RESIDENT_BYTES), &by, &row);
    pthread_mutex_unlock(&log->tables);
    return error;
}

static const struct dw_resident_part *find_part(const struct dw_resident_parts *parts,
                                                const char *name)
{
    for (uint32_t i = 0; i < parts->more_count; i++)
        if (!strcmp(parts->more[i].name, name))
            return &parts->more[i];
    return NULL;
}

/* What changed of the parts that have names of their own: those that are there, and those that
 * were. */
static int tell_more(struct dw_memory_recording *recording, const struct dw_resident_parts *now,
                     const struct dw_resident_parts *told)
{
    int error = 0;
    for (uint32_t i = 0; i < now->more_count && !error; i++) {
        const struct dw_resident_part *part = &now->more[i], *former = find_part(told, part->name);
        uint64_t by = part->bytes - (former ? former->bytes : 0);
        error = by ? add_resident(recording, part->name, by) : 0;
    }
    for (uint32_t i = 0; i < told->more_count && !error; i++)
        if (!find_part(now, told->more[i].name))
            error = add_resident(recording, told->more[i].name, 0 - told->more[i].bytes);
    return error;
}

static int look_at_process(struct dw_memory_recording *recording)
{
    struct dw_resident_parts now, *told = &recording->resident;
    recording->looks = false;
    if (!recording->thread_count || !dw_resident_find(&recording->places.natives, &now))
        return 0;
    int error = tell_more(recording, &now, told);
    for (enum dw_resident i = 0; i < DW_RESIDENTS && !error; i++) {
        uint64_t by = now.bytes[i] - told->bytes[i];
        error = by ? add_resident(recording, dw_resident_names[i], by) : 0;
    }
    *told = now;
    return error;
}

static void refresh_natives(struct dw_memory_recording *recording)
{
    struct dw_sample_natives *natives = &recording->places.natives;
    if (!dw_sample_natives_changed(natives))
        return;
    dw_sample_natives_refresh(natives);
    dw_sample_places_forget(&recording->places,
                            natives->former.unloads != natives->modules.unloads);
}

/* Threads and rows of what has changed. */
static int add_changes(struct dw_memory_recording *recording)
{
    int error = enter_threads(recording);
    for (uint32_t i = 0; i < recording->change_count && !error; i++)
        error = add_row(recording, &recording->changes[i]);
    return error;
}

/* Walks hold the lock, so none uses an older view when it was free once. */
static void reap_views(struct dw_sample_natives *natives)
{
    if (natives->view_count < 2 || !dw_alloc_lock_or_leave())
        return;
    dw_alloc_unlock();
    dw_sample_natives_reap(natives);
}

/* Modules that are gone are kept until the next flush, which reads what was sampled in them. */
void dw_memory_recording_look(struct dw_memory_recording *recording)
{
    struct dw_sample_natives *natives = &recording->places.natives;
    if (recording->is_exact || natives->former.count || !dw_sample_natives_changed(natives))
        return;
    refresh_natives(recording);
    if (natives->former.unloads == natives->modules.unloads)
        dw_sample_natives_forget_former(natives);
    reap_views(natives);
}

/* The first time much is new. */
static void free_copies(struct dw_memory_recording *recording)
{
    free(recording->steps);
    free(recording->changes);
    recording->steps = NULL;
    recording->changes = NULL;
    recording->step_count = recording->step_capacity = 0;
    recording->change_count = recording->change_capacity = 0;
}

int dw_memory_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    struct dw_memory_recording *recording = context;
    struct dw_alloc_code *codes;
    refresh_natives(recording);
    uint64_t began_ns = dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int error = copy_news(recording, &codes);
    uint64_t copied_ns = dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    learn_codes(recording, codes);
    if (!error)
        error = find_paths(recording);
    dw_sample_natives_forget_former(&recording->places.natives);
    uint64_t found_ns = dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!error)
        error = add_changes(recording);
    recording->took_ns = copied_ns - began_ns + dw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - found_ns;
    free_copies(recording);
    if (!error && recording->looks)
        error = look_at_process(recording);
    if (!error)
        error = dw_ledger_collect(NULL, ledger, sink);
    if (!error)
        leave_threads(recording);
    return error;
}
