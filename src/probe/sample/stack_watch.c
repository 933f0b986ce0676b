/* SPDX-License-Identifier: MIT
 * The kernel tells nobody of such stacks, so calls of sigaltstack are caught on their way. A
 * breakpoint of the processor at that function would see all calls, but while a thread has one,
 * AVX-512 code of the C library (memset, memcpy) takes three to eight times as long: 3 % of a
 * Python program. */
#define _GNU_SOURCE
#include "probe/sample/stack_watch.h"

#include "native/elf/got_patch.h"
#include "native/elf/memory.h"
#include "native/elf/modules.h"
#include "probe/sample/sample_timer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define STATE_BYTES_AT 468 /* in the registers that the kernel saves: how many bytes these are */
#define FRAME_MORE_BYTES (8 + 64 + 128) /* return address, alignment, red zone */
#define PROGRAMS_HANDLER_BYTES 512      /* the least that is left to a handler of the program */

#define UNKNOWN_FRAME_BYTES 4096 /* before Linux 5.14 */

static _Atomic size_t frame_bytes; /* what the kernel puts on a stack for a signal; 0: not known */

/* Neither the frame of one more signal nor a handler in between may get past the end of a stack. */
static void look_at(struct dw_slot *slot, const stack_t *stack, size_t frame)
{
    bool is_used = stack->ss_size && !(stack->ss_flags & SS_DISABLE);
    if (is_used && stack->ss_size < 2 * frame + PROGRAMS_HANDLER_BYTES)
        dw_timer_step_aside(slot, stack->ss_size);
}

/* A frame takes what it took for this signal, and what the kernel leaves free below the stack
 * pointer. */
void dw_stack_watch_look(struct dw_slot *slot, const ucontext_t *context)
{
    const uint8_t *state = (const uint8_t *)context->uc_mcontext.fpregs;
    uint32_t state_bytes;
    if (!state)
        return;
    memcpy(&state_bytes, state + STATE_BYTES_AT, sizeof state_bytes);
    size_t frame = (size_t)(state + state_bytes - (const uint8_t *)context) + FRAME_MORE_BYTES;
    atomic_store_explicit(&frame_bytes, frame, memory_order_relaxed);
    look_at(slot, &context->uc_stack, frame);
}

static struct dw_got_hook hook;

/* What the kernel may need at most is far more than it mostly does, where registers are large. */
static size_t frame_now(void)
{
    size_t frame = atomic_load_explicit(&frame_bytes, memory_order_relaxed);
    if (!frame)
        frame = getauxval(AT_MINSIGSTKSZ);
    return frame ? frame : UNKNOWN_FRAME_BYTES;
}

/* The slot is not freed while somebody counts among its handlers. */
static void expect(uintptr_t address)
{
    stack_t stack;
    pid_t tid = (pid_t)gettid();
    struct dw_slot *slot = dw_slot_find(tid);
    if (!slot ||
        !dw_memory_own_checked.read(dw_memory_own_checked.context, address, &stack, sizeof stack))
        return;
    atomic_fetch_add(&slot->handlers, 1);
    if (atomic_load(&slot->tid) == tid)
        look_at(slot, &stack, frame_now());
    atomic_fetch_sub(&slot->handlers, 1);
}

static int watched_sigaltstack(const stack_t *stack, stack_t *before)
{
    int saved_errno = errno;
    if (stack)
        expect((uintptr_t)stack);
    errno = saved_errno;
    return ((int (*)(const stack_t *, stack_t *))hook.original)(stack, before);
}

static struct dw_got_hook hook = {.name = "sigaltstack", .hook = watched_sigaltstack};
static struct dw_got_patch patch = {.hooks = &hook, .count = 1};
static uint64_t generation; /* of objects, when they were looked at; 0: not all were ready */

void dw_stack_watch_start(void)
{
    generation = 0;
    if (!hook.original && !dw_got_find(&patch))
        hook.original = NULL;
    dw_stack_watch_renew();
}

void dw_stack_watch_renew(void)
{
    uint64_t now = dw_native_modules_generation();
    if (hook.original && now != generation)
        generation = dw_got_apply(&patch, true) ? now : 0;
}

void dw_stack_watch_stop(void)
{
    if (hook.original)
        dw_got_apply(&patch, false);
}
