/* SPDX-License-Identifier: MIT
 * What a frame of another process runs: function, file and line, and its variables. */
#ifndef DW_ATTACH_PYTHON_PY_CODE_H
#define DW_ATTACH_PYTHON_PY_CODE_H

#include "attach/python/line_number.h"
#include "attach/python/stack.h"
#include "base/buffer.h"

#define DW_PY_MAX_CODE_BYTES 512 /* of the head of a code object; dw_py_offsets_init checks */

/* The head of a code object, and how many bytes its instructions have. */
struct dw_py_code {
    uint64_t address, instruction_bytes;
    uint8_t head[DW_PY_MAX_CODE_BYTES];
};

/* DW_ERR_DAMAGED when the frame's code is not a code object, or its instruction is not in it. */
int dw_py_code_read(const struct dw_python *python, const struct dw_raw_frame *frame,
                    struct dw_py_code *code);
/* False before the function has made its cells, and for frames that call `__init__` on behalf of
 * the interpreter: Python itself shows neither. */
bool dw_py_code_has_begun(const struct dw_python *python, const struct dw_raw_frame *frame,
                          const struct dw_py_code *code);
/* Append the name and the file; a code object freed meanwhile mostly gives DW_ERR_DAMAGED. */
int dw_py_code_name(const struct dw_python *python, const struct dw_py_code *code,
                    struct dw_buffer *utf8);
int dw_py_code_file(const struct dw_python *python, const struct dw_py_code *code,
                    struct dw_buffer *utf8);
/* Where the instruction is in the source. `table` is scratch. */
int dw_py_code_location(const struct dw_python *python, const struct dw_py_code *code,
                        uint64_t instruction, struct dw_buffer *table,
                        struct dw_location *location);

uint32_t dw_py_code_local_count(const struct dw_python *python, const struct dw_py_code *code);
/* Appends the name of a variable and gives the object it holds now, out of its cell when it
 * is in one; 0 when it has no value. */
int dw_py_local_read(const struct dw_python *python, const struct dw_raw_frame *frame,
                     const struct dw_py_code *code, uint32_t index, struct dw_buffer *name,
                     uint64_t *object);

#endif
