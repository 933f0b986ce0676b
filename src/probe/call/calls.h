/* SPDX-License-Identifier: MIT
 * The calls probe: a tree of calls for each thread, with exact counts and times.
 * One profile is active at a time, as with cProfile. The GIL guards all of it. */
#ifndef DW_PROBE_CALL_CALLS_H
#define DW_PROBE_CALL_CALLS_H

#include "base/clock.h"
#include "base/map.h"
#include "base/pointer_map.h"
#include "cpython/frame.h"
#include "probe/call/signature.h"
#include "probe/label/label_watch.h"

/* What is called: Python code, perhaps with a signature, or a C function. */
struct dw_call_function {
    const void *key;  /* code object, signature or method definition */
    PyObject *code;   /* strong; NULL for a C function */
    PyObject *name;   /* str: as pstats shows it */
    uint64_t resumes; /* how often its generators went on */
};

struct dw_call_node {
    const void *key; /* code object or method definition: the first thing that a call compares */
    const struct dw_signature *signature; /* NULL: the key alone identifies it */
    struct dw_call_node *last_child;
    struct dw_call_node *after; /* the child of the same parent that was called after this one */
    uint64_t count;
    uint64_t total; /* ticks, with callees, asleep not included */
    uint64_t self;
    uint32_t function;
    uint32_t index, parent; /* of the node in its track, and of the one that called it */
    dw_labels_id labels;    /* that the thread had at the call */
};

struct dw_call_entry {
    struct dw_call_node *node;
    uint64_t start;
    uint64_t children;
};

struct dw_call_track {
    struct dw_call_profile *profile;
    uint64_t serial;             /* of the profile's enabling for which the stack is valid */
    struct dw_call_entry *stack; /* [0] is the thread's root */
    uint32_t depth, capacity;
    struct dw_call_node **chunks; /* nodes, allocated together */
    uint32_t node_count, chunk_capacity, chunk_count;
    struct dw_map index;
    struct dw_label_watch watch;
    uint64_t *suspended; /* ticks that generators slept, by node: of those that have woken */
    uint32_t suspended_capacity;
    unsigned long thread; /* as Python identifies it */
    uint64_t thread_id;   /* as the kernel does; 0: it is one of the parent of this process */
    char *thread_name;
};

struct dw_call_profile {
    bool builtins;
    bool waits_for_main;               /* nothing counts until the program itself begins */
    unsigned long only_thread;         /* as Python identifies it, or 0: all threads count */
    struct dw_clock_pair began, ended; /* first enabled, last disabled; 0: not yet, or not now */
    PyObject *timer;                   /* a Python clock, or NULL for ours */
    double unit; /* seconds of one tick of the Python clock, 0: floats of seconds */
    struct dw_call_function *functions;
    uint32_t function_count, function_capacity;
    struct dw_map function_index;
    struct dw_signatures signatures;
    struct dw_map signed_names; /* functions with a signature, by code and name */
    struct dw_call_track **tracks;
    uint32_t track_count, track_capacity;
    struct dw_pointer_map sleepers; /* generators asleep, since when */
    struct dw_pointer_map sleeping; /* with signatures: their functions */
    struct dw_call_log *log;        /* the file it goes to while it runs, or NULL */
    uint64_t flush_at;              /* the tick at which the log is due */
};

/* call_tree.c. NULL or DW_MAP_NONE when absent, or out of memory. */
struct dw_call_node *dw_call_track_node(const struct dw_call_track *track, uint32_t index);
static inline uint64_t dw_call_track_suspended(const struct dw_call_track *track, uint32_t node)
{
    return node < track->suspended_capacity ? track->suspended[node] : 0;
}
/* Adds to the time that the generators of a node slept. */
void dw_call_track_suspend(struct dw_call_track *track, const struct dw_call_node *node,
                           uint64_t ticks);
struct dw_call_track *dw_call_track_new(struct dw_call_profile *profile);
void dw_call_track_free(struct dw_call_track *track);
struct dw_call_node *dw_call_child_find(struct dw_call_track *track,
                                        const struct dw_call_node *parent, const void *key,
                                        dw_labels_id labels);
struct dw_call_node *dw_call_child_add(struct dw_call_track *track,
                                       const struct dw_call_node *parent, const void *key,
                                       dw_labels_id labels, uint32_t function);
uint32_t dw_call_function_find(struct dw_call_profile *profile, const void *key);
/* Takes the name. */
uint32_t dw_call_function_add(struct dw_call_profile *profile, const void *key, PyObject *code,
                              PyObject *name);

/* beside_others: does not take the tool id that cProfile and dwell.Profile share. */
int dw_calls_enable(struct dw_call_profile *profile, bool builtins, bool beside_others);
void dw_calls_disable(struct dw_call_profile *profile);
/* Whether a profile is on. */
bool dw_calls_are_on(void);
void dw_calls_clear(struct dw_call_profile *profile);
/* While muted, calls in this thread are not recorded. Returns the state before. */
bool dw_calls_mute(bool mute);
/* The clock of a profile that is enabled, else 0. */
uint64_t dw_calls_now(const struct dw_call_profile *profile);
/* The entries of the stack that are open, from 1 on. */
uint32_t dw_calls_open_depth(const struct dw_call_track *track);
/* In a forked child: nothing has counted yet, and calls that are open begin now. */
void dw_calls_forked(struct dw_call_profile *profile);
/* call_log.c: makes the thread of the last track known to the log, while it lives. */
void dw_calls_enter_thread(struct dw_call_profile *profile);
/* Writes the log and sets when it is due again. */
void dw_calls_flush(struct dw_call_profile *profile, bool last);
/* Nanoseconds of a tick of the profile's clock, as well as it is known by now. */
double dw_calls_tick_ns(const struct dw_call_profile *profile);

/* "<built-in method builtins.len>", as cProfile says it; new reference or NULL. */
PyObject *dw_call_c_name(PyObject *callable, PyObject *self);

#endif
