/* SPDX-License-Identifier: MIT
 * Looking things up in dicts and instances of another process, without running its code. */
#ifndef DW_ATTACH_PY_DICT_H
#define DW_ATTACH_PY_DICT_H

#include "attach/python_runtime.h"

/* The value's address. DW_ERR_EMPTY when there is no such key; keys of other types than the
 * one asked for are passed over. */
int dw_py_dict_find_text(const struct dw_python *python, uint64_t dict, const char *key,
                         uint64_t *value);
int dw_py_dict_find_integer(const struct dw_python *python, uint64_t dict, uint64_t key,
                            uint64_t *value);
/* An attribute that the instance itself has, not its class. */
int dw_py_attribute(const struct dw_python *python, uint64_t object, const char *name,
                    uint64_t *value);

#endif
