/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/sample_sleep.h"

#include "attach/activity.h"
#include "attach/task.h"
#include "base/clock.h"
#include "base/error.h"
#include "cpython/sample_walk.h"
#include "native/memory.h"
#include "probe/sample_merge.h"
#include "probe/sample_splice.h"
#include "probe/sample_timer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_AFTER_NS 5000000u    /* how long the list of threads is believed */
#define CREDIT_AFTER_NS 10000000u /* time of a long sleep goes to the log so often */
#define RETRY_AFTER_NS 5000000u   /* between readings of a thread that sleeps only shortly */
#define SILENT_PERIODS 3          /* of CPU time without a sample: the timer is silent */
#define SILENT_LOOKS 2            /* in a row: a machine that is shared stands still at times */
#define OWED_NS 50000000u         /* how long code without the GIL is waited for */
#define FIRST_PAUSE_NS 5000000u   /* between searches for `threading` */
#define NAME_TRIES 10             /* at the start of a thread, before it is left for later */
#define STACK_BYTES (8u << 20)

int dw_sleep_reader_init(struct dw_sleep_reader *reader, struct dw_sample_places *places)
{
    *reader = (struct dw_sleep_reader){.places = places};
    reader->memory = malloc(sizeof *reader->memory);
    if (!reader->memory)
        return DW_ERR_MEMORY;
    reader->can_read = !dw_target_open(getpid(), &reader->target) &&
                       !dw_python_locate(&reader->target, &reader->python);
    return 0;
}

void dw_sleep_reader_release(struct dw_sleep_reader *reader)
{
    dw_code_cache_release(&reader->cache);
    dw_py_threads_release(&reader->listed);
    dw_thread_names_release(&reader->known_names);
    dw_target_release(&reader->target);
    free(reader->memory);
    *reader = (struct dw_sleep_reader){0};
}

static const struct dw_py_thread *find_listed(const struct dw_sleep_reader *reader, pid_t tid)
{
    for (uint32_t i = 0; i < reader->listed.count; i++)
        if (reader->listed.threads[i].native_id == (uint64_t)tid)
            return &reader->listed.threads[i];
    return NULL;
}

/* What Python knows of the thread, or NULL. */
static const struct dw_py_thread *python_thread(struct dw_sleep_reader *reader, pid_t tid,
                                                uint64_t now_ns)
{
    bool is_old = now_ns - reader->listed_ns > LIST_AFTER_NS;
    if (reader->can_read && is_old && !dw_py_threads_read(&reader->python, &reader->listed))
        reader->listed_ns = now_ns;
    return find_listed(reader, tid);
}

/* Where the thread stands in its system call; false when it runs. */
struct stand {
    char text[256];
    uint64_t sp, pc;
};

static bool read_stand(const struct dw_slot *slot, struct stand *stand)
{
    char path[64];
    uint64_t unused;
    long number;
    *stand = (struct stand){0};
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)slot->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, stand->text, sizeof stand->text - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return false;
    return sscanf(stand->text,
                  "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                  " %" SCNx64 " %" SCNx64,
                  &number, &unused, &unused, &unused, &unused, &unused, &unused, &stand->sp,
                  &stand->pc) == 9;
}

uintptr_t dw_sleep_stack_pointer(const struct dw_slot *slot)
{
    struct stand stand;
    return read_stand(slot, &stand) ? (uintptr_t)stand.sp : 0;
}

/* What is known of native code; NULL when it is not wanted. */
static const struct dw_native_view *native_view(const struct dw_sleep_reader *reader)
{
    const struct dw_sample_natives *natives = &reader->places->natives;
    const struct dw_native_view *view =
        natives->view_count ? natives->views[natives->view_count - 1] : NULL;
    return view && view->cache ? view : NULL;
}

static uint32_t unwind(struct dw_sleep_reader *reader, const struct stand *stand)
{
    const struct dw_native_view *view = native_view(reader);
    bool complete;
    if (!stand->sp || !view)
        return 0;
    struct dw_registers start = {.pc = stand->pc, .sp = stand->sp};
    struct dw_unwinder unwinder = {
        .modules = view->modules,
        .cache = view->cache,
        .epoch = view->epoch,
        .stack = dw_memory_own_checked,
        .code = dw_memory_own_checked,
        .doubt = dw_memory_own_checked,
        .stack_end = stand->sp + STACK_BYTES,
    };
    return dw_unwind(&unwinder, &start, reader->memory->native, DW_NATIVE_MAX, &complete);
}

static void put_token(struct dw_sleep_reader *reader, struct dw_merge *merge, uint64_t token,
                      uint32_t *count)
{
    if (*count < DW_TOKENS_MAX)
        reader->memory->python[(*count)++] = token;
    merge->is_cut |= *count == DW_TOKENS_MAX;
}

