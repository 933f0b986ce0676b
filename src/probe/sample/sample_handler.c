/* SPDX-License-Identifier: MIT
 * A sample is a list of tokens, innermost first, of which only those are recorded that differ
 * from the last one's. Stacks that take long to walk are walked less often, and then stand for
 * more time, so that a program with deep stacks goes on. */
#define _GNU_SOURCE
#include "probe/sample/sample_handler.h"

#include "base/clock.h"
#include "base/error.h"
#include "cpython/context_labels.h"
#include "cpython/sample_walk.h"
#include "model/sample.h"
#include "native/elf/memory.h"
#include "native/unwind/registers.h"
#include "probe/sample/sample_code.h"
#include "probe/sample/sample_entry.h"
#include "probe/sample/sample_merge.h"
#include "probe/sample/sample_slot.h"
#include "probe/sample/sample_task.h"
#include "probe/sample/sample_timer.h"
#include "probe/sample/stack_watch.h"
#include "record/recorder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define WALK_SHARE 4 /* walks take at most 1 / (this + 1) of the CPU time */
#define UNKNOWN_STACK_BYTES (8u << 20)
#define LONG_WALK_NS 50000u /* the thread may have lost the CPU in a walk that seems this long */
#define FRAME_NS 5000u      /* no frame takes longer: the rest is the machine's */

static const struct dw_native_view *_Atomic view;
static _Atomic bool is_enabled;
static int our_signal;

struct sample {
    struct dw_slot *slot;
    struct dw_slot_memory *memory;
    const struct dw_native_view *view;
    uint64_t *tokens;
    uint32_t count, python_count, segment_count, pending_count, native_count;
    uint32_t last_id;  /* the number of last_code */
    uint32_t new_task; /* the number of memory->task, which has to be described; 0: none */
    const PyCodeObject *last_code;
    dw_labels_id labels;
    uint32_t state, flags;
    bool holds_gil, collects, in_kernel;
    uint64_t now_ns, cpu_ns; /* when it began */
    struct dw_counters counters;
};

/* The code has to be described in this sample, once. */
static void want_code(struct sample *sample, const PyCodeObject *code, uint32_t id)
{
    uint32_t *seen = &sample->memory->pending_set[id % DW_PENDING_SET];
    if (*seen == id)
        return;
    *seen = id;
    if (sample->pending_count < DW_TOKENS_MAX)
        sample->memory->pending[sample->pending_count++] = (struct dw_pending_code){code, id};
}

static uint64_t python_token(struct sample *sample, const struct dw_py_step *step)
{
    if (step->code != sample->last_code) {
        sample->last_code = step->code;
        sample->last_id = dw_code_number(&dw_sample_codes, step->code);
        if (sample->last_id && !dw_numbers_is_known(&dw_sample_codes, sample->last_id))
            want_code(sample, step->code, sample->last_id);
    }
    if (!sample->last_id)
        return DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_UNKNOWN);
    return DW_TOKEN(DW_TOKEN_PYTHON, (uint64_t)sample->last_id << 32 | (uint32_t)(step->unit + 1));
}

static bool copy_own(void *to, const void *address, size_t size)
{
    memcpy(to, address, size);
    return true;
}

/* With the GIL nobody changes what the frame keeps alive. */
static uint64_t task_token(struct sample *sample, PyObject *handle)
{
    struct dw_py_task_name *name = &sample->memory->task;
    if (sample->new_task) /* described at the next sample */
        return dw_task_token(0);
    if (!dw_py_task_name(handle, sample->holds_gil ? copy_own : dw_py_read, name))
        return 0;
    uint32_t number = dw_task_number(name);
    if (number && !dw_task_is_known(number))
        sample->new_task = number;
    return dw_task_token(number);
}

static bool put_python(struct sample *sample, uint64_t token)
{
    if (sample->python_count == DW_TOKENS_MAX)
        return false;
    sample->memory->python[sample->python_count++] = token;
    return true;
}

/* The task stands inside of the function that runs it. */
static bool put_function(struct sample *sample, const struct dw_py_step *step)
{
    uint64_t task = step->handle ? task_token(sample, step->handle) : 0;
    return (!task || put_python(sample, task)) && put_python(sample, python_token(sample, step));
}

