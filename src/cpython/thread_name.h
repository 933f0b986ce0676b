/* SPDX-License-Identifier: MIT
 * The name that Python knows the calling thread by. */
#ifndef DW_CPYTHON_THREAD_NAME_H
#define DW_CPYTHON_THREAD_NAME_H

/* To be freed; NULL for threads that Python did not start. With the GIL. */
char *dw_py_current_thread_name(void);

#endif
