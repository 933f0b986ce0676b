/* SPDX-License-Identifier: MIT
 * A thread that a sampler watches. Private to the files of the sampler. */
#ifndef DW_ATTACH_SAMPLING_WATCHED_H
#define DW_ATTACH_SAMPLING_WATCHED_H

#include "attach/sampling/activity.h"
#include "attach/sampling/sampler.h"
#include "base/error.h"

#define DW_NO_STATE UINT32_MAX

/* A sample that has its weight when the kernel has counted the CPU time. */
struct dw_pending_sample {
    uint32_t log_thread, state;
    dw_path_id path;
    uint64_t until_ns, elapsed_ns;
    bool has_cpu;
};

/* A frame of the last stack and where it is in the recording. */
struct dw_known_frame {
    struct dw_raw_frame frame;
    dw_path_id path;
    dw_place_id place; /* of it, or of the next frame outside that is shown */
};

/* The CPU time of a thread of the system, and the samples in which it ran since that was known.
 * Several interpreters may have a state for the same thread, or none has one any more: all that is
 * watched of it shares the account. */
struct dw_cpu_account {
    uint32_t users;
    struct dw_watched *runner; /* the user that the thread ran for in this round */
    void *switches;            /* owned: of a CPU, to it and away; NULL: they are not known */
    uint64_t counted_ns, looked_ns;
    uint64_t last_ns;    /* what the kernel had counted at the last look */
    uint64_t queued_ns;  /* that it was ready without a CPU, */
    uint64_t stopped_ns; /* some of which we kept it from running, since that was known */
    struct dw_pending_sample *pending; /* owned */
    uint32_t pending_count, pending_capacity;
};

/* The CPU time of a process and of one of its threads when they were compared last. */
struct dw_alone {
    uint64_t looked_ns, process_ns, thread_ns;
    bool is_alone; /* hardly another thread ran between the last two times */
};

struct dw_watched {
    struct dw_live_thread live; /* without a state: Python does not know the thread */
    uint64_t ident;
    pid_t id;          /* the kernel's, here; 0: unknown */
    const void *birth; /* unique among all threads of the system, ever; NULL: unknown */
    struct dw_activity_files activity;
    uint64_t ran_ns; /* when the kernel said that it runs */
    bool has_cpu;    /* or just had one, when it was looked at last */
    uint32_t log_thread;
    struct dw_known_frame *known; /* owned; outermost first */
    uint32_t known_count, known_capacity;
    uint32_t same_count; /* those of the last sample too, of which the innermost may have moved */
    uint64_t looked_up_ns;
    bool has_stack, is_listed;
    bool is_missed;  /* it could not be read: its next sample stands for this one's time too */
    bool is_short;   /* its path ends before a call that is not proven */
    bool is_mapping; /* it was changing its memory map, so where it was is not known */
    bool is_met, is_named; /* whether it has a name at all, and one that `threading` gave it */
    dw_path_id path, last_path;
    uint32_t state, last_state; /* DW_NO_STATE: it had no stack yet */
    uint64_t last_ns;           /* until when its last sample stands */
    uint64_t stopped_ns;        /* how long we have kept it from running since */
    uint64_t stop_next_ns;      /* when it may be stopped again */
    struct dw_cpu_account *cpu; /* owned by all its users */
    struct dw_alone alone;
};

/* Memory that made no sense, since it changed while it was read. */
static inline bool dw_is_foreign(int error)
{
    return error == DW_ERR_DAMAGED || error == DW_ERR_UNREADABLE;
}

/* watch_list.c: which threads there are. */
int dw_watched_list(struct dw_sampler *sampler, uint64_t now_ns);
void dw_watched_release(struct dw_watched *thread);

/* watched_names.c: the names of those that have none yet. */
int dw_watched_name_new(struct dw_sampler *sampler);

/* How the stack was read. */
enum dw_reading {
    DW_READING_LIKELY, /* once, while the thread ran */
    DW_READING_SURE,
    DW_READING_STOPPED, /* while it stood still, as it does now */
};

/* watched_path.c: the stack that was read last as a path of the recording, into thread->path.
 * DW_ERR_DAMAGED or DW_ERR_UNREADABLE when it cannot be right. */
int dw_watched_find_path(struct dw_sampler *sampler, struct dw_watched *thread,
                         enum dw_reading reading, const struct dw_live_look *look, uint64_t now_ns);
int dw_watched_find_merged_path(struct dw_sampler *sampler, struct dw_watched *thread,
                                uint64_t now_ns);

/* watched_look.c: what the thread does now, into its path and state. */
int dw_watched_look(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns);
bool dw_watched_runs(const struct dw_watched *thread);
/* After the looks at all threads: of states of the same thread only one is not waiting. */
void dw_watched_choose_runners(struct dw_sampler *sampler);

/* watched_map.c: for a thread that runs, and could be read only after the memory map of its process
 * had been changed. If that was its own doing, it is_mapping, and its path is one that says so. */
int dw_watched_check_map(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns);

/* sample_weight.c: what the looks at all threads stand for. */
int dw_weights_add(struct dw_sampler *sampler, uint64_t until_ns);
/* For a thread that has ended or is no longer watched. */
int dw_weights_spend_rest(struct dw_sampler *sampler, const struct dw_watched *thread);

#endif