static void end_segment(struct sample *sample, uintptr_t boundary)
{
    if (sample->segment_count < DW_SEGMENTS_MAX)
        sample->memory->segments[sample->segment_count++] =
            (struct dw_segment){boundary, sample->python_count};
}

static void walk_python(struct sample *sample, PyThreadState *thread)
{
    struct dw_py_walk walk;
    struct dw_py_step step;
    dw_py_walk_begin(&walk, thread);
    while (dw_py_walk_next(&walk, &step)) {
        if (!step.code) {
            end_segment(sample, step.boundary);
        } else if (!put_function(sample, &step)) {
            sample->flags |= DW_SAMPLE_CUT;
            break;
        }
    }
    if (walk.broken)
        sample->flags |= DW_SAMPLE_CUT;
    end_segment(sample, 0); /* whatever is left */
}

/* Unwind information that is not copied yet is read with care: a module may be unmapped before we
 * hear of it. */
static void walk_native(struct sample *sample, const ucontext_t *context)
{
    struct dw_registers start;
    struct dw_slot *slot = sample->slot;
    uint64_t stack_end = atomic_load_explicit(&slot->stack_end, memory_order_acquire);
    uint64_t stack_start = atomic_load_explicit(&slot->stack_start, memory_order_relaxed);
    struct dw_checked_page page = {0};
    bool complete = false;
    dw_registers_of_context(context, &start);
    bool is_known = start.sp >= stack_start && start.sp < stack_end;
    if (!is_known)
        atomic_store(&slot->stack_wanted, (uintptr_t)start.sp);
    struct dw_unwinder unwinder = {
        .modules = sample->view->modules,
        .made = sample->view->made,
        .cache = sample->view->cache,
        .epoch = sample->view->epoch,
        .stack = is_known ? dw_memory_own : dw_memory_own_checked,
        .stack_doubt = {dw_memory_read_paged, &page}, /* mappings beside the stack may go */
        .code = dw_memory_own_checked,
        .doubt = dw_memory_own_checked,
        .stack_end = is_known ? stack_end : start.sp + UNKNOWN_STACK_BYTES,
        .effort = DW_EFFORT_IN_HANDLER,
    };
    sample->native_count =
        dw_unwind(&unwinder, &start, sample->memory->native, DW_NATIVE_MAX, &complete);
    if (!complete)
        sample->flags |= DW_SAMPLE_CUT;
}

static void merge(struct sample *sample)
{
    struct dw_merge merged = {
        .native = sample->memory->native,
        .native_count = sample->native_count,
        .python = sample->memory->python,
        .segments = sample->memory->segments,
        .segment_count = sample->segment_count,
        .collects = sample->collects,
        .tokens = sample->tokens,
        .capacity = DW_TOKENS_MAX,
    };
    if (sample->in_kernel)
        dw_merge_put(&merged, DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_KERNEL));
    dw_merge_run(&merged);
    sample->count = merged.count;
    sample->flags |=
        (merged.is_cut ? DW_SAMPLE_CUT : 0) | (merged.is_guessed ? DW_SAMPLE_GUESSED : 0);
}

static bool is_in(const struct dw_code_range *range, uint64_t pc)
{
    return pc >= range->start && pc < range->end;
}

static bool is_of_interpreter(const struct dw_native_view *known, uint64_t pc)
{
    if (is_in(&known->python, pc))
        return true;
    for (uint32_t i = 0; i < known->system_count; i++)
        if (is_in(&known->system[i], pc))
            return true;
    return false;
}

/* Native when code that is not the interpreter's ran, or called what ran, inside of the
 * innermost Python function. */
static uint32_t activity(const struct sample *sample, uint64_t pc, bool has_python)
{
    const struct dw_native_frame *native = sample->memory->native;
    uint64_t boundary = sample->memory->segments[0].boundary;
    bool is_python = has_python && sample->view && is_of_interpreter(sample->view, pc);
    if (sample->in_kernel)
        return DW_SAMPLE_KERNEL;
    for (uint32_t i = 1; is_python && i < sample->native_count && native[i].sp <= boundary; i++)
        is_python = is_of_interpreter(sample->view, native[i].pc);
    return is_python ? DW_SAMPLE_PYTHON : DW_SAMPLE_NATIVE;
}

