/* SPDX-License-Identifier: MIT
 * Looking things up in dicts and instances of another process, without running its code. */
#ifndef DW_ATTACH_PYTHON_PY_DICT_H
#define DW_ATTACH_PYTHON_PY_DICT_H

#include "attach/python/python_runtime.h"

/* Finds the value's address. `at` is the entry where it was found last, at first any: if it is
 * still there, the others are not read. DW_ERR_EMPTY when there is no such key. */
int dw_py_dict_find(const struct dw_python *python, uint64_t dict, const char *key, uint64_t *at,
                    uint64_t *value);
/* An attribute that the instance itself has, not its class; likewise. */
int dw_py_attribute(const struct dw_python *python, uint64_t object, const char *name, uint64_t *at,
                    uint64_t *value);

struct dw_py_integer_item {
    uint64_t key, value; /* the address of the value */
};

struct dw_py_integer_items {
    struct dw_py_integer_item *items; /* owned */
    uint32_t count, capacity;
};

/* Adds all items whose keys are integers of 0 to 60 bits. */
int dw_py_dict_read_integers(const struct dw_python *python, uint64_t dict,
                             struct dw_py_integer_items *items);

#endif
