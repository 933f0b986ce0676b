/* SPDX-License-Identifier: MIT
 * The names that `threading` knows threads by. */
#ifndef DW_ATTACH_PYTHON_THREAD_NAMES_H
#define DW_ATTACH_PYTHON_THREAD_NAMES_H

#include "attach/python/py_dict.h"
#include "base/buffer.h"

/* What `threading` calls the main thread; used before it is imported, too. */
#define DW_MAIN_THREAD_NAME "MainThread"

/* The threads of one interpreter, read once for all that are named at about one moment, and where
 * they were found. Zero-initialised: nothing was read. */
struct dw_thread_names {
    uint64_t active;                    /* the dict that was read; 0: none */
    struct dw_py_integer_items threads; /* Thread objects, by ident */
    uint64_t module_at, active_at, name_at;
};

/* Threads may have come or ended: the next name is looked up in a fresh list. */
void dw_thread_names_renew(struct dw_thread_names *names);
void dw_thread_names_release(struct dw_thread_names *names);

/* The dict of the interpreter's threads. DW_ERR_EMPTY when `threading` is not imported. */
int dw_py_named_threads(const struct dw_python *python, struct dw_thread_names *names,
                        uint64_t interpreter, uint64_t *active);
/* Appends the name. DW_ERR_EMPTY when `threading` does not know the thread, as with those
 * that C code has started. */
int dw_py_thread_name(const struct dw_python *python, struct dw_thread_names *names,
                      uint64_t active, uint64_t ident, struct dw_buffer *utf8);

#endif