static void put_task(struct dw_sleep_reader *reader, struct dw_merge *merge, PyObject *handle,
                     uint32_t *count)
{
    struct dw_py_task_name *name = &reader->memory->task;
    if (!dw_py_task_name(handle, dw_py_read, name))
        return;
    uint32_t number = dw_task_number(name);
    if (number && !dw_task_is_known(number))
        dw_sample_places_learn_task(reader->places, number, name);
    put_token(reader, merge, dw_task_token(number), count);
}

static bool put_function(struct dw_sleep_reader *reader, struct dw_merge *merge,
                         const struct dw_py_step *step, uint64_t now_ns, uint32_t *count)
{
    struct dw_raw_frame frame = {
        .address = step->frame,
        .code = (uint64_t)(uintptr_t)step->code,
        .instruction = step->instruction,
        .owner = step->owner,
    };
    struct dw_code_place found;
    if (dw_code_cache_place(&reader->cache, &reader->python, reader->places->log, &frame, now_ns,
                            &found))
        return false;
    if (step->handle)
        put_task(reader, merge, step->handle, count);
    if (found.place)
        put_token(reader, merge, DW_TOKEN(DW_TOKEN_PLACE, (uint64_t)found.place), count);
    return true;
}

static void end_segment(struct dw_sleep_reader *reader, struct dw_merge *merge, uintptr_t boundary,
                        uint32_t end)
{
    if (merge->segment_count < DW_SEGMENTS_MAX)
        reader->memory->segments[merge->segment_count++] = (struct dw_segment){boundary, end};
}

static bool walk_python(struct dw_sleep_reader *reader, struct dw_merge *merge,
                        const struct dw_py_thread *thread, uint64_t now_ns)
{
    struct dw_py_walk walk;
    struct dw_py_step step;
    uint32_t count = 0;
    dw_py_sleeper_begin(&walk, (const PyThreadState *)(uintptr_t)thread->state);
    while (!merge->is_cut && dw_py_sleeper_next(&walk, &step)) {
        if (!step.code)
            end_segment(reader, merge, step.boundary, count);
        else if (!put_function(reader, merge, &step, now_ns, &count))
            return false;
    }
    end_segment(reader, merge, 0, count);
    return !walk.broken;
}

/* Whether native frames are wanted, and cannot be had. */
static bool lacks_natives(const struct dw_sleep_reader *reader, const struct stand *stand)
{
    return !stand->sp && native_view(reader);
}

static int path_of(struct dw_sleep_reader *reader, const struct dw_merge *merge,
                   const struct dw_slot *spliced_to, dw_path_id *path)
{
    int error = 0;
    uint32_t count = merge->count;
    *path = DW_PATH_ROOT;
    if (spliced_to)
        count = dw_splice_outer(reader->places, spliced_to, merge->tokens, count, path);
    for (uint32_t i = count; i-- > 0 && !error;) {
        dw_place_id place = dw_sample_places_of(reader->places, merge->tokens[i]);
        if (place)
            error = dw_sample_log_stack(reader->places->log, *path, place, path);
    }
    return error;
}

/* The thread's stack as it is now; false when it does not hold together. */
static bool read_path(struct dw_sleep_reader *reader, const struct dw_slot *slot,
                      const struct dw_py_thread *thread, const struct stand *stand, uint64_t now_ns,
                      dw_path_id *path)
{
    struct dw_merge merge = {
        .native = reader->memory->native,
        .native_count = unwind(reader, stand),
        .python = reader->memory->python,
        .segments = reader->memory->segments,
        .tokens = reader->memory->tokens[0],
        .capacity = DW_TOKENS_MAX,
    };
    if (thread && !walk_python(reader, &merge, thread, now_ns))
        return false;
    dw_merge_run(&merge);
    return !path_of(reader, &merge, lacks_natives(reader, stand) ? slot : NULL, path);
}

static bool holds_gil(const struct dw_sleep_reader *reader, const struct dw_py_thread *thread)
{
    const struct dw_py_offsets *offsets = &reader->python.offsets;
    uint64_t holder;
    int locked;
    return thread && thread->gil &&
           !dw_target_read(&reader->target, thread->gil + offsets->gil_locked, &locked,
                           sizeof locked) &&
           locked == 1 &&
           !dw_target_read_u64(&reader->target, thread->gil + offsets->gil_holder, &holder) &&
           holder == thread->state;
}

