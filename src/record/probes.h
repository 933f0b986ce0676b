/* SPDX-License-Identifier: MIT
 * The probes of this process. Whatever has to be done to all of them, at a fork, when the process
 * ends or when a signal ends it, goes through this list. */
#ifndef DW_RECORD_PROBES_H
#define DW_RECORD_PROBES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DW_FLUSH_NS 500000000u /* a kill costs no more than this */

/* Any of the functions may be NULL. */
struct dw_probe {
    const char *name;
    bool needs_gil; /* `flush` and `stop` do */
    /* Records into that file from now on, without options; with the GIL. Enters itself into the
     * list. 0, or an error. */
    int (*start)(const char *log_file);
    /* Brings everything to its file, as the last thing before the process may be gone. */
    void (*flush)(void);
    /* With the GIL, when the program ends without its usual end: by a signal or os._exit(). All
     * have flushed before. */
    void (*last)(void);
    /* Records no more, and completes its file. */
    void (*stop)(void);
    /* Around a fork. `before` has the probe's threads make way and takes the locks that come before
     * those of ledgers; `after`, in the parent, takes that back. `lock` and `unlock` are for locks
     * that come behind them. In the child `forked` begins anew: all that was measured is the
     * parent's, and its other threads do not exist. */
    void (*before)(void);
    void (*lock)(void);
    void (*unlock)(void);
    /* For a lock that is behind all others: one that is taken inside of malloc. */
    void (*lock_last)(void);
    void (*unlock_first)(void);
    void (*after)(void);
    void (*forked)(void);
    /* Records on in the child, once Python code may run there. */
    void (*go_on)(void);
    struct dw_probe *next;
    unsigned bit; /* which of the probes it is, as threads of a ledger know it */
};

/* How many threads of this process are dwell's own. */
extern _Atomic uint32_t dw_own_threads;
/* Has the program call something soon, when a fork is over; as Py_AddPendingCall, which it is in a
 * Python program. NULL: there is no way. */
extern int (*dw_call_soon)(int (*call)(void *), void *context);

/* Enters a probe into the list, once. One that is added later comes first before a fork, and last
 * after it: its locks are taken before those of others. */
void dw_probe_add(struct dw_probe *probe);
/* Those that need the GIL, or those that do not. */
void dw_probes_flush(bool with_gil);
void dw_probes_stop(bool with_gil);
void dw_probes_last(void);
/* In a forked child, with the GIL. */
void dw_probes_go_on(void);
/* When a log is due again, in ticks, after a flush that began at `before`: it takes at most a
 * twentieth of the time between two. */
uint64_t dw_flush_next(uint64_t before, double tick_ns);

/* For fork.c. The list does not grow during a fork. */
struct dw_probe *dw_probes_first(void);
void dw_probes_lock(void);
void dw_probes_unlock(void);
/* fork.c: the fork handlers of the process; dw_probe_add sees to them. */
void dw_fork_init(void);

#endif
