/* SPDX-License-Identifier: MIT
 * The lines probe: hits and times of the lines of chosen functions, in all threads. Each thread
 * has a stack and numbers of its own, these again apart for each set of labels that it had; the GIL
 * guards all of it. Any number of profiles may run at once. */
#ifndef DW_PROBE_LINE_LINE_PROBE_H
#define DW_PROBE_LINE_LINE_PROBE_H

#include "base/clock.h"
#include "base/map.h"
#include "base/pointer_map.h"
#include "cpython/frame.h"
#include "model/value_table.h"
#include "probe/label/label_watch.h"

/* What one line took, in ticks. docs/format.md says what each of them means. */
struct dw_line_count {
    uint64_t hits, time, self, inclusive, suspended, rss, grown, shrunk,
        peak;                   /* as their measures */
    struct dw_line_edge *edges; /* what it called, the last one first */
};

struct dw_line_edge {
    struct dw_line_edge *next;
    const struct dw_line_callee *callee;
    uint64_t calls, time;
};

/* Something called from a line: a function, or what is not Python, identified by `key`. */
struct dw_line_callee {
    const void *key;
    PyObject *owner; /* strong: keeps the key valid */
    PyObject *name;  /* str; NULL for Python code, which is the owner then */
};

enum dw_line_kind {
    DW_LINE_OF_FUNCTION = 1,
    DW_LINE_OF_INNER = 2, /* a lambda or comprehension in it */
};

/* A code object in a profile. Lambdas and comprehensions share the lines of the function that
 * they are in, if they have lines for themselves. */
struct dw_line_code {
    struct dw_line_profile *profile;
    PyCodeObject *code;                /* strong */
    struct dw_line_code *next_of_code; /* the same code in another profile */
    struct dw_line_code *outermost;    /* whose lines these are: mostly itself */
    uint32_t index;                    /* among the profile's functions */
    uint8_t *kinds;                    /* who can run a line, from first_line on; NULL: no lines */
    uint32_t first_line, line_count;
    uint32_t open;   /* its activations, in all threads */
    unsigned watch;  /* what it should be watched for */
    uint32_t strays; /* events that came while its profile was off */
    bool is_watched, is_inner;
    bool is_shared;               /* its code has also been in other profiles */
    struct dw_line_callee callee; /* itself, as called by others */
};

/* The numbers of a thread under one set of labels. Of each function, by its index, that ran: the
 * first is the function as a whole, whose hits are calls, those of its lines follow. */
struct dw_line_set {
    dw_labels_id labels;
    struct dw_line_count **counts;
    uint32_t capacity;
};

/* A call that is open: of a function, or of something that is not Python. */
struct dw_line_activation {
    struct dw_line_code *function; /* NULL: not Python */
    const struct dw_line_callee *callee;
    const struct dw_line_set *set;
    struct dw_line_count *counts; /* of the function in it; NULL: it has no lines */
    struct dw_line_count *line;   /* one of these; NULL: none yet */
    uint64_t start;               /* of the call, or when its time was last settled */
    uint64_t line_start;          /* the same of the line */
    uint64_t children;            /* time of calls above it since line_start */
    uint64_t nested;              /* the part of that in activations of the same function */
    uint64_t rss;                 /* when the line began, if that is asked for; 0: not known */
    int64_t net, high;            /* bytes that the thread allocated and did not free: when the
                                     line began, and at most since, as far as it is known */
    int64_t highest;              /* the same since the call began */
    uint32_t outer;               /* the activation of the same function below it, or 0 */
    uint32_t *frozen; /* by line: how many activations of the function stand there, below others;
                         NULL while it does not recurse */
};