static uint32_t wait_state(const struct dw_sleep_reader *reader, const struct dw_py_thread *thread,
                           const struct stand *stand)
{
    enum dw_activity activity = dw_activity_parse(stand->text, thread ? thread->gil : 0);
    if (activity == DW_ACTIVITY_WAITS_FOR_GIL)
        return DW_SAMPLE_GIL;
    /* One that has no CPU does not wait for anything in the program. */
    uint32_t state = activity == DW_ACTIVITY_RUNS ? DW_SAMPLE_RUNNING : DW_SAMPLE_WAITING;
    return state | (holds_gil(reader, thread) ? DW_SAMPLE_HOLDS_GIL : 0);
}

static void add(struct dw_sleep_reader *reader, struct dw_slot *slot, dw_path_id path,
                uint32_t state, uint64_t now_ns, uint64_t weight_ns)
{
    struct dw_sample_log *log = reader->places->log;
    if (!weight_ns || dw_sample_enter_thread(reader->places, slot))
        return;
    if (!dw_sample_log_add(log, slot->thread - 1, path, state, now_ns, weight_ns))
        log->sampling.taken++;
}

static void credit_sleep(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns)
{
    add(reader, slot, slot->sleep_path, slot->sleep_state, now_ns, slot->waited_ns);
    slot->waited_ns = 0;
}

/* Reads the stack of a thread that seems to sleep. */
static void fall_asleep(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t cpu_ns,
                        uint64_t now_ns)
{
    struct stand stand;
    const struct dw_py_thread *thread = python_thread(reader, slot->tid, now_ns);
    slot->tried_ns = now_ns;
    read_stand(slot, &stand);
    slot->sleep_state = wait_state(reader, thread, &stand);
    slot->sleeps = read_path(reader, slot, thread, &stand, now_ns, &slot->sleep_path) &&
                   dw_thread_cpu_ns(slot->tid) == cpu_ns;
    reader->places->log->sampling.retried += !slot->sleeps;
    reader->places->log->sampling.guessed += slot->sleeps && lacks_natives(reader, &stand);
}

void dw_sleep_look(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns)
{
    struct stand stand;
    uint64_t cpu_ns = dw_thread_cpu_ns(slot->tid);
    uint64_t wall_ns = slot->wall_looked_ns ? now_ns - slot->wall_looked_ns : 0;
    uint64_t ran_ns = cpu_ns - slot->cpu_looked_ns;
    if (cpu_ns < slot->cpu_looked_ns)
        return;
    slot->waited_ns += wall_ns > ran_ns ? wall_ns - ran_ns : 0;
    slot->cpu_looked_ns = cpu_ns;
    slot->wall_looked_ns = now_ns;
    if (ran_ns && slot->sleeps) {
        credit_sleep(reader, slot, now_ns);
        slot->sleeps = false;
    }
    bool is_due = !ran_ns || (now_ns - slot->tried_ns > RETRY_AFTER_NS && read_stand(slot, &stand));
    if (!slot->sleeps && slot->waited_ns && is_due)
        fall_asleep(reader, slot, cpu_ns, now_ns);
    if (slot->sleeps && slot->waited_ns >= CREDIT_AFTER_NS)
        credit_sleep(reader, slot, now_ns);
}

void dw_sleep_finish(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns)
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
static bool read_settled(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                         dw_path_id *path)
{
    dw_path_id again;
    struct stand stand;
    const struct dw_py_thread *thread = python_thread(reader, slot->tid, now_ns);
    read_stand(slot, &stand);
    if (!read_path(reader, slot, thread, &stand, now_ns, path) ||
        !read_path(reader, slot, thread, &stand, now_ns, &again) || *path != again ||
        atomic_load(&slot->samples) != slot->samples_looked)
        return false;
    reader->places->log->sampling.guessed += lacks_natives(reader, &stand);
    return true;
}

void dw_sleep_look_at_kernel(struct dw_sleep_reader *reader, struct dw_slot *slot, int signal,
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
    bool is_blocked = blocks_signal(slot->tid, signal);
    if (!is_blocked && dw_sample_log_stack(reader->places->log, path,
                                           reader->places->marks[DW_MARK_KERNEL], &path))
        return;
    add(reader, slot, path, is_blocked ? DW_SAMPLE_RUNNING : DW_SAMPLE_KERNEL, now_ns,
        cpu_ns - done_ns);
}

bool dw_sleep_account(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t cpu_ns,
                      uint64_t now_ns)
{
    dw_path_id path;
    struct stand stand;
    uint64_t done_ns = atomic_load(&slot->cpu_done_ns);
    if (!read_stand(slot, &stand))
        return false;
    const struct dw_py_thread *thread = python_thread(reader, slot->tid, now_ns);
    if (done_ns < cpu_ns && read_path(reader, slot, thread, &stand, now_ns, &path) &&
        dw_thread_cpu_ns(slot->tid) == cpu_ns &&
        atomic_compare_exchange_strong(&slot->cpu_done_ns, &done_ns, cpu_ns))
        add(reader, slot, path, DW_SAMPLE_RUNNING, now_ns, cpu_ns - done_ns);
    return true;
}

