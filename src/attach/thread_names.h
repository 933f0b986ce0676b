/* SPDX-License-Identifier: MIT
 * The names that `threading` knows threads by. */
#ifndef DW_ATTACH_THREAD_NAMES_H
#define DW_ATTACH_THREAD_NAMES_H

#include "attach/python_runtime.h"
#include "base/buffer.h"

/* What `threading` calls the main thread, before it is imported too. */
#define DW_MAIN_THREAD_NAME "MainThread"

/* The dict of the interpreter's threads. DW_ERR_EMPTY when `threading` is not imported. */
int dw_py_named_threads(const struct dw_python *python, uint64_t interpreter, uint64_t *active);
/* Appends the name. DW_ERR_EMPTY when `threading` does not know the thread, as with those
 * that C code has started. */
int dw_py_thread_name(const struct dw_python *python, uint64_t active, uint64_t ident,
                      struct dw_buffer *utf8);

#endif
