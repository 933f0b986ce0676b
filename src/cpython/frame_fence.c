/* SPDX-License-Identifier: MIT
 * A frame that is entered has no frame object, and a frame object has no fence when it is made. So
 * the fence is gone when the frame is. It is a bit of f_trace_lines: any but 0 means true there. */
#include "cpython/frame_fence.h"

_Atomic uint32_t dw_py_fences;

static void fence_thread(PyThreadState *thread)
{
    PyFrameObject *frame = PyThreadState_GetFrame(thread);
    while (frame) {
        if (frame->f_trace_lines)
            frame->f_trace_lines |= DW_PY_FENCE;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
}

void dw_py_fence_frames(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter);
    for (; thread; thread = PyThreadState_Next(thread))
        if (thread->datastack_chunk) /* else it has run nothing, and may not be whole yet */
            fence_thread(thread);
    atomic_fetch_add(&dw_py_fences, 1);
    PyErr_Restore(type, value, traceback);
}
