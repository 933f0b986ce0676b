/* SPDX-License-Identifier: MIT
 * The head of a code object is read once, and the rest through the pointers in it. The type and the
 * instruction are checked first: the memory may hold something else by now. */
#include "attach/python/py_code.h"

#include "attach/python/field.h"
#include "attach/python/py_object.h"
#include "base/error.h"

#define SIZE_AT 16 /* ob_size: how many code units */
#define UNIT_BYTES 2
#define OWNED_BY_GENERATOR 1
#define MAX_UNITS ((uint64_t)1 << 30)
#define MAX_NAME_LENGTH 1024
#define MAX_PATH_LENGTH 4096
#define MAX_LINE_TABLE_BYTES (16u << 20)
#define MAX_LOCALS 4096
#define CELL_VALUE_AT 16
#define KIND_CELL 0x40
#define KIND_FREE 0x80

/* A frame that has not begun is one unit before its code in 3.11 and 3.12. */
static bool is_in_code(const struct dw_py_code *code, uint64_t first, uint64_t instruction)
{
    return instruction % UNIT_BYTES == 0 && instruction >= first - UNIT_BYTES &&
           instruction < first + code->instruction_bytes;
}

int dw_py_code_read(const struct dw_python *python, const struct dw_raw_frame *frame,
                    struct dw_py_code *code)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    int error = dw_py_type_of(python, frame->code, &type);
    if (!error && !dw_py_type_is(&type, "code"))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = dw_target_read(python->target, frame->code, code->head, offsets->code_bytecode);
    if (error)
        return error;
    uint64_t units = dw_u64_at(code->head, SIZE_AT);
    code->address = frame->code;
    code->instruction_bytes = units * UNIT_BYTES;
    if (units > MAX_UNITS ||
        !is_in_code(code, frame->code + offsets->code_bytecode, frame->instruction))
        return DW_ERR_DAMAGED;
    return 0;
}

bool dw_py_code_has_begun(const struct dw_python *python, const struct dw_raw_frame *frame,
                          const struct dw_py_code *code)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t units = dw_u32_at(code->head, offsets->code_first_traceable);
    return frame->owner == OWNED_BY_GENERATOR ||
           frame->instruction >= frame->code + offsets->code_bytecode + units * UNIT_BYTES;
}

int dw_py_code_name(const struct dw_python *python, const struct dw_py_code *code,
                    struct dw_buffer *utf8)
{
    bool cut;
    return dw_py_string_read(python, dw_u64_at(code->head, python->offsets.code_qualname),
                             MAX_NAME_LENGTH, utf8, &cut);
}

int dw_py_code_file(const struct dw_python *python, const struct dw_py_code *code,
                    struct dw_buffer *utf8)
{
    bool cut;
    return dw_py_string_read(python, dw_u64_at(code->head, python->offsets.code_filename),
                             MAX_PATH_LENGTH, utf8, &cut);
}

int dw_py_code_location(const struct dw_python *python, const struct dw_py_code *code,
                        uint64_t instruction, struct dw_buffer *table, struct dw_location *location)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    bool cut;
    dw_buffer_restart(table);
    int error = dw_py_bytes_read(python, dw_u64_at(code->head, offsets->code_linetable),
                                 MAX_LINE_TABLE_BYTES, table, &cut);
    if (error)
        return error;
    int64_t offset = (int64_t)(instruction - code->address - offsets->code_bytecode);
    *location =
        dw_location_find(table->data, table->size, dw_u32_at(code->head, offsets->code_first_line),
                         offset < 0 ? -1 : offset / UNIT_BYTES);
    return 0;
}

uint32_t dw_py_code_local_count(const struct dw_python *python, const struct dw_py_code *code)
{
    uint32_t count = dw_u32_at(code->head, python->offsets.code_local_count);
    return count < MAX_LOCALS ? count : MAX_LOCALS;
}

static int read_local_name(const struct dw_python *python, const struct dw_py_code *code,
                           uint32_t index, struct dw_buffer *utf8)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t names = dw_u64_at(code->head, offsets->code_local_names), count, name;
    bool cut;
    int error = dw_py_count_at(python, names + offsets->tuple_size, &count);
    if (!error && index >= count)
        error = DW_ERR_DAMAGED;
    if (!error)
        error =
            dw_target_read_u64(python->target, names + offsets->tuple_items + 8ull * index, &name);
    return error ? error : dw_py_string_read(python, name, MAX_NAME_LENGTH, utf8, &cut);
}

/* The object in the cell, if the variable is shared with inner functions and has one by now:
 * arguments get their cells only when the function begins. */
static int look_into_cell(const struct dw_python *python, const struct dw_py_code *code,
                          uint32_t index, uint64_t *object)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    uint8_t kind;
    int error = dw_target_read(python->target,
                               dw_u64_at(code->head, offsets->code_local_kinds) +
                                   offsets->bytes_data + index,
                               &kind, sizeof kind);
    if (error || !*object || !(kind & (KIND_CELL | KIND_FREE)))
        return error;
    error = dw_py_type_of(python, *object, &type);
    if (!error && dw_py_type_is(&type, "cell"))
        error = dw_target_read_u64(python->target, *object + CELL_VALUE_AT, object);
    return error;
}

int dw_py_local_read(const struct dw_python *python, const struct dw_raw_frame *frame,
                     const struct dw_py_code *code, uint32_t index, struct dw_buffer *name,
                     uint64_t *object)
{
    uint64_t found;
    int error = dw_target_read_u64(
        python->target, frame->address + python->offsets.frame_locals + 8ull * index, &found);
    if (error)
        return error;
    found = dw_py_untagged(found);
    error = look_into_cell(python, code, index, &found);
    if (!error)
        error = read_local_name(python, code, index, name);
    if (!error)
        *object = found;
    return error;
}
