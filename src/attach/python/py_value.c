/* SPDX-License-Identifier: MIT
 * Types are known by the flags of their base type, or by name. A value of a derived type is shown
 * as one of its base type: its own repr() would have to run. */
#include "attach/python/py_value.h"

#include "attach/python/py_object.h"
#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGIT_BITS 30
#define MAX_INTEGER_DIGITS 40 /* decimal digits of 120 bits */

static void put_u128(struct dw_out *out, unsigned __int128 value)
{
    char digits[MAX_INTEGER_DIGITS];
    char *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value);
    dw_out_write(out, at, (size_t)(digits + sizeof digits - at));
}

static int put_integer(const struct dw_python *python, uint64_t object,
                       const struct dw_py_type *type, struct dw_out *out)
{
    struct dw_py_integer integer;
    unsigned __int128 value = 0;
    int error = dw_py_integer_read(python, object, &integer);
    if (error)
        return error;
    if (dw_py_type_is(type, "bool")) {
        dw_out_text(out, integer.digits[0] ? "True" : "False");
        return 0;
    }
    if (integer.digit_count > DW_PY_MAX_DIGITS) {
        dw_out_printf(out, "<int of about %" PRIu64 " bits>", integer.digit_count * DIGIT_BITS);
        return 0;
    }
    for (int i = DW_PY_MAX_DIGITS; i--;)
        value = value << DIGIT_BITS | integer.digits[i];
    if (integer.negative)
        dw_out_char(out, '-');
    put_u128(out, value);
    return 0;
}

/* As few digits as bring the same number back, and an exponent only where Python writes one. */
static int put_float(const struct dw_python *python, uint64_t object, struct dw_out *out)
{
    double value;
    char text[40];
    int error =
        dw_target_read(python->target, object + python->offsets.float_value, &value, sizeof value);
    if (error)
        return error;
    bool plain = fabs(value) >= 1e-4 && fabs(value) < 1e16;
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value && !(plain && strchr(text, 'e')))
            break;
    }
    dw_out_text(out, text);
    if (isfinite(value) && !strpbrk(text, ".e"))
        dw_out_text(out, ".0");
    return 0;
}

static int put_string(const struct dw_python *python, uint64_t object, struct dw_out *out)
{
    struct dw_buffer utf8 = {0};
    bool cut = false;
    int error = dw_py_string_read(python, object, DW_PY_VALUE_LENGTH, &utf8, &cut);
    if (!error) {
        dw_out_char(out, '\'');
        dw_out_printable(out, utf8.data, utf8.size);
        dw_out_text(out, cut ? "'..." : "'");
    }
    dw_buffer_release(&utf8);
    return error;
}

static int put_bytes(const struct dw_python *python, uint64_t object, struct dw_out *out)
{
    struct dw_buffer bytes = {0};
    bool cut = false;
    int error = dw_py_bytes_read(python, object, DW_PY_VALUE_LENGTH, &bytes, &cut);
    if (!error)
        dw_out_text(out, "b'");
    for (size_t i = 0; !error && i < bytes.size; i++) {
        bool plain = bytes.data[i] >= 0x20 && bytes.data[i] < 0x7f;
        dw_out_printf(out, plain ? "%c" : "\\x%02x", bytes.data[i]);
    }
    if (!error)
        dw_out_text(out, cut ? "'..." : "'");
    dw_buffer_release(&bytes);
    return error;
}

static int put_count(const struct dw_python *python, uint64_t address,
                     const struct dw_py_type *type, struct dw_out *out)
{
    uint64_t count;
    int error = dw_py_count_at(python, address, &count);
    if (error)
        return error;
    dw_out_char(out, '<');
    dw_out_printable(out, type->name, strlen(type->name));
    dw_out_printf(out, " of %" PRIu64 ">", count);
    return 0;
}

static int put_other(const struct dw_py_type *type, struct dw_out *out)
{
    if (dw_py_type_is(type, "NoneType")) {
        dw_out_text(out, "None");
        return 0;
    }
    dw_out_char(out, '<');
    dw_out_printable(out, type->name, strlen(type->name));
    dw_out_text(out, " object>");
    return 0;
}

static int put_value(const struct dw_python *python, uint64_t object, struct dw_out *out)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    int error = dw_py_type_of(python, object, &type);
    if (error)
        return error;
    if (type.flags & DW_PY_LONG)
        return put_integer(python, object, &type, out);
    if (type.flags & DW_PY_STRING)
        return put_string(python, object, out);
    if (type.flags & DW_PY_BYTES)
        return put_bytes(python, object, out);
    if (type.flags & DW_PY_LIST)
        return put_count(python, object + offsets->list_size, &type, out);
    if (type.flags & DW_PY_TUPLE)
        return put_count(python, object + offsets->tuple_size, &type, out);
    if (type.flags & DW_PY_DICT)
        return put_count(python, object + offsets->dict_size, &type, out);
    if (dw_py_type_is(&type, "set") || dw_py_type_is(&type, "frozenset"))
        return put_count(python, object + offsets->set_size, &type, out);
    if (dw_py_type_is(&type, "float"))
        return put_float(python, object, out);
    return put_other(&type, out);
}

void dw_py_value_put(const struct dw_python *python, uint64_t object, struct dw_out *out)
{
    if (put_value(python, object, out))
        dw_out_text(out, "<?>");
}
