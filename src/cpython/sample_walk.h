/* SPDX-License-Identifier: MIT
 * The Python stack of the calling thread, from a signal handler that may have interrupted anything:
 * with or without the GIL, even while frames are pushed and popped. Also the stack of another
 * thread, which sleeps and may wake up while it is read. [signal-safe] */
#ifndef DW_CPYTHON_SAMPLE_WALK_H
#define DW_CPYTHON_SAMPLE_WALK_H

#include "cpython/frame.h"

#include <stdint.h>

/* A Python function, or the end of those that one call of the interpreter's loop runs. */
struct dw_py_step {
    PyCodeObject *code; /* NULL: such an end */
    int32_t unit;       /* of the instruction that runs, in code units; -1 before the first */
    uintptr_t boundary; /* an address inside the C frame of that call; 0: not on the C stack */
    PyObject *handle;   /* what an event loop runs in this function; else NULL */
    /* For another thread's function, whose code may be gone, in place of `unit`. */
    uintptr_t frame, instruction;
    uint8_t owner;
};

/* Frames lie side by side, so a page of them is copied at once. */
#define DW_PY_PAGE_BYTES 4096u
struct dw_py_page {
    uintptr_t start; /* 0: none is copied */
    uint8_t bytes[DW_PY_PAGE_BYTES];
};

struct dw_py_walk {
    dw_py_frame *frame;
    const void *call;        /* 3.11 and 3.12: the cframe that the frame belongs to */
    bool entered;            /* 3.11: the end of a call comes before the next frame */
    struct dw_py_page *page; /* of another thread's frames */
    bool broken;             /* something did not check out, so the outermost frames are missing */
};

/* The calling thread's state, also when it does not hold the GIL; NULL when it has none. */
PyThreadState *dw_py_sampled_thread(void);
/* The same, faster, for one that was not interrupted. */
static inline PyThreadState *dw_py_calling_thread(void)
{
    PyThreadState *thread = DW_PY_THREAD_WITH_GIL();
    return thread ? thread : dw_py_sampled_thread();
}
bool dw_py_holds_gil(PyThreadState *thread);
static inline bool dw_py_collects_garbage(const PyThreadState *thread)
{
    return thread->interp->gc.collecting;
}
/* Copies memory that may not be there; false then. It is a system call. */
bool dw_py_read(void *to, const void *address, size_t size);

/* Innermost first. False at the end. */
void dw_py_walk_begin(struct dw_py_walk *walk, PyThreadState *thread);
bool dw_py_walk_next(struct dw_py_walk *walk, struct dw_py_step *step);
/* The same for another thread, by copies of memory that may not be there any more. What is
 * found is right when the thread did not run meanwhile. The page is for the walk to use. */
void dw_py_sleeper_begin(struct dw_py_walk *walk, const PyThreadState *thread,
                         struct dw_py_page *page);
bool dw_py_sleeper_next(struct dw_py_walk *walk, struct dw_py_step *step);

#endif
