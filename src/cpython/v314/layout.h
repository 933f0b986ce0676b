/* SPDX-License-Identifier: MIT
 * CPython 3.14 and 3.15. Py_BUILD_CORE_MODULE is defined by the build: the headers
 * below are the interpreter's own. */
#ifndef DW_CPYTHON_LAYOUT_H
#define DW_CPYTHON_LAYOUT_H

#include <Python.h>

#include <internal/pycore_frame.h>
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_stackref.h>

#define DW_PY_CURRENT_FRAME(thread) ((thread)->current_frame)
#define DW_PY_FRAME_CODE(frame) _PyFrame_GetCode(frame)
#define DW_PY_FRAME_GENERATOR(frame) _PyGen_GetGeneratorFromFrame(frame)
#define DW_PY_FRAME_LOCAL(frame, index)                                                            \
    (PyStackRef_IsNull((frame)->localsplus[index])                                                 \
         ? NULL                                                                                    \
         : PyStackRef_AsPyObjectBorrow((frame)->localsplus[index]))

#endif
