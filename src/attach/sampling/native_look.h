/* SPDX-License-Identifier: MIT
 * Python and native stack of a thread at one moment; the native one of a thread that Python does
 * not know. A thread that waits is read as it waits, and never stopped; one that runs is stopped
 * until both are copied. */
#ifndef DW_ATTACH_SAMPLING_NATIVE_LOOK_H
#define DW_ATTACH_SAMPLING_NATIVE_LOOK_H

#include "attach/native/native_code.h"
#include "attach/sampling/activity.h"
#include "attach/sampling/live_stack.h"

struct dw_native_look {
    /* Given, and borrowed. */
    struct dw_native_code *code;
    struct dw_live_reader *reader;
    struct dw_live_thread *thread;
    struct dw_activity_files *files;
    pid_t id;
    struct dw_raw_stack *python;
    struct dw_native_stack *native; /* copied, not unwound yet */
    /* Found. */
    struct dw_live_look live;
    enum dw_activity activity;
    uint64_t stopped_ns; /* how long it was kept from running; 0: it was not stopped */
};

/* False when it could not be read. */
bool dw_native_look(struct dw_native_look *look);

#endif