/* The stack of a thread that runs without the GIL; false when it does not, or began to while it
 * was read. */
static bool read_without_gil(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                             dw_path_id *path)
{
    struct stand stand;
    dw_path_id again;
    uint64_t samples = atomic_load(&slot->samples);
    const struct dw_py_thread *thread = python_thread(reader, slot->tid, now_ns);
    return thread && !holds_gil(reader, thread) && !read_stand(slot, &stand) &&
           read_path(reader, slot, thread, &stand, now_ns, path) && !holds_gil(reader, thread) &&
           read_path(reader, slot, thread, &stand, now_ns, &again) && *path == again &&
           atomic_load(&slot->samples) == samples;
}

void dw_sleep_pay_kernel(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                         bool end)
{
    dw_path_id path = slot->owed_path;
    struct dw_sample_log *log = reader->places->log;
    if (!slot->owed_ns)
        return;
    bool is_found = !end && read_without_gil(reader, slot, now_ns, &path);
    if (!is_found && !end && now_ns < slot->owed_since_ns + OWED_NS)
        return;
    log->sampling.guessed += is_found && native_view(reader);
    if (!is_found)
        path = slot->owed_path;
    if (!dw_sample_log_stack(log, path, reader->places->marks[DW_MARK_KERNEL], &path))
        dw_sample_log_add_time(log, slot->thread - 1, path, DW_SAMPLE_KERNEL, now_ns,
                               slot->owed_ns);
    slot->owed_ns = 0;
}

/* The dict that `threading` has the interpreter's threads in; 0 while that is not imported. It is
 * searched for among all modules, less and less often, and once found it stays. */
static uint64_t named_threads(struct dw_sleep_reader *reader, uint64_t interpreter)
{
    struct dw_name_source *source = &reader->names;
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    bool is_known =
        source->interpreter == interpreter && (source->dict || now_ns < source->next_ns);
    if (is_known)
        return source->dict;
    bool is_again = source->interpreter == interpreter;
    source->pause_ns = is_again ? 2 * source->pause_ns : FIRST_PAUSE_NS;
    source->next_ns = now_ns + source->pause_ns;
    source->interpreter = interpreter;
    if (dw_py_named_threads(&reader->python, &reader->known_names, interpreter, &source->dict))
        source->dict = 0;
    return source->dict;
}

static bool name_by_python(struct dw_sleep_reader *reader, const struct dw_slot *slot)
{
    struct dw_buffer *text = &reader->cache.text;
    const struct dw_py_thread *thread = find_listed(reader, slot->tid);
    uint64_t dict = thread ? named_threads(reader, thread->interpreter) : 0;
    dw_buffer_clear(text);
    return dict &&
           !dw_py_thread_name(&reader->python, &reader->known_names, dict, thread->ident, text) &&
           !dw_sample_log_name_thread(reader->places->log, slot->thread - 1,
                                      (const char *)text->data, text->size);
}

/* A thread that is about to end is no longer Python's, and keeps the name it had. */
static void name_thread(struct dw_sleep_reader *reader, struct dw_slot *slot)
{
    struct dw_task task;
    slot->is_named |= name_by_python(reader, slot);
    if (slot->is_named || !dw_task_read(getpid(), slot->tid, &task))
        return;
    const char *name = slot->tid == getpid() ? DW_MAIN_THREAD_NAME : task.name;
    dw_sample_log_name_thread(reader->places->log, slot->thread - 1, name, strlen(name));
}

void dw_sleep_set_name(struct dw_sleep_reader *reader, struct dw_slot *slot, const char *name,
                       size_t size)
{
    if (!dw_sample_enter_thread(reader->places, slot))
        slot->is_named =
            !dw_sample_log_name_thread(reader->places->log, slot->thread - 1, name, size);
}

void dw_sleep_name_threads(struct dw_sleep_reader *reader, const struct dw_sample_threads *threads,
                           bool again)
{
    bool is_listed = false;
    dw_thread_names_renew(&reader->known_names);
    for (uint32_t i = 0; i < threads->count; i++) {
        struct dw_slot *slot = threads->slots[i];
        bool is_tried = slot->is_named || slot->name_tries == NAME_TRIES;
        if ((is_tried && !again) || dw_sample_enter_thread(reader->places, slot))
            continue;
        slot->name_tries += !is_tried;
        if (reader->can_read && !is_listed)
            is_listed = !dw_py_threads_read(&reader->python, &reader->listed);
        name_thread(reader, slot);
    }
}
