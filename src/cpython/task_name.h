/* SPDX-License-Identifier: MIT
 * The asyncio task that a function of the event loop runs, found by reading memory only: from a
 * handle of the loop over its callback to the task. Where things are in these objects is learned
 * from a task that is shown to us, since their layouts are asyncio's own. */
#ifndef DW_CPYTHON_TASK_NAME_H
#define DW_CPYTHON_TASK_NAME_H

#include "cpython/frame.h"

#include <stdint.h>

#define DW_TASK_CHARS 96

/* As Python keeps texts: `width` bytes a character. */
struct dw_py_task_name {
    uint32_t length, width;
    bool is_given; /* by the program. Else it is the name of the coroutine's function. */
    uint8_t bytes[4 * DW_TASK_CHARS];
};

/* Copies memory of this process; false when it is not there. */
typedef bool dw_py_copier(void *to, const void *address, size_t size);

/* `task` has that name and coroutine, and `step` is what the loop is to call for it. 0, or -1 with
 * an exception when asyncio is not laid out as expected. Needs the GIL. */
int dw_py_tasks_learn(PyObject *handle_type, PyObject *task, PyObject *name, PyObject *coroutine,
                      PyObject *step);
bool dw_py_tasks_are_known(void);
/* The handle that the function runs, if it is the event loop's function that runs handles.
 * [signal-safe] */
PyObject *dw_py_frame_handle(dw_py_frame *frame, const PyCodeObject *code);
/* False when the handle is not, or no longer, a task's. [signal-safe] */
bool dw_py_task_name(PyObject *handle, dw_py_copier *copy, struct dw_py_task_name *name);

#endif
