/* SPDX-License-Identifier: MIT
 * The threads of all interpreters of a Python in another process. */
#ifndef DW_ATTACH_PYTHON_INTERPRETER_H
#define DW_ATTACH_PYTHON_INTERPRETER_H

#include "attach/python/python_runtime.h"

struct dw_py_thread {
    uint64_t state; /* the address of its PyThreadState */
    uint64_t interpreter;
    uint64_t gil; /* the address of its interpreter's */
    int64_t interpreter_id;
    uint64_t ident;     /* what threading.get_ident() gives */
    uint64_t native_id; /* the kernel's id, as the process itself sees it */
    bool holds_gil;
};

struct dw_py_threads {
    struct dw_py_thread *threads; /* owned; kept for the next reading */
    uint32_t count, capacity;
    bool incomplete; /* the lists changed all the time; some are missing */
};

/* Reads again when a list does not hold together. DW_ERR_NO_RUNTIME when there is no
 * interpreter with a thread. */
int dw_py_threads_read(const struct dw_python *python, struct dw_py_threads *threads);
void dw_py_threads_release(struct dw_py_threads *threads);

#endif
