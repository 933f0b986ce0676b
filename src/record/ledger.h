/* SPDX-License-Identifier: MIT
 * What is behind every probe: names, places, the one tree of paths, labels, threads, the process,
 * and the file that they go to, with how much of them is in it. Probes that were given the same
 * file share one ledger. A path is made of places; a region, or a call as a whole, is a place with
 * its frame and line 0.
 *
 * Locks, in the order in which they are taken: a probe's own (the sampler's, the GIL), the ledger's
 * `file`, the recorder's, the ledger's `tables`, a track's, the timeline's queue. `file` guards the
 * sink, and so what is written; whoever holds it waits for no GIL. `tables` guards the tables and
 * the threads. A ledger that one thread alone uses, as the one of another process, may be read
 * without them. */
#ifndef DW_RECORD_LEDGER_H
#define DW_RECORD_LEDGER_H

#include "log/writer.h"
#include "model/label_table.h"
#include "model/value_table.h"

#include <pthread.h>
#include <stdatomic.h>

/* A log, and how much of the tables is in it. */
struct dw_sink {
    struct dw_log_writer writer;
    bool is_whole;    /* a snapshot, which holds everything */
    bool is_last;     /* all values once more, so that none rests on a chunk that may be lost */
    bool has_process; /* the description of the process is in it */
    uint32_t changes; /* of that description which are in it */
    uint32_t strings, frames, modules, places, labels, paths, sources;
};

struct dw_ledger_thread {
    uint32_t id; /* in the log */
    uint64_t tid;
    char *name; /* owned; NULL: none */
    size_t name_size;
    bool is_used;    /* else the entry is free */
    unsigned users;  /* probes that write to it; their bits */
    bool has_ended;  /* the kernel may give the tid to another thread */
    bool is_written; /* with this name */
    /* What probes add up here, with marks of what is new, and single samples. */
    struct dw_value_table values;
    bool *is_new; /* by row */
    uint32_t is_new_capacity;
    bool has_news;
    struct dw_buffer timed;
    uint64_t timed_base, timed_last;
};

#define DW_LEDGER_STATES 32 /* of samples, GIL bit included, and none */

struct dw_ledger {
    struct dw_ledger *next;   /* of those that are open in this process */
    _Atomic uint32_t users;   /* who writes to it */
    _Atomic uint32_t holders; /* and who still reads its tables */
    char *path;               /* NULL: in memory */
    size_t stem_size;         /* of the path: a forked child puts its pid behind it */
    atomic_bool is_late;      /* the file is made by the first flush */
    bool is_name_ours;        /* nobody has given it */
    bool is_quiet;            /* who writes to it tells of trouble */
    bool is_forked;           /* and has not said so yet */
    bool is_leaving;          /* its process may be gone any moment: each flush is the end */
    uint8_t parent[16];       /* the uuid of the process that forked */
    struct dw_clock_pair forked_at;
    pthread_mutex_t file;
    struct dw_sink sink;
    _Atomic int error; /* with which the file was given up */
    int saved_errno;
    pthread_mutex_t tables;
    struct dw_string_table strings;
    struct dw_frame_table frames;
    struct dw_place_table places;
    struct dw_path_tree paths; /* of places */
    struct dw_label_table labels;
    /* By set of record/labels.h and by state: the set of labels; 0: not asked for yet. */
    dw_labels_id (*sets)[DW_LEDGER_STATES];
    uint32_t set_count;
    /* Files whose text the log gets, and how often samples met each file, by its string. */
    dw_string_id *sources;
    uint32_t source_count, source_capacity;
    uint8_t *met;
    uint32_t met_size;
    struct dw_module *modules;
    uint32_t module_count, module_capacity;
    struct dw_ledger_thread *threads;
    uint32_t thread_count, thread_capacity;
    uint32_t free_threads; /* among these */
    uint32_t next_thread;  /* how the log calls the next one */
    struct dw_process process;
    uint32_t changes;            /* of the description which are in `process` */
    struct dw_clock_pair ended;  /* when what it tells of ended; tick 0: it goes on */
    struct dw_sampling sampling; /* the sampler counts in it */
    bool timeline;               /* each sample is kept beside the sums */
    _Atomic uint64_t dropped;    /* events, for the end of the log */
    atomic_bool is_reported;     /* the program shows its regions itself */
    const struct dw_source_reader *source_reader; /* borrowed; NULL: files of this process */
};

