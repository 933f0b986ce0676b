/* SPDX-License-Identifier: MIT
 * Sizes are bounded before anything is copied, and strings become UTF-8 that is valid, whatever the
 * memory holds. */
#include "attach/python/py_object.h"

#include "base/error.h"

#include <string.h>

#define MAX_COUNT ((uint64_t)1 << 48)

/* A name may end right before memory that is not mapped. */
static void read_name(const struct dw_python *python, uint64_t address, struct dw_py_type *type)
{
    size_t size = dw_target_read_most(python->target, address, type->name, sizeof type->name - 1);
    type->name[size] = 0;
}

int dw_py_type_of(const struct dw_python *python, uint64_t object, struct dw_py_type *type)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t name;
    int error = object % 8
                    ? DW_ERR_DAMAGED
                    : dw_target_read_u64(python->target, object + DW_PY_TYPE_AT, &type->address);
    if (!error)
        error =
            dw_target_read_u64(python->target, type->address + offsets->type_flags, &type->flags);
    if (!error)
        error = dw_target_read_u64(python->target, type->address + offsets->type_name, &name);
    if (!error)
        read_name(python, name, type);
    return error;
}

bool dw_py_type_is(const struct dw_py_type *type, const char *name)
{
    return !strcmp(type->name, name);
}

int dw_py_count_at(const struct dw_python *python, uint64_t address, uint64_t *count)
{
    uint64_t found;
    int error = dw_target_read_u64(python->target, address, &found);
    if (!error && found > MAX_COUNT)
        error = DW_ERR_DAMAGED;
    if (!error)
        *count = found;
    return error;
}

static void put_utf8(struct dw_buffer *utf8, uint32_t c)
{
    uint8_t bytes[4];
    size_t size = 0;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x80) {
        bytes[size++] = (uint8_t)c;
    } else if (c < 0x800) {
        bytes[size++] = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        bytes[size++] = (uint8_t)(0xe0 | c >> 12);
        bytes[size++] = (uint8_t)(0x80 | (c >> 6 & 63));
    } else {
        bytes[size++] = (uint8_t)(0xf0 | c >> 18);
        bytes[size++] = (uint8_t)(0x80 | (c >> 12 & 63));
        bytes[size++] = (uint8_t)(0x80 | (c >> 6 & 63));
    }
    if (c >= 0x80)
        bytes[size++] = (uint8_t)(0x80 | (c & 63));
    dw_buffer_append(utf8, bytes, size);
}

static void put_characters(struct dw_buffer *utf8, const uint8_t *at, uint64_t count, unsigned kind)
{
    for (; count; count--, at += kind) {
        uint32_t c = 0;
        memcpy(&c, at, kind);
        put_utf8(utf8, c);
    }
}

/* How it is interned comes first: in 2 bits, but in 16 of the first releases of 3.14. The width is
 * never 0. */
struct dw_py_string_form dw_py_string_form(uint32_t state)
{
    uint32_t bits = state >> 2 & 7 ? state >> 2 : state >> 16;
    return (struct dw_py_string_form){bits & 7, bits >> 3 & 1, bits >> 4 & 1};
}

/* `kind` is the width of a character; strings that are not stored with their object are not
 * read. */
static int read_shape(const struct dw_python *python, uint64_t object, uint64_t *data,
                      uint64_t *length, unsigned *kind)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint32_t state;
    int error = dw_py_count_at(python, object + offsets->string_length, length);
    if (!error)
        error =
            dw_target_read(python->target, object + offsets->string_state, &state, sizeof state);
    if (error)
        return error;
    struct dw_py_string_form form = dw_py_string_form(state);
    *kind = form.width;
    *data = object + (form.is_ascii ? offsets->string_ascii_data : offsets->string_data);
    return form.is_compact && (*kind == 1 || *kind == 2 || *kind == 4) ? 0 : DW_ERR_DAMAGED;
}

int dw_py_string_read(const struct dw_python *python, uint64_t object, uint64_t max_length,
                      struct dw_buffer *utf8, bool *cut)
{
    struct dw_py_type type;
    uint64_t data, length;
    unsigned kind;
    uint8_t block[1024];
    int error = dw_py_type_of(python, object, &type);
    if (!error && !(type.flags & DW_PY_STRING))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = read_shape(python, object, &data, &length, &kind);
    if (error)
        return error;
    *cut = length > max_length;
    for (uint64_t left = *cut ? max_length : length; left && !error;) {
        uint64_t part = left < sizeof block / 4 ? left : sizeof block / 4;
        error = dw_target_read(python->target, data, block, part * kind);
        if (!error)
            put_characters(utf8, block, part, kind);
        data += part * kind;
        left -= part;
    }
    return error;
}

int dw_py_bytes_read(const struct dw_python *python, uint64_t object, uint64_t max_size,
                     struct dw_buffer *bytes, bool *cut)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    uint64_t size;
    int error = dw_py_type_of(python, object, &type);
    if (!error && !(type.flags & DW_PY_BYTES))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = dw_py_count_at(python, object + offsets->bytes_size, &size);
    if (error)
        return error;
    *cut = size > max_size;
    size = *cut ? max_size : size;
    uint8_t *room = dw_buffer_reserve(bytes, size);
    if (!room)
        return DW_ERR_MEMORY;
    error = dw_target_read(python->target, object + offsets->bytes_data, room, size);
    if (!error)
        bytes->size += size;
    return error;
}

/* 3.11 has the sign in the number of digits; later versions have a word with the number in
 * the upper bits and the sign (0 positive, 1 zero, 2 negative) in the lowest two. */
void dw_py_integer_split(const struct dw_py_offsets *offsets, uint64_t tag,
                         struct dw_py_integer *integer)
{
    if (offsets->long_is_sized) {
        integer->negative = (int64_t)tag < 0;
        integer->digit_count = integer->negative ? -tag : tag;
    } else {
        integer->negative = (tag & 3) == 2;
        integer->digit_count = (tag & 3) == 1 ? 0 : tag >> 3;
    }
}

int dw_py_integer_read(const struct dw_python *python, uint64_t object,
                       struct dw_py_integer *integer)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_integer found = {0};
    uint64_t tag;
    int error = dw_target_read_u64(python->target, object + offsets->long_tag, &tag);
    if (error)
        return error;
    dw_py_integer_split(offsets, tag, &found);
    if (found.digit_count > MAX_COUNT)
        return DW_ERR_DAMAGED;
    if (found.digit_count && found.digit_count <= DW_PY_MAX_DIGITS)
        error = dw_target_read(python->target, object + offsets->long_digits, found.digits,
                               found.digit_count * sizeof *found.digits);
    if (!error)
        *integer = found;
    return error;
}
