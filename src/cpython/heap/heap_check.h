/* SPDX-License-Identifier: MIT
 * Whether the Python that runs keeps its objects as the one that dwell was built with. A release
 * may move a field, and a walk over the heap would then read what is none. */
#ifndef DW_CPYTHON_HEAP_CHECK_H
#define DW_CPYTHON_HEAP_CHECK_H

/* With the GIL, without an exception. NULL, or why the heap is left alone; asked once. */
const char *dw_py_heap_refusal(void);

#endif
