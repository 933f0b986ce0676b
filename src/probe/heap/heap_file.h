/* SPDX-License-Identifier: MIT
 * Pictures of the heap into logs and back, for Python. */
#ifndef DW_PROBE_HEAP_FILE_H
#define DW_PROBE_HEAP_FILE_H

#include "probe/heap/heap_snapshot.h"

/* Writes a picture into the recording of that file, or a new file of its own. With the GIL; steps
 * of ways get names from what is still there. None, or NULL with an exception. */
PyObject *dw_heap_save(struct dw_heap_snapshot *snapshot, const char *path, const char *reason);
/* heap_load(path): for each picture in the file, in order: a HeapSnapshot, the time in nanoseconds
 * of the wall clock, why it was taken and the id of the process. */
PyObject *dw_heap_py_load(PyObject *module, PyObject *path);

#endif
