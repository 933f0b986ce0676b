/* SPDX-License-Identifier: MIT
 * CPython 3.11. Py_BUILD_CORE_MODULE is defined by the build: the headers
 * below are the interpreter's own. */
#ifndef DW_CPYTHON_V311_LAYOUT_H
#define DW_CPYTHON_V311_LAYOUT_H

#include <Python.h>

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

/* The thread that calls and has the GIL; NULL: it may have it or not. */
#define DW_PY_THREAD_WITH_GIL() ((PyThreadState *)NULL)
#define DW_PY_CURRENT_FRAME(thread) ((thread)->cframe->current_frame)
#define DW_PY_FRAME_CODE(frame) ((frame)->f_code)
#define DW_PY_FRAME_GENERATOR(frame) _PyFrame_GetGenerator(frame)
#define DW_PY_CODE_VERSION(code) ((void)(code), 0u)
#define DW_PY_FRAME_LOCAL(frame, index) ((frame)->localsplus[index])

#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra

/* Later versions have builds without a GIL. */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }

/* What a sampler needs. A call of the interpreter's loop has a cframe on the C stack; here its
 * outermost frame says so itself. */
#define DW_PY_HAS_CFRAMES 1
#define DW_PY_FRAME_IS_SHIM(frame) ((void)(frame), false)
#define DW_PY_FRAME_IS_ENTRY(frame) ((frame)->is_entry)
#define DW_PY_FRAME_INSTRUCTION(frame) ((frame)->prev_instr)
#define DW_PY_GIL(thread) ((void)(thread), &_PyRuntime.ceval.gil)
#define DW_PY_GIL_HOLDER(gil) ((PyThreadState *)(gil)->last_holder._value)
#define DW_PY_GIL_LOCKED(gil) ((gil)->locked._value)

/* What a walk over the heap needs: the values of an instance's attributes while it has no
 * dictionary, else NULL. The type has Py_TPFLAGS_MANAGED_DICT. */
#define DW_PY_FRAME_FUNCTION(frame) ((PyObject *)(frame)->f_func)
#define DW_PY_INLINE_VALUES(object)                                                                \
    (*_PyObject_ValuesPointer(object) ? (*_PyObject_ValuesPointer(object))->values : NULL)
#define DW_PY_DICT_BESIDE_VALUES(object) ((void)(object), (PyObject *)NULL)
#define DW_PY_IS_IMMORTAL(object) ((void)(object), false)

/* The runtime does not state its offsets, and there are no more releases that could move them. */
#define DW_PY_STATES_OFFSETS 0
#define DW_PY_IS_FREE_THREADED 0

#endif
