/* SPDX-License-Identifier: MIT
 * Announces threads of `threading` as they begin, in the new thread itself, where the interpreter
 * has a way to do so that the program does not notice. */
#ifndef DW_CPYTHON_THREAD_BIRTHS_H
#define DW_CPYTHON_THREAD_BIRTHS_H

#include <stddef.h>

/* Called with the GIL. The name is valid during the call. */
typedef void dw_py_thread_born(const char *name, size_t size);

/* For threads that begin from now on; with the GIL, no exception is set or lost. */
void dw_py_births_watch(dw_py_thread_born *born);
void dw_py_births_unwatch(void);

#endif
