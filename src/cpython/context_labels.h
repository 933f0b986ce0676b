/* SPDX-License-Identifier: MIT
 * The labels that are current in a thread: the value of one context variable, which dwell makes.
 * Python carries it across `await`, tasks and copies of contexts; here it is found in a thread's
 * context by reading memory only. */
#ifndef DW_CPYTHON_CONTEXT_LABELS_H
#define DW_CPYTHON_CONTEXT_LABELS_H

#include "layout.h"

#include <internal/pycore_context.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What every value of the variable begins with. */
struct dw_py_labels {
    PyObject_HEAD _Atomic uint32_t id; /* of the label set */
};

/* Makes the variable, once; `type` is that of all its values, without subclasses. Then reads
 * contexts that are known, to see whether it can. 0, or -1 with an exception. */
int dw_py_labels_init(PyTypeObject *type);
/* NULL, or why contexts cannot be read; then the functions below that read them give 0. */
const char *dw_py_labels_problem(void);

/* The value in the current context, or NULL; borrowed, as long as the context keeps it. *is_own:
 * no other context has it, nor has a copy that was made of this one. */
struct dw_py_labels *dw_py_labels_get(bool *is_own);
/* 0, or -1 with an exception. */
int dw_py_labels_set(struct dw_py_labels *value);
/* Gives another id to a value that is the context's own. */
static inline void dw_py_labels_change(struct dw_py_labels *value, uint32_t id);

/* The labels of the calling thread, which may be interrupted anywhere and need not hold the GIL;
 * 0: none. The thread state is the one that a sample is taken of. [signal-safe] */
uint32_t dw_py_labels_own(const PyThreadState *thread);
/* The labels of a thread that sleeps, and may wake up or end while it is read. What is found is
 * right when the thread did not run meanwhile. [signal-safe] */
uint32_t dw_py_labels_of_sleeper(const PyThreadState *thread);

/* What dw_py_labels_now() saw last in a thread; zero-initialised, one for each thread. It holds no
 * reference: contexts keep objects of the program alive, and those must die when they would. */
struct dw_py_labels_seen {
    uint64_t thread, version, changes;
    const void *vars;
    uint32_t id;
};

extern _Atomic bool dw_py_labels_are_used;
/* How often the calling thread has put a value into its context. */
extern __thread uint64_t dw_py_labels_changes __attribute__((tls_model("initial-exec")));

static inline void dw_py_labels_change(struct dw_py_labels *value, uint32_t id)
{
    atomic_store_explicit(&value->id, id, memory_order_relaxed);
    dw_py_labels_changes++;
}

uint32_t dw_py_labels_look(const PyThreadState *thread, struct dw_py_labels_seen *seen);

/* For a thread's own hot paths: dw_py_labels_own(), without a search when nothing has changed. */
static inline uint32_t dw_py_labels_now(const PyThreadState *thread, struct dw_py_labels_seen *seen)
{
    if (!atomic_load_explicit(&dw_py_labels_are_used, memory_order_relaxed))
        return 0;
    const PyContext *context = (const PyContext *)thread->context;
    if (seen->vars == (context ? context->ctx_vars : NULL) &&
        seen->version == thread->context_ver && seen->changes == dw_py_labels_changes &&
        seen->thread == thread->id)
        return seen->id;
    return dw_py_labels_look(thread, seen);
}

#endif
