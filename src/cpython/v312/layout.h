/* SPDX-License-Identifier: MIT
 * CPython 3.12. Py_BUILD_CORE_MODULE is defined by the build: the headers
 * below are the interpreter's own. */
#ifndef DW_CPYTHON_LAYOUT_H
#define DW_CPYTHON_LAYOUT_H

#include <Python.h>

#include <internal/pycore_frame.h>

#define DW_PY_CURRENT_FRAME(thread) ((thread)->cframe->current_frame)
#define DW_PY_FRAME_CODE(frame) ((frame)->f_code)
#define DW_PY_FRAME_GENERATOR(frame) _PyFrame_GetGenerator(frame)
#define DW_PY_FRAME_LOCAL(frame, index) ((frame)->localsplus[index])

#endif
