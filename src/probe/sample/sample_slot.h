/* SPDX-License-Identifier: MIT
 * One sampled thread. Its signal handler fills the ring, the sampler's thread empties it; each
 * field says whose it is. Slots are found by thread id, without a lock. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_SLOT_H
#define DW_PROBE_SAMPLE_SAMPLE_SLOT_H

#include "cpython/task_name.h"
#include "model/label_table.h"
#include "model/path_tree.h"
#include "native/unwind/unwind.h"
#include "probe/sample/sample_counters.h"
#include "probe/sample/sample_ring.h"

#include <Python.h>

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define DW_SLOTS 8192u
#define DW_SLOT_PROBES 32u /* places where the slot of a thread may be */
#define DW_HANDLER_STACK (64u << 10)
#define DW_TOKENS_MAX (1u << 15)
#define DW_SEGMENTS_MAX (1u << 13)
#define DW_NATIVE_MAX (1u << 12)
#define DW_PENDING_SET 1024u

/* A frame of a stack as a handler knows it: the upper two bits say what the rest is. */
enum dw_token_kind {
    DW_TOKEN_PLACE = 0,  /* a place of the log, where that is known already */
    DW_TOKEN_PYTHON = 1, /* number of the code (30 bits), 1 + code unit (32 bits) */
    DW_TOKEN_NATIVE = 2, /* an address in the instruction that runs, or that called */
    DW_TOKEN_MARK = 3,   /* enum dw_mark; from DW_MARKS on the number of a task's name */
};
#define DW_TOKEN(kind, rest) ((uint64_t)(kind) << 62 | (rest))
#define DW_TOKEN_KIND(token) ((unsigned)((token) >> 62))
#define DW_TOKEN_REST(token) ((token) & (((uint64_t)1 << 62) - 1))

enum dw_mark {
    DW_MARK_GC,
    DW_MARK_KERNEL,
    DW_MARK_UNKNOWN,
    DW_MARK_OTHER_TASK,
    DW_MARK_OWN,    /* dwell works for itself */
    DW_MARK_ARENAS, /* memory that Python gets from the system, to cut it up */
    DW_MARKS
};

enum dw_sample_flag {
    DW_SAMPLE_GUESSED = 1, /* native frames were guessed */
    DW_SAMPLE_CUT = 2,     /* the outermost frames are missing */
    DW_SAMPLE_CARRIES = 4, /* it also stands for the time of samples that were not recorded */
    DW_SAMPLE_TICK = 8,    /* it stands for time in the kernel that others have: dw_timer_tick */
};

struct dw_sample_record {
    struct dw_ring_record head;
    uint64_t now_ns, cpu_ns; /* the monotonic clock; CPU time since the last record */
    uint64_t period_ns;      /* of a timer that is silent while the kernel works; 0: of another */
    uint32_t kept;           /* of the last record's tokens, from the outermost on */
    uint32_t count;          /* of new ones inside of these */
    uint32_t state, flags;
    dw_labels_id labels;               /* record/labels.h */
    dw_frame_id region;                /* the innermost, as the recorder calls it; 0: none */
    uint64_t counted[DW_COUNTERS_MAX]; /* since the last record */
    uint64_t tokens[];                 /* innermost first */
};

/* The Python functions of one call of the interpreter's loop. */
struct dw_segment {
    uintptr_t boundary; /* an address inside the C frame of that call */
    uint32_t end;       /* one past its last token in `python` */
};

/* Code that this sample has to describe. */
struct dw_pending_code {
    const PyCodeObject *code;
    uint32_t id;
};

/* The memory of a slot, mapped at once and touched as it is needed. Between samples `pending_set`
 * is empty, so that other threads can have it later. */
struct dw_slot_memory {
    uint64_t tokens[2][DW_TOKENS_MAX]; /* this sample's and the last record's */
    uint64_t python[DW_TOKENS_MAX];
    struct dw_segment segments[DW_SEGMENTS_MAX];
    struct dw_pending_code pending[DW_TOKENS_MAX];
    struct dw_native_frame native[DW_NATIVE_MAX];
    struct dw_py_task_name task;
    uint32_t pending_set[DW_PENDING_SET];
    _Alignas(uint64_t) uint8_t ring[1u << 19];
    _Alignas(16) uint8_t stack[DW_HANDLER_STACK]; /* that the handler runs on */
    uint8_t stack_end[16];
};

