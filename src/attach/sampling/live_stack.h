/* SPDX-License-Identifier: MIT
 * The Python stack of a thread that runs, in one system call. Where its frames lie is learnt
 * from one reading and used for the next. What was copied tells by itself which frames were
 * live: a function that waits for another one has put its stack away, one that runs has not. */
#ifndef DW_ATTACH_SAMPLING_LIVE_STACK_H
#define DW_ATTACH_SAMPLING_LIVE_STACK_H

#include "attach/python/interpreter.h"
#include "attach/python/py_code.h"
#include "attach/python/stack.h"

#define DW_LIVE_AREAS 48
#define DW_LIVE_ROUNDS 4 /* copies of all frames that must agree for a stack to be sure */

enum dw_live_kind {
    DW_LIVE_CALLS,   /* frames of calls, one after the other */
    DW_LIVE_HEAP,    /* frames of generators and coroutines, among other objects */
    DW_LIVE_C_STACK, /* what the interpreter itself has there */
};

/* Memory that holds frames. */
struct dw_live_area {
    uint64_t start, end;
    enum dw_live_kind kind;
    uint64_t used; /* the look that needed it last */
};

/* What is known of one thread. Zero-initialised: nothing yet. */
struct dw_live_thread {
    uint64_t state, interpreter, gil;
    uint64_t native_id;
    uint64_t cframe; /* 3.11 and 3.12 */
    uint64_t code;   /* of its innermost frame when it was looked at last; 0: unknown */
    struct dw_live_area areas[DW_LIVE_AREAS];
    uint32_t area_count;
    uint64_t looks;
    uint32_t strays; /* grows with looks that lacked frames */
    bool is_stray;   /* the last look was such */
    uint32_t doubts; /* for so many more looks, frames of calls are copied twice */
    bool known;      /* where its frames lie has been learnt */
    bool is_deep;    /* in more areas than are read at once */
};

struct dw_live_reader {
    const struct dw_python *python;
    struct dw_stack_reader walker;
    struct dw_raw_stack spare;
    uint8_t *copies;                   /* owned */
    uint32_t thread_start, thread_end; /* the part of a thread state that is read */
};

enum dw_live_result {
    DW_LIVE_GOOD,
    DW_LIVE_AGAIN, /* it changed meanwhile, or a part of it lay where nothing was copied */
    DW_LIVE_GONE,  /* the thread state is no longer this thread's, or cannot be read */
};

/* What readings for one sample have found. Zero-initialised before the first of them. */
struct dw_live_look {
    uint64_t gil_holder; /* a thread state; 0: nobody has it */
    bool is_twice;       /* frames of calls were copied twice: dw_live_is_steady */
    bool is_begun;       /* a copy was asked for, */
    bool has_waited;     /* and had to wait, since a thread changed the memory map just then */
    bool is_at_once;     /* the last copy was made without losing the CPU */
    uint64_t code;       /* a code object whose head was read with the stack; 0: none */
    uint8_t code_head[DW_PY_MAX_CODE_BYTES];
};

int dw_live_reader_init(struct dw_live_reader *reader, const struct dw_python *python,
                        uint32_t max_depth);
void dw_live_reader_release(struct dw_live_reader *reader);
/* With `sure`, everything is copied DW_LIVE_ROUNDS times in a row and must be the same, but for
 * the place in the innermost function. Without, the copy is nearly always that of one moment, and
 * stacks that change fast are as likely to be read as others. */
enum dw_live_result dw_live_read(struct dw_live_reader *reader, struct dw_live_thread *thread,
                                 bool sure, struct dw_raw_stack *stack, struct dw_live_look *look);
/* The same when the thread is known to stand still. */
enum dw_live_result dw_live_read_stopped(struct dw_live_reader *reader,
                                         struct dw_live_thread *thread, struct dw_raw_stack *stack,
                                         struct dw_live_look *look);
/* Notes where the frames of that stack lie, which was read while the thread stood still. */
void dw_live_learn(struct dw_live_reader *reader, struct dw_live_thread *thread,
                   const struct dw_raw_stack *stack);
/* There may be frames that do not belong together: for a while the next looks copy them twice. */
void dw_live_doubt(struct dw_live_thread *thread);
/* Whether the last look, the one given, shows that a frame of that stack was called by the one
 * outside of it: both were the same in two copies less than a microsecond apart, and the innermost
 * one ran in both. From 3.14 on frames do not tell that, so it is false. */
bool dw_live_is_steady(const struct dw_live_reader *reader, struct dw_live_thread *thread,
                       const struct dw_live_look *look, const struct dw_raw_stack *stack,
                       uint32_t callee);
/* Whether the thread does not leave that instruction of its innermost frame for some microseconds,
 * as while C code runs that was called there. */
bool dw_live_stays(const struct dw_live_reader *reader, const struct dw_raw_frame *innermost);
/* Whether frames are so often outside of the copies that readings of the running thread would
 * mostly show those that happen to be inside. Ask once for each sample. */
bool dw_live_is_astray(struct dw_live_thread *thread);
/* Where on the C stack the interpreter was entered, for each frame that C code called. Later
 * versions have it in the frames; in 3.11 it has to be looked up while the thread stands still. */
void dw_live_find_entries(struct dw_live_reader *reader, const struct dw_live_thread *thread,
                          struct dw_raw_stack *stack);

#endif