struct dw_line_track {
    struct dw_line_profile *profile;
    unsigned long thread;             /* as Python identifies it */
    uint64_t thread_id;               /* as the kernel does; 0: of the parent of this process */
    struct dw_line_activation *stack; /* from 1 on */
    uint32_t depth, capacity;
    struct dw_label_watch watch;
    struct dw_line_set **sets; /* by labels; NULL: it never had them */
    uint32_t set_count;
    struct dw_line_set *set;            /* of the labels that it has now, or had last */
    bool with_memory;                   /* as the profile */
    char *thread_name;                  /* NULL: none */
    bool is_entered;                    /* into the ledger of the profile's file */
    uint32_t log_thread[2];             /* how a log in memory calls it, and the file */
    struct dw_value_table now, written; /* rows on their way to a log, and what the file has */
    struct dw_line_track *next_spare;
};

struct dw_line_profile {
    uint64_t serial; /* of this enabling, unique in the process; 0: off */
    uint32_t enable_count;
    struct dw_line_profile *next_on; /* while it is on */
    bool with_callees, with_memory;
    struct dw_line_code **functions;
    uint32_t function_count, function_capacity;
    uint32_t watched_count;          /* the functions before this one are watched */
    struct dw_line_callee **callees; /* that are not functions of ours */
    uint32_t callee_count, callee_capacity;
    struct dw_map callee_index;
    struct dw_line_track **tracks;
    uint32_t track_count, track_capacity;
    struct dw_pointer_map asleep_since;           /* by generator */
    struct dw_pointer_map asleep_on;              /* the line, as an index into its counts */
    struct dw_clock_pair first_clock, last_clock; /* the last one while it is off */
    struct dw_ledger *log;                        /* the file it goes to while it runs, or NULL */
    uint64_t flush_at;                            /* the tick at which the log is due */
};

/* line_codes.c */
int dw_line_codes_init(void);
/* Adds the code, with what is in it; 1 when it is new, 0 when it was there, -1 with an exception.
 */
int dw_line_code_add(struct dw_line_profile *profile, PyCodeObject *code);
/* The same for a function of which only begin and end count. */
int dw_line_code_meet(struct dw_line_profile *profile, PyCodeObject *code);
/* The first profile's function of the code, or NULL. */
struct dw_line_code *dw_line_codes_of(PyCodeObject *code);
struct dw_line_code *dw_line_code_in(struct dw_line_profile *profile, PyCodeObject *code);
/* The Python code that a callable runs at once, or NULL; borrowed. */
PyCodeObject *dw_line_callable_code(PyObject *callable);
/* A callee that is not Python; NULL when out of memory. */
const struct dw_line_callee *dw_line_callee_of(struct dw_line_profile *profile, PyObject *callable);
/* Asks for the events of all functions. */
int dw_line_codes_watch(struct dw_line_profile *profile);
void dw_line_code_unwatch(struct dw_line_code *function);
void dw_line_codes_release(struct dw_line_profile *profile);

/* line_profile.c */
int dw_lines_enable(struct dw_line_profile *profile);
void dw_lines_disable(struct dw_line_profile *profile);
/* Whether a profile is on. */
bool dw_lines_are_on(void);
/* Adds what is still open to the numbers, as of now. */
void dw_lines_settle(struct dw_line_profile *profile);
/* Ends every call that is open, in all threads, as of now. */
void dw_lines_end_all(struct dw_line_profile *profile);
/* Open calls count from now on: the time since they were settled was dwell's own. */
void dw_lines_restart(struct dw_line_profile *profile);
/* [signal-safe] In a forked child. The other threads are not in it, and their calls never end. */
void dw_lines_forget_other_threads(void);
/* [signal-safe] The same: nothing has counted yet. */
void dw_lines_forked(struct dw_line_profile *profile);
void dw_lines_release(struct dw_line_profile *profile);
/* Nanoseconds of a tick, as well as it is known; it does not change while the profile is off. */
double dw_lines_tick_ns(const struct dw_line_profile *profile);

extern struct dw_probe dw_line_probe;

/* line_log.c: writes the log and sets when it is due again. */
void dw_lines_flush(struct dw_line_profile *profile, bool last);

#endif