struct dw_ledger_options {
    const char *path;  /* NULL: in memory */
    bool is_late;      /* the first flush makes the file */
    bool is_name_ours; /* nobody has given it: it must not be somebody else's file */
    bool is_quiet;     /* whoever opened it tells of trouble */
    const struct dw_source_reader *source_reader;
};

/* The ledger of that file, which others may have too, or a new one. 0, DW_ERR_IO or DW_ERR_MEMORY.
 */
int dw_ledger_open(const struct dw_ledger_options *options, struct dw_ledger **ledger);
/* One who opened it writes nothing more. After the last one has said so the log is complete. 0, or
 * the error with which the file was given up. The tables stay until release. */
int dw_ledger_stop(struct dw_ledger *ledger);
/* One more will release it. The caller sees to it that another holder stays meanwhile. */
void dw_ledger_hold(struct dw_ledger *ledger);
void dw_ledger_release(struct dw_ledger *ledger);
/* What the log says of a process that is not this one; before the first flush. */
void dw_ledger_of(struct dw_ledger *ledger, uint64_t pid);
int dw_ledger_describe(struct dw_ledger *ledger, const char *key, const char *value);

/* Interning; 0 or an error. Texts are bytes of any kind. */
int dw_ledger_string(struct dw_ledger *ledger, const void *bytes, size_t size, dw_string_id *id);
int dw_ledger_frame(struct dw_ledger *ledger, const struct dw_frame *frame, dw_frame_id *id);
/* One that samples met: whether the log gets the text of its file hangs on how many do. */
int dw_ledger_met_frame(struct dw_ledger *ledger, const struct dw_frame *frame, dw_frame_id *id);
int dw_ledger_place(struct dw_ledger *ledger, const struct dw_place *place, dw_place_id *id);
/* The place of a frame as a whole, with the names of that frame. */
int dw_ledger_named_place(struct dw_ledger *ledger, enum dw_frame_kind kind, struct dw_string name,
                          struct dw_string file, uint32_t line, dw_place_id *id);
/* Past four million everything new becomes one path. */
int dw_ledger_path(struct dw_ledger *ledger, dw_path_id parent, dw_place_id place, dw_path_id *id);
/* A new path, also when there is one that is like it. */
int dw_ledger_append_path(struct dw_ledger *ledger, dw_path_id parent, dw_place_id place,
                          dw_path_id *id);
/* What an id means, whoever adds to the tables meanwhile. */
struct dw_frame dw_ledger_frame_at(struct dw_ledger *ledger, dw_frame_id frame);
struct dw_place dw_ledger_place_at(struct dw_ledger *ledger, dw_place_id place);
struct dw_path dw_ledger_path_at(struct dw_ledger *ledger, dw_path_id path);
/* The set of labels of a row: those of a set of record/labels.h, and for samples the state that the
 * thread was in, `state` being 1 more than that of model/sample.h, else 0. */
int dw_ledger_labels(struct dw_ledger *ledger, dw_labels_id live, uint32_t state, dw_labels_id *id);
/* Adds a module and gives what places call it: 1 + index. */
int dw_ledger_module(struct dw_ledger *ledger, const struct dw_module *module, uint32_t *id);

/* For ledger_file.c: makes empty tables, and frees them. */
int dw_ledger_tables_init(struct dw_ledger *ledger);
void dw_ledger_tables_release(struct dw_ledger *ledger);

/* ledger_threads.c. The thread of a tid, which the probe of that bit does not have now. */
int dw_ledger_thread(struct dw_ledger *ledger, unsigned probe, uint64_t tid, uint32_t *thread);
/* The thread has ended: from now on its tid is that of another one. */
void dw_ledger_end_thread(struct dw_ledger *ledger, uint32_t thread);
/* The probe adds nothing more to the thread. When no probe does, and the file has all of it, the
 * entry is free. */