/* Whether the thread stands behind a system call, which a signal that was sent to it has
 * interrupted or met on its way out. */
static bool is_behind_syscall(uint64_t pc)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)pc;
    return pc % 4096 >= 2 && code[-2] == 0x0f && code[-1] == 0x05;
}

static uint32_t common_tokens(const uint64_t *a, uint32_t a_count, const uint64_t *b,
                              uint32_t b_count)
{
    uint32_t common = 0, most = a_count < b_count ? a_count : b_count;
    while (common < most && a[a_count - 1 - common] == b[b_count - 1 - common])
        common++;
    return common;
}

static size_t pending_size(const struct sample *sample, bool with_tables)
{
    size_t size = 0;
    for (uint32_t i = 0; i < sample->pending_count; i++)
        size += dw_code_record_size(sample->memory->pending[i].code, with_tables);
    return size;
}

static uint8_t *describe_pending(const struct sample *sample, uint8_t *to, bool with_tables)
{
    for (uint32_t i = 0; i < sample->pending_count; i++) {
        const struct dw_pending_code *pending = &sample->memory->pending[i];
        dw_code_describe(pending->code, pending->id, with_tables, (struct dw_code_record *)to);
        to += ((struct dw_code_record *)to)->head.size;
    }
    return to;
}

static bool record(struct sample *sample, uint64_t elapsed_ns)
{
    struct dw_slot *slot = sample->slot;
    const uint64_t *last = sample->memory->tokens[1 - slot->current];
    uint32_t kept = common_tokens(sample->tokens, sample->count, last, slot->last_count);
    uint32_t count = sample->count - kept;
    size_t size = sizeof(struct dw_sample_record) + count * sizeof(uint64_t);
    bool with_tables = pending_size(sample, true) < slot->ring.size / 2;
    size_t whole = size + pending_size(sample, with_tables) +
                   (sample->new_task ? sizeof(struct dw_task_record) : 0);
    uint8_t *to = dw_ring_reserve(&slot->ring, whole);
    if (!to)
        return false;
    to = describe_pending(sample, to, with_tables);
    if (sample->new_task) {
        dw_task_describe(sample->new_task, &sample->memory->task, (struct dw_task_record *)to);
        to += sizeof(struct dw_task_record);
    }
    *(struct dw_sample_record *)to = (struct dw_sample_record){
        .head = {(uint32_t)size, DW_RING_SAMPLE},
        .now_ns = sample->now_ns,
        .cpu_ns = elapsed_ns,
        .period_ns = slot->current_period_ns,
        .kept = kept,
        .count = count,
        .state = sample->state,
        .flags = sample->flags | (slot->carries ? DW_SAMPLE_CARRIES : 0),
        .labels = sample->labels,
        .region = dw_region_here(),
    };
    dw_counters_between(&slot->counters, &sample->counters,
                        ((struct dw_sample_record *)to)->counted);
    memcpy(((struct dw_sample_record *)to)->tokens, sample->tokens, count * sizeof(uint64_t));
    dw_ring_commit(&slot->ring, whole);
    return true;
}

static void collect(struct sample *sample, const ucontext_t *context, bool was_sent)
{
    uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    PyThreadState *thread = dw_py_sampled_thread();
    sample->holds_gil = thread && dw_py_holds_gil(thread);
    sample->in_kernel = was_sent && is_behind_syscall(pc);
    sample->labels = thread ? dw_py_labels_own(thread) : 0;
    sample->collects = sample->holds_gil && dw_py_collects_garbage(thread);
    if (dw_own_work_is_in(atomic_load_explicit(&sample->slot->tid, memory_order_relaxed))) {
        sample->tokens[sample->count++] = DW_TOKEN(DW_TOKEN_MARK, (uint64_t)DW_MARK_OWN);
        sample->state = DW_SAMPLE_NATIVE | (sample->holds_gil ? DW_SAMPLE_HOLDS_GIL : 0);
        return;
    }
    if (thread)
        walk_python(sample, thread);
    if (sample->view && sample->view->cache)
        walk_native(sample, context);
    sample->state = activity(sample, pc, sample->python_count > 0) |
                    (sample->holds_gil ? DW_SAMPLE_HOLDS_GIL : 0);
    merge(sample);
}

