/* SPDX-License-Identifier: MIT
 * Both stacks are copied while the thread does not run: it waits before and after the copy, or it
 * is stopped. */
#include "attach/sampling/native_look.h"

#include "attach/target/stop.h"
#include "base/clock.h"

#define WAITING_TRIES 3

static bool copy_stacks(struct dw_native_look *look)
{
    if (!look->thread->state)
        return dw_native_stack_copy(look->code, look->native);
    if (dw_live_read_stopped(look->reader, look->thread, look->python, &look->live) !=
            DW_LIVE_GOOD ||
        !dw_native_stack_copy(look->code, look->native))
        return false;
    dw_live_find_entries(look->reader, look->thread, look->python);
    return true;
}

/* The copy counts only if the thread did not run meanwhile. */
static bool look_at_waiting(struct dw_native_look *look)
{
    struct dw_registers *registers = &look->native->registers;
    *registers = (struct dw_registers){0};
    dw_activity_has_run(look->files);
    look->activity =
        dw_activity_find(look->files, look->thread->gil, &registers->sp, &registers->pc);
    return dw_activity_waits(look->activity) && copy_stacks(look) &&
           !dw_activity_has_run(look->files);
}

static bool look_at_running(struct dw_native_look *look)
{
    int signal;
    uint64_t begun_ns = dw_clock_ns(CLOCK_MONOTONIC);
    look->activity = DW_ACTIVITY_RUNS;
    if (!look->id || !dw_thread_stop(look->code->python->target->pid, look->id, &signal))
        return false;
    bool good = dw_thread_registers(look->id, &look->native->registers) && copy_stacks(look);
    dw_thread_let_go(look->id, signal);
    look->stopped_ns = dw_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    return good;
}

/* Stopping a thread that waits would end its system call. When its stack cannot be read it may be
 * newer than what we know of the memory, or it ran meanwhile. */
bool dw_native_look(struct dw_native_look *look)
{
    for (int i = 0; i < WAITING_TRIES; i++) {
        if (look_at_waiting(look))
            return true;
        if (!dw_activity_waits(look->activity))
            return look_at_running(look);
        if (!look->native->registers.sp)
            return false;
        if (dw_native_code_refresh(look->code, dw_clock_ns(CLOCK_MONOTONIC)))
            return false;
    }
    return false;
}
