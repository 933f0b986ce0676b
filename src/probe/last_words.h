/* SPDX-License-Identifier: MIT
 * Completes the logs when a signal ends the program, which then ends by that signal as it would
 * without us. docs/decisions/0011-last-words.md has the reasons. */
#ifndef DW_PROBE_LAST_WORDS_H
#define DW_PROBE_LAST_WORDS_H

#include <Python.h>

#include <signal.h>
#include <stdbool.h>

#define DW_LAST_THREAD "dwell-last" /* the name of the thread that writes then */

/* Watches the signals that end a program and that this one leaves at their default. `needs_gil`:
 * some probe needs the GIL to write, after the others have written theirs. 0, or an error with
 * errno. Main thread, once. */
int dw_last_words_start(bool needs_gil);
void dw_last_words_stop(void);

/* Watches a signal that was set to its default just now. */
void dw_last_words_watch(long number);
/* Whether the signal, if it came now, would be the end. */
bool dw_last_words_are_due(long number);
/* Around work with a lock that the last words need too: a signal that comes to this thread
 * meanwhile waits until it is done. */
void dw_last_words_hold(sigset_t *before);
void dw_last_words_let_go(const sigset_t *before);

/* Whether the thread exists and has no name yet. */
bool dw_last_words_are_starting(void);

/* last_words_module.c: functions of dwell._core. */
PyObject *dw_last_words_py_start(PyObject *module, PyObject *needs_gil);
PyObject *dw_last_words_py_stop(PyObject *module, PyObject *unused);

#endif
