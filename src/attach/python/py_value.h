/* SPDX-License-Identifier: MIT
 * Values of another process as short text. Nothing of its code is run, so only values of
 * the basic types show what they are; others show their type. */
#ifndef DW_ATTACH_PYTHON_PY_VALUE_H
#define DW_ATTACH_PYTHON_PY_VALUE_H

#include "attach/python/python_runtime.h"
#include "base/out.h"

#define DW_PY_VALUE_LENGTH 80 /* characters of a str, bytes of a bytes */

/* Puts one line of valid UTF-8; "<?>" when the value changed while it was read. */
void dw_py_value_put(const struct dw_python *python, uint64_t object, struct dw_out *out);

#endif
