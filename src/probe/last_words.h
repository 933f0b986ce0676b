/* SPDX-License-Identifier: MIT
 * Completes the logs when a signal ends the program, which then ends by that signal as it would
 * without us. docs/decisions/0011-last-words.md has the reasons. */
#ifndef DW_PROBE_LAST_WORDS_H
#define DW_PROBE_LAST_WORDS_H

#include <Python.h>

#include <signal.h>
#include <stdbool.h>

#define DW_LAST_THREAD "dwell-last" /* the name of the thread that writes then */

/* Watches the signals that end a program and that this one leaves at their default. The functions
 * in the list, or NULL, are called with the GIL, after the recorder and the sampler have written
 * theirs. 0, or an error with errno. Main thread, once. */
int dw_last_words_start(PyObject *flushes);
void dw_last_words_stop(void);
/* In a forked child: watches on. */
void dw_last_words_continue(void);

/* Watches a signal that was set to its default just now. */
void dw_last_words_watch(long number);
/* Whether the signal, if it came now, would be the end. */
bool dw_last_words_are_due(long number);
/* Calls those functions. */
void dw_last_words_flush(void);

/* Around work with a lock that the last words need too: a signal that comes to this thread
 * meanwhile waits until it is done. */
void dw_last_words_hold(sigset_t *before);
void dw_last_words_let_go(const sigset_t *before);

/* Whether the thread exists and has no name yet. */
bool dw_last_words_are_starting(void);

/* last_words_module.c: functions of dwell._core. */
PyObject *dw_last_words_py_start(PyObject *module, PyObject *flush);
PyObject *dw_last_words_py_stop(PyObject *module, PyObject *unused);
PyObject *dw_last_words_py_continue(PyObject *module, PyObject *unused);

#endif
