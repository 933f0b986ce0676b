/* SPDX-License-Identifier: MIT
 * The stack of a thread that takes no samples of itself, read without touching the thread, like the
 * stacks of another process. What is read counts only if the thread did not run meanwhile. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_READER_H
#define DW_PROBE_SAMPLE_SAMPLE_READER_H

#include "attach/python/interpreter.h"
#include "attach/python/thread_names.h"
#include "attach/sampling/code_cache.h"
#include "cpython/sample_walk.h"
#include "native/elf/memory.h"
#include "probe/sample/sample_places.h"
#include "probe/sample/sample_slot.h"

/* Where `threading` has the names of an interpreter's threads, or when to look again. */
struct dw_name_source {
    uint64_t interpreter, dict;
    uint64_t next_ns, pause_ns;
};

struct dw_sample_reader {
    struct dw_sample_places *places;
    struct dw_target target; /* this process */
    struct dw_python python;
    bool can_read;
    struct dw_code_cache cache;
    struct dw_py_threads listed;
    uint64_t listed_ns;
    struct dw_name_source names;
    struct dw_thread_names known_names;
    struct dw_slot_memory *memory; /* owned: room for one stack */
    struct dw_py_page frames;      /* of the stack that is read */
    struct dw_copied_page stack;
};

/* Where a thread stands in its system call. */
struct dw_stand {
    char text[256];
    uint64_t sp, pc;
};

/* Where Python is in this process, which is the same in a forked child. */
struct dw_own_python {
    bool is_known;
    struct dw_target target;
    struct dw_python python;
};

/* 0 or DW_ERR_MEMORY; where Python cannot be read, its frames are missing. Takes what is known of
 * it. */
int dw_sample_reader_init(struct dw_sample_reader *reader, struct dw_sample_places *places,
                          struct dw_own_python *known);
/* In a forked child: leaves what is known of Python. */
void dw_sample_reader_leave(struct dw_sample_reader *reader, struct dw_own_python *known);
void dw_sample_reader_release(struct dw_sample_reader *reader);

/* False when the thread runs. */
bool dw_stand_read(const struct dw_slot *slot, struct dw_stand *stand);
/* The stack pointer of a thread that waits; 0 for others. */
uintptr_t dw_stand_stack_pointer(const struct dw_slot *slot);

/* What Python knows about the thread, or NULL. The first renews its list when that is old; the
 * second takes it as it is. */
const struct dw_py_thread *dw_sample_reader_thread(struct dw_sample_reader *reader, pid_t tid,
                                                   uint64_t now_ns);
const struct dw_py_thread *dw_sample_reader_listed(const struct dw_sample_reader *reader,
                                                   pid_t tid);
/* The thread's stack as it is now; false when it does not hold together. */
bool dw_sample_reader_path(struct dw_sample_reader *reader, const struct dw_slot *slot,
                           const struct dw_py_thread *thread, const struct dw_stand *stand,
                           uint64_t now_ns, dw_path_id *path);
bool dw_sample_reader_wants_natives(const struct dw_sample_reader *reader);
/* Whether native frames are wanted, and cannot be had. */
bool dw_sample_reader_lacks_natives(const struct dw_sample_reader *reader,
                                    const struct dw_stand *stand);
bool dw_sample_reader_holds_gil(const struct dw_sample_reader *reader,
                                const struct dw_py_thread *thread);

#endif
