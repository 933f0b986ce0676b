/* SPDX-License-Identifier: MIT
 * CPython 3.13. Py_BUILD_CORE_MODULE is defined by the build: the headers
 * below are the interpreter's own. */
#ifndef DW_CPYTHON_V313_LAYOUT_H
#define DW_CPYTHON_V313_LAYOUT_H

#include <Python.h>

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

/* The thread that calls, when it has the GIL; else NULL. */
#define DW_PY_THREAD_WITH_GIL() PyThreadState_GetUnchecked()
#define DW_PY_CURRENT_FRAME(thread) ((thread)->current_frame)
/* CPython asserts that it is a code object; in a frame that changes while it is read it may not
 * be. */
#define DW_PY_FRAME_CODE(frame) ((PyCodeObject *)(frame)->f_executable)
#define DW_PY_FRAME_GENERATOR(frame) _PyFrame_GetGenerator(frame)
#define DW_PY_CODE_VERSION(code) ((code)->co_version)
#define DW_PY_FRAME_LOCAL(frame, index) ((frame)->localsplus[index])

/* What a sampler needs. A call of the interpreter's loop has a frame on the C stack below its
 * first one. */
#define DW_PY_HAS_CFRAMES 0
#define DW_PY_FRAME_IS_SHIM(frame) ((frame)->owner >= FRAME_OWNED_BY_CSTACK)
#define DW_PY_FRAME_IS_ENTRY(frame) ((void)(frame), false)
#define DW_PY_FRAME_INSTRUCTION(frame) ((frame)->instr_ptr)
#define DW_PY_GIL(thread) ((thread)->interp->ceval.gil)
#define DW_PY_GIL_HOLDER(gil) ((gil)->last_holder)
#define DW_PY_GIL_LOCKED(gil) ((gil)->locked)

/* What a walk over the heap needs: the values of an instance's attributes while it has no
 * dictionary, else NULL. The type has Py_TPFLAGS_MANAGED_DICT. */
#define DW_PY_FRAME_FUNCTION(frame) ((frame)->f_funcobj)
#define DW_PY_INLINE_VALUES(object)                                                                \
    (Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES && _PyObject_InlineValues(object)->valid \
         ? _PyObject_InlineValues(object)->values                                                  \
         : NULL)
/* The dictionary that shows the values, which are still in the instance; else NULL. */
#define DW_PY_DICT_BESIDE_VALUES(object)                                                           \
    (DW_PY_INLINE_VALUES(object) ? (PyObject *)_PyObject_GetManagedDict(object) : NULL)
#define DW_PY_IS_IMMORTAL(object) _Py_IsImmortal(object)

/* What the runtime states of its own fields, in _Py_DebugOffsets. */
#define DW_PY_STATES_OFFSETS 1
#define DW_PY_STATED(group, field) (_PyRuntime.debug_offsets.group.field)
#ifdef Py_GIL_DISABLED
#define DW_PY_IS_FREE_THREADED 1
#else
#define DW_PY_IS_FREE_THREADED 0
#endif

#endif