struct dw_slot {
    _Atomic pid_t tid;         /* 0: free */
    _Atomic uint32_t handlers; /* that are in it; one of the last owner's may just be leaving */
    /* What is new for each owner, from here on. */
    struct dw_slot_memory *memory;
    struct dw_sample_ring ring;
    /* The handler's. */
    uint32_t current;      /* of the two token lists */
    uint32_t last_count;   /* tokens of the last record */
    uint64_t walked_ns;    /* CPU time at the end of the last walk */
    uint64_t walk_cost_ns; /* what that stack took to walk */
    bool carries;
    struct dw_counters counters; /* behind the last record */
    uint32_t signals_of_period;  /* to come until the timer gets another period */
    uint64_t current_period_ns, chance;
    uint64_t tick_cpu_ns;             /* CPU time at the last tick */
    _Atomic bool is_begun;            /* the timer, whose first period is a shorter one */
    _Atomic uint64_t samples, missed; /* recorded or not */
    _Atomic uint64_t tight_stack; /* the size of a stack for signals that has no room for ours */
    /* CPU time that is accounted for. Whoever accounts for more moves it first. */
    _Atomic uint64_t cpu_done_ns;
    /* The bounds of the stack: set by the sampler's thread, which is told where to look. */
    _Atomic uintptr_t stack_start, stack_end, stack_wanted;
    /* The sampler's thread. */
    struct {
        int fd; /* -1: none */
        uint64_t
            id; /* shows when the program has closed the file, and given its number to another */
    } timer;
    bool has_ticks; /* the other kind of timer, which may tick beside the first */
    timer_t ticks;
    uint64_t ticks_ns;
    _Atomic uint64_t period_ns; /* of a timer that is silent while the kernel works; 0: none */
    /* CPU time before the recording, when the timer began, and when the thread ended; 0: it has
     * not, or nobody knows. */
    uint64_t cpu_first_ns, cpu_timed_ns, cpu_end_ns;
    uint32_t thread; /* 1 + its index in the log; 0: not there yet */
    bool is_named;   /* by `threading` */
    uint8_t name_tries;
    bool is_alive; /* seen in the last look at all threads */
    bool is_late;  /* the first sample */
    uint64_t seen_missed;
    uint64_t cpu_looked_ns, wall_looked_ns; /* CPU time and time of the last look */
    uint64_t cpu_asked_ns;                  /* CPU time when it was last asked for a sample */
    uint64_t samples_looked;                /* samples until then */
    uint32_t silent_looks;                  /* in a row, without a sample though it ran */
    uint64_t waited_ns;                     /* time that it did not run, not in the log yet */
    uint64_t tried_ns;                      /* when its stack was read last */
    bool sleeps;                            /* it has not run since its stack was read */
    dw_path_id sleep_path;
    uint32_t sleep_state;
    dw_labels_id sleep_labels;
    uint32_t last_state;      /* of the last record */
    dw_labels_id last_labels; /* of it, with its region */
    struct {                  /* the pair that last_labels was made of */
        dw_labels_id labels;
        dw_frame_id region;
    } last_doing;
    /* Time in the kernel for which samples came too late, and since when. */
    uint64_t owed_ns, owed_since_ns, owed_sum_ns;
    dw_path_id owed_path;
    /* Where ticks met it there, how much they say it was, and how much of that was told by looks.
     */
    dw_path_id tick_path;
    uint64_t tick_ns, tick_told_ns, tick_sum_ns;
    struct dw_slot_path {
        dw_path_id path;
        uint64_t token;
    } * paths; /* of the last record's tokens, outermost first */
    uint32_t path_count, path_capacity;
};

extern struct dw_slot dw_slots[DW_SLOTS];

/* NULL when the thread has none. [signal-safe] */
struct dw_slot *dw_slot_find(pid_t tid);
/* A slot with memory; NULL when there is none. It is seen by handlers once its tid is set. */
struct dw_slot *dw_slot_new(pid_t tid);
/* The thread has ended, or samples are no longer taken: waits for a handler to be done. */
void dw_slot_free(struct dw_slot *slot);
/* Gives back memory that is kept for threads to come. */
void dw_slots_trim(void);

/* From now on, or no longer, dwell works for itself in this thread: to start, to end, or to learn
 * something. This is not the work of the function in which it happens, so samples have DW_MARK_OWN
 * alone. Of two threads at once only the later one is known. */
void dw_own_work_begin(void);
void dw_own_work_end(void);
extern _Atomic pid_t dw_own_work; /* the thread; 0: none */
/* [signal-safe] */
static inline bool dw_own_work_is_in(pid_t tid)
{
    return atomic_load_explicit(&dw_own_work, memory_order_relaxed) == tid;
}

#endif