static void forget_pending(const struct sample *sample)
{
    for (uint32_t i = 0; i < sample->pending_count; i++)
        sample->memory->pending_set[sample->memory->pending[i].id % DW_PENDING_SET] = 0;
}

/* The CPU time until now that nobody has accounted for. The sampler's thread may have looked at
 * the clock after we did. */
static uint64_t claim(struct dw_slot *slot, uint64_t cpu_ns)
{
    uint64_t done_ns = atomic_exchange(&slot->cpu_done_ns, cpu_ns);
    if (done_ns <= cpu_ns)
        return cpu_ns - done_ns;
    atomic_store(&slot->cpu_done_ns, done_ns);
    return 0;
}

/* CPU time since the sample began. The clock of CPU time takes a system call, the other does
 * not. */
static uint64_t walk_cost_ns(const struct sample *sample)
{
    uint64_t cost_ns = dw_clock_ns(CLOCK_MONOTONIC) - sample->now_ns;
    if (cost_ns < LONG_WALK_NS)
        return cost_ns;
    return dw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - sample->cpu_ns;
}

/* The part of the cost that is due to the stack. An interrupt, or the host of a virtual machine,
 * may hold a walk up for milliseconds, which says nothing about the next one. */
static uint64_t own_cost_ns(const struct sample *sample, uint64_t cost_ns)
{
    uint64_t most_ns = (sample->python_count + sample->native_count + 1) * (uint64_t)FRAME_NS;
    return cost_ns < most_ns ? cost_ns : most_ns;
}

static bool is_walk_due(const struct dw_slot *slot, uint64_t cpu_ns)
{
    return cpu_ns - slot->walked_ns >= WALK_SHARE * slot->walk_cost_ns;
}

static struct sample begin(struct dw_slot *slot, uint64_t cpu_ns)
{
    return (struct sample){
        .slot = slot,
        .memory = slot->memory,
        .view = atomic_load_explicit(&view, memory_order_acquire),
        .tokens = slot->memory->tokens[slot->current],
        .now_ns = dw_clock_ns(CLOCK_MONOTONIC),
        .cpu_ns = cpu_ns,
    };
}

/* False when there was no room for it. */
static bool finish(struct sample *sample, uint64_t elapsed_ns)
{
    struct dw_slot *slot = sample->slot;
    bool is_recorded = record(sample, elapsed_ns);
    forget_pending(sample);
    uint64_t cost_ns = walk_cost_ns(sample);
    slot->walk_cost_ns = own_cost_ns(sample, cost_ns);
    slot->walked_ns = sample->cpu_ns + cost_ns;
    /* The time of the walk is not the program's. */
    atomic_fetch_add(&slot->cpu_done_ns, cost_ns);
    if (is_recorded) {
        slot->last_count = sample->count;
        slot->current = 1 - slot->current;
    }
    return is_recorded;
}

static void take_sample(struct dw_slot *slot, const ucontext_t *context, bool was_sent)
{
    uint64_t cpu_ns = dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!is_walk_due(slot, cpu_ns)) {
        slot->carries = true;
        return;
    }
    struct sample sample = begin(slot, cpu_ns);
    dw_counters_read(&sample.counters);
    collect(&sample, context, was_sent);
    uint64_t elapsed_ns = claim(slot, cpu_ns);
    bool is_recorded = finish(&sample, elapsed_ns);
    slot->carries = !is_recorded;
    if (is_recorded) {
        dw_counters_read(&slot->counters); /* what the walk itself caused is not the program's */
        atomic_store_explicit(&slot->samples, slot->samples + 1, memory_order_relaxed);
    } else {
        atomic_fetch_sub(&slot->cpu_done_ns, elapsed_ns);
        atomic_store_explicit(&slot->missed, slot->missed + 1, memory_order_relaxed);
    }
}

