/* SPDX-License-Identifier: MIT
 * Objects of a Python in another process: types, strings, bytes, integers. All of it may be
 * freed while we read, so lengths are bounded and nothing is believed. */
#ifndef DW_ATTACH_PYTHON_PY_OBJECT_H
#define DW_ATTACH_PYTHON_PY_OBJECT_H

#include "attach/python/python_runtime.h"
#include "base/buffer.h"

enum { /* bits of tp_flags that say what a type derives from */
       DW_PY_INLINE_VALUES = 1 << 2,
       DW_PY_MANAGED_DICT = 1 << 4,
       DW_PY_LONG = 1 << 24,
       DW_PY_LIST = 1 << 25,
       DW_PY_TUPLE = 1 << 26,
       DW_PY_BYTES = 1 << 27,
       DW_PY_STRING = 1 << 28,
       DW_PY_DICT = 1 << 29,
};

#define DW_PY_TYPE_NAME_BYTES 128
#define DW_PY_TYPE_AT 8 /* ob_type, in every object of a build with a GIL */

struct dw_py_type {
    uint64_t address;
    uint64_t flags;
    char name[DW_PY_TYPE_NAME_BYTES]; /* may be cut */
};

int dw_py_type_of(const struct dw_python *python, uint64_t object, struct dw_py_type *type);
/* Whether the type is the one of that name and not merely derived from it. */
bool dw_py_type_is(const struct dw_py_type *type, const char *name);

/* A field that counts items; DW_ERR_DAMAGED when it cannot be one. */
int dw_py_count_at(const struct dw_python *python, uint64_t address, uint64_t *count);

/* What the state of a str says: how wide its characters are, and where they stand. */
struct dw_py_string_form {
    unsigned width; /* in bytes */
    bool is_compact, is_ascii;
};
struct dw_py_string_form dw_py_string_form(uint32_t state);
/* Appends the first max_length characters as UTF-8, lone surrogates as U+FFFD; *cut says that
 * there are more. The object must be a str. */
int dw_py_string_read(const struct dw_python *python, uint64_t object, uint64_t max_length,
                      struct dw_buffer *utf8, bool *cut);
/* Likewise the bytes of a bytes object. */
int dw_py_bytes_read(const struct dw_python *python, uint64_t object, uint64_t max_size,
                     struct dw_buffer *bytes, bool *cut);

#define DW_PY_MAX_DIGITS 4 /* of 30 bits */

struct dw_py_integer {
    bool negative;
    uint64_t digit_count; /* of the number; the digits are there when it fits */
    uint32_t digits[DW_PY_MAX_DIGITS];
};
/* The sign and the number of digits from what an int has at long_tag. */
void dw_py_integer_split(const struct dw_py_offsets *offsets, uint64_t tag,
                         struct dw_py_integer *integer);
int dw_py_integer_read(const struct dw_python *python, uint64_t object,
                       struct dw_py_integer *integer);

#endif
