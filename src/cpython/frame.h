/* SPDX-License-Identifier: MIT
 * Python frames as the probes need them, without making frame objects. What
 * differs between versions is in the layout.h that the build chooses. */
#ifndef DW_CPYTHON_FRAME_H
#define DW_CPYTHON_FRAME_H

#include "layout.h"

#include <internal/pycore_code.h>

#include <stdbool.h>

typedef _PyInterpreterFrame dw_py_frame;

static inline PyCodeObject *dw_py_frame_code(dw_py_frame *frame)
{
    return DW_PY_FRAME_CODE(frame);
}

/* Skips frames that are the interpreter's own, or not begun yet. */
static inline dw_py_frame *dw_py_frame_complete(dw_py_frame *frame)
{
    while (frame && _PyFrame_IsIncomplete(frame))
        frame = frame->previous;
    return frame;
}

/* The frame that runs now; NULL when the thread runs no Python code. */
static inline dw_py_frame *dw_py_frame_now(void)
{
    return dw_py_frame_complete(DW_PY_CURRENT_FRAME(PyThreadState_Get()));
}

/* The frame that called or resumed it; NULL at the bottom. */
static inline dw_py_frame *dw_py_frame_previous(dw_py_frame *frame)
{
    return dw_py_frame_complete(frame->previous);
}

/* Offset of the instruction that runs, in bytes: with the code object, the call site. */
static inline int dw_py_frame_offset(dw_py_frame *frame)
{
    return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}

/* The generator, coroutine or async generator that the frame belongs to, or NULL; borrowed. */
static inline PyObject *dw_py_frame_generator(dw_py_frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR ? (PyObject *)DW_PY_FRAME_GENERATOR(frame)
                                                    : NULL;
}

/* How many arguments a call has, *args and **kwargs one each; they are its first variables. */
static inline int dw_py_code_arguments(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
           !!(code->co_flags & CO_VARKEYWORDS);
}

/* The value that an argument has now, or NULL; borrowed. Those shared with inner functions
 * are in cells from the start of the function on. */
static inline PyObject *dw_py_frame_argument(dw_py_frame *frame, const PyCodeObject *code,
                                             int index)
{
    PyObject *value = DW_PY_FRAME_LOCAL(frame, index);
    if (value && Py_IS_TYPE(value, &PyCell_Type) &&
        PyBytes_AS_STRING(code->co_localspluskinds)[index] & CO_FAST_CELL)
        value = PyCell_GET(value);
    return value;
}

static inline bool dw_py_generator_runs(PyObject *generator)
{
    return ((PyGenObject *)generator)->gi_frame_state == FRAME_EXECUTING;
}

#endif
