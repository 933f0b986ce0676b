/* SPDX-License-Identifier: MIT
 * 3.11: a thread has one profile function, and several probes want it: that of calls, that of lines
 * for what they call, and that of regions for generators that sleep. Here they share it. */
#ifndef DW_CPYTHON_PROFILE_SLOT_H
#define DW_CPYTHON_PROFILE_SLOT_H

#include "cpython/frame.h"

enum dw_py_profile_user { DW_PROFILE_CALLS, DW_PROFILE_CALLEES, DW_PROFILE_USERS };

/* From now on the function gets the profile events of all threads. -1 with an exception when
 * another tool has the slot of the calling thread. */
int dw_py_profile_share(enum dw_py_profile_user user, Py_tracefunc function);
void dw_py_profile_leave(enum dw_py_profile_user user);
/* Whether the function gets events now. */
bool dw_py_profile_is_shared(enum dw_py_profile_user user);
/* Whether a thread's profile function is that of users. */
bool dw_py_profile_has(Py_tracefunc function);

/* watch_profile.c: who has the slot tells of calls and returns of frames, and gives the slot back
 * to this function, which is NULL while no generator is watched. */
extern bool dw_py_watch_is_idle;
void dw_py_watch_tell(dw_py_frame *frame, int what);
static inline void dw_py_watch_hear(dw_py_frame *frame, int what)
{
    if (__builtin_expect(!dw_py_watch_is_idle, 0))
        dw_py_watch_tell(frame, what);
}
Py_tracefunc dw_py_watch_function(void);
/* Whether the function is the one above, which makes room for others. */
bool dw_py_watch_owns(Py_tracefunc function);

#endif
