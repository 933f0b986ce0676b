/* SPDX-License-Identifier: MIT
 * Strings, bytes and arrays that there are several of. They are told apart by hashes of 64 bits, so
 * their values need not be kept. */
#ifndef DW_PROBE_HEAP_DUPLICATES_H
#define DW_PROBE_HEAP_DUPLICATES_H

#include "probe/heap/heap_walk.h"

#include <Python.h>

/* The hash of a string, of bytes or of a bytearray; false: the object is none of these. */
bool dw_heap_text_hash(PyObject *object, uint64_t *hash);
/* The hash of an array of NumPy: of its memory, its dtype and its shape. False when the memory is
 * another's, or when it is an array of a class that may be written in Python. */
bool dw_heap_array_hash(PyObject *array, const PyGetSetDef *base, uint64_t *hash);
/* Appends (node, how many there are, bytes of all but one) for each; -1 with an exception. */
int dw_heap_put_duplicates(const struct dw_heap *heap, PyObject *rows);

#endif
