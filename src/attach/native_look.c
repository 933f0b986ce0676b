/* SPDX-License-Identifier: MIT */
#include "attach/native_look.h"

#include "attach/stop.h"
#include "base/clock.h"

static bool copy_stacks(struct dw_native_look *look)
{
    if (dw_live_read_stopped(look->reader, look->thread, look->python, &look->live) !=
            DW_LIVE_GOOD ||
        !dw_native_stack_copy(look->code, look->native))
        return false;
    dw_live_find_entries(look->reader, look->thread, look->python);
    return true;
}

/* It must not have run meanwhile. */
static bool look_at_waiting(struct dw_native_look *look)
{
    struct dw_registers *registers = &look->native->registers;
    *registers = (struct dw_registers){0};
    dw_activity_has_run(look->files);
    look->activity =
        dw_activity_find(look->files, look->thread->gil, &registers->sp, &registers->pc);
    return (look->activity == DW_ACTIVITY_WAITS || look->activity == DW_ACTIVITY_WAITS_FOR_GIL) &&
           copy_stacks(look) && !dw_activity_has_run(look->files);
}

static bool look_at_running(struct dw_native_look *look)
{
    int signal;
    uint64_t begun_ns = dw_clock_ns(CLOCK_MONOTONIC);
    look->activity = DW_ACTIVITY_RUNS;
    if (!look->id || !dw_thread_stop(look->id, &signal))
        return false;
    bool good = dw_thread_registers(look->id, &look->native->registers) && copy_stacks(look);
    dw_thread_let_go(look->id, signal);
    look->stopped_ns = dw_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    return good;
}

bool dw_native_look(struct dw_native_look *look)
{
    return look_at_waiting(look) || look_at_running(look);
}
