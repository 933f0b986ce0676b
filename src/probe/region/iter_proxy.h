/* SPDX-License-Identifier: MIT
 * An iterator whose every next() is an entry of a region. */
#ifndef DW_PROBE_REGION_ITER_PROXY_H
#define DW_PROBE_REGION_ITER_PROXY_H

#include <Python.h>

int dw_iter_proxy_init(void);
/* A new reference; `region` is a dwell._core.Region. */
PyObject *dw_iter_proxy_new(PyObject *iterable, PyObject *region);

#endif
