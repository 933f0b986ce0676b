/* SPDX-License-Identifier: MIT
 * Strings and bytes that there are several of. They are told apart by hashes of 64 bits, so their
 * values need not be kept. */
#ifndef DW_PROBE_HEAP_DUPLICATES_H
#define DW_PROBE_HEAP_DUPLICATES_H

#include "probe/heap/heap_walk.h"

#include <Python.h>

/* Appends (node, how many there are, bytes of all but one) for each; -1 with an exception. */
int dw_heap_put_duplicates(const struct dw_heap *heap, PyObject *rows);

#endif
