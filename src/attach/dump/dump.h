/* SPDX-License-Identifier: MIT
 * Every thread of a Python in another process with its stack, at about one moment. */
#ifndef DW_ATTACH_DUMP_DUMP_H
#define DW_ATTACH_DUMP_DUMP_H

#include "attach/python/python_runtime.h"
#include "attach/python/stack.h"
#include "base/buffer.h"

/* Bytes in the dump's text. */
struct dw_dump_text {
    uint32_t at, size;
};

struct dw_dump_local {
    struct dw_dump_text name, value;
};

struct dw_dump_frame {
    struct dw_dump_text function, file;
    uint32_t line;  /* 0: none */
    bool is_native; /* a function of the object `file`, named as the linker has it */
    uint32_t first_local, local_count;
};

struct dw_dump_thread {
    uint64_t id, ident; /* the kernel's id as we see it, and what threading.get_ident() gives */
    int64_t interpreter_id;
    struct dw_dump_text name;      /* of threading; empty when it does not know the thread */
    struct dw_dump_text task_name; /* the kernel's */
    char task_state;               /* as in /proc; '?' when unknown */
    bool holds_gil;
    enum dw_stack_state stack;
    uint32_t first_frame, frame_count; /* innermost first */
};

struct dw_dump {
    struct dw_buffer text;
    struct dw_dump_thread *threads;
    struct dw_dump_frame *frames;
    struct dw_dump_local *locals;
    uint32_t thread_count, thread_capacity, frame_count, frame_capacity, local_count,
        local_capacity;
    bool threads_incomplete;
};

struct dw_dump_options {
    bool locals;
    bool native;        /* native frames too; threads that run are stopped for a moment */
    uint32_t max_depth; /* Python frames of a thread at most */
};

/* DW_ERR_NO_RUNTIME, DW_ERR_ENDED and so on. */
int dw_dump_read(const struct dw_python *python, const struct dw_dump_options *options,
                 struct dw_dump *dump);
void dw_dump_release(struct dw_dump *dump);

#endif