void dw_ledger_leave_thread(struct dw_ledger *ledger, unsigned probe, uint32_t thread);
int dw_ledger_name_thread(struct dw_ledger *ledger, uint32_t thread, const char *name, size_t size);
/* How the log calls it. */
uint32_t dw_ledger_thread_id(struct dw_ledger *ledger, uint32_t thread);
/* Its name, and its tid; for the only thread that uses the ledger. */
struct dw_string dw_ledger_thread_name(const struct dw_ledger *ledger, uint32_t thread,
                                       uint64_t *tid);
void dw_ledger_release_thread(struct dw_ledger_thread *thread);
/* Under `file` and `tables`. */
void dw_ledger_write_threads(struct dw_ledger *ledger, struct dw_sink *sink);
void dw_ledger_forget_threads(struct dw_ledger *ledger);

/* ledger_sources.c, under `tables`. The log gets the text of the frame's file. */
void dw_ledger_want_source(struct dw_ledger *ledger, const struct dw_frame *frame);
/* The same, but for a file of an installed library, which has to be met often enough. */
void dw_ledger_want_own_source(struct dw_ledger *ledger, const struct dw_frame *frame);
/* So many samples met the functions of a path. */
void dw_ledger_meet_sources(struct dw_ledger *ledger, dw_path_id path, uint32_t samples);
#define DW_SOURCE_ENOUGH 4u /* samples for the text of an installed library's file */

/* ledger_rows.c. Adds to a row of the thread, which is then news to the log; under `tables`. */
int dw_ledger_add_row(struct dw_ledger_thread *thread, dw_path_id path, dw_labels_id labels,
                      dw_measure_mask mask, const uint64_t *numbers, uint32_t *row);
/* Adds numbers, one for each bit of the mask, to what a thread has on a path; `state` as in
 * dw_ledger_labels. */
int dw_ledger_add(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                  dw_labels_id labels, dw_measure_mask mask, const uint64_t *numbers);

/* ledger_file.c. What a probe has to tell: takes what there is, calls dw_ledger_define, and writes
 * values. The lock `file` is held. 0, or an error with which there will be no file. */
typedef int dw_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink);
/* Definitions, and the rows that are new; ledger_rows.c. */
dw_collect dw_ledger_collect;
/* Brings what a probe has to the file; the last time all of it. Trouble is told once. 0, or the
 * error with which the file was given up. */
int dw_ledger_flush(struct dw_ledger *ledger, dw_collect *collect, void *context, bool is_last);
/* The same, and says that the log is complete as of now: the process may be gone next. */
int dw_ledger_flush_end(struct dw_ledger *ledger, dw_collect *collect, void *context);
/* The process is still here: what comes next is no end. */
void dw_ledgers_stay(void);
/* Whether the calling thread is in one of these: it must not begin another. */
bool dw_ledger_is_flushing(void);
/* A whole log into memory; the caller releases the writer, in any case. */
int dw_ledger_snapshot(struct dw_ledger *ledger, dw_collect *collect, void *context,
                       struct dw_log_writer *writer);
/* ledger_sources.c: texts of files that the sink does not have. Under `file`. */
void dw_ledger_write_sources(struct dw_ledger *ledger, struct dw_sink *sink);
/* Writes all definitions that the sink does not have. Under `file`. */
void dw_ledger_define(struct dw_ledger *ledger, struct dw_sink *sink);
/* Whether there is a file that is written to, or will be. */
bool dw_ledger_has_file(struct dw_ledger *ledger);
/* Whether its file is not made yet: a probe with nothing to tell should not make it. */
bool dw_ledger_is_late(struct dw_ledger *ledger);

/* Around a fork: the locks of all ledgers of this process, `file` and then `tables`. */
void dw_ledgers_lock(void);
void dw_ledgers_lock_tables(void);
void dw_ledgers_unlock_tables(void);
void dw_ledgers_unlock(void);
/* In the child, under these locks: empties all ledgers, which get files of their own. */
void dw_ledgers_forked(void);

#endif