/* One that met the thread in a system call comes when that is over, before anything else of the
 * program runs. It accounts for no time: it says where the time was that samples come too late
 * for. */
static void take_tick(struct dw_slot *slot, const ucontext_t *context)
{
    uint64_t cpu_ns = dw_clock_ns(CLOCK_THREAD_CPUTIME_ID), before_ns = slot->tick_cpu_ns;
    slot->tick_cpu_ns = cpu_ns;
    if (!is_behind_syscall((uint64_t)context->uc_mcontext.gregs[REG_RIP]) ||
        !is_walk_due(slot, cpu_ns))
        return;
    struct sample sample = begin(slot, cpu_ns);
    sample.flags = DW_SAMPLE_TICK;
    collect(&sample, context, true);
    finish(&sample, cpu_ns - before_ns);
}

void *dw_handler_cookie(void)
{
    return &is_enabled;
}

void dw_handler_run(int signal, siginfo_t *info, void *context, struct dw_slot *slot)
{
    int saved_errno = errno;
    bool is_sent = info->si_code == SI_QUEUE || info->si_code == SI_TIMER;
    bool is_silent_in_kernel = info->si_code == POLL_IN || info->si_code == POLL_HUP;
    bool is_ours = is_silent_in_kernel || (is_sent && info->si_value.sival_ptr == &is_enabled);
    (void)signal;
    if (is_ours)
        dw_stack_watch_look(slot, context);
    bool is_sample = is_ours && !atomic_load(&slot->tight_stack);
    bool is_tick = info->si_code == SI_TIMER && atomic_load(&slot->period_ns);
    if (is_sample && atomic_load(&is_enabled)) {
        if (is_tick)
            take_tick(slot, context);
        else
            take_sample(slot, context, is_sent);
    }
    if (is_sample && is_silent_in_kernel)
        dw_timer_vary(slot);
    errno = saved_errno;
}

bool dw_handler_is_ours(void)
{
    struct sigaction now;
    return !sigaction(our_signal, NULL, &now) && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == dw_handler_entry;
}

/* The runtime of Go has stacks with little room, and a stack for signals in each of its threads;
 * its own handler of this signal says so. Elsewhere a stack for signals may be too small for any.
 */
static int stack_flag(void)
{
    struct sigaction now;
    bool is_small = !sigaction(SIGURG, NULL, &now) && now.sa_flags & SA_ONSTACK &&
                    now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
    return is_small ? SA_ONSTACK : 0;
}

/* False when it is the program's. */
static bool install(int signal)
{
    struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_RESTART | stack_flag()};
    ours.sa_sigaction = dw_handler_entry;
    /* sigfillset leaves out what the C library cancels threads with: one that ended in here would
     * seem to be busy for ever. */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    sigdelset(&ours.sa_mask, SIGSEGV);
    if (sigaction(signal, NULL, &now) || now.sa_handler != SIG_DFL ||
        sigaction(signal, &ours, &now))
        return false;
    if (now.sa_handler != SIG_DFL) { /* it came in between */
        sigaction(signal, &now, NULL);
        return false;
    }
    our_signal = signal;
    return true;
}

int dw_handler_install(void)
{
    if (our_signal && dw_handler_is_ours())
        return our_signal;
    /* Without a handler the first two do nothing: a program that resets all signals, or becomes
     * another program while one is pending, lives on. Nobody uses the third. */
    const int first[] = {SIGURG, SIGWINCH, SIGSTKFLT, SIGPROF};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (install(first[i]))
            return our_signal;
    for (int signal = SIGRTMAX - 1; signal > SIGRTMIN; signal--)
        if (install(signal))
            return our_signal;
    return DW_ERR_ARGUMENT;
}

void dw_handler_enable(bool on)
{
    atomic_store(&is_enabled, on);
}

void dw_handler_publish(const struct dw_native_view *published)
{
    atomic_store_explicit(&view, published, memory_order_release);
}
