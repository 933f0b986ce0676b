/* SPDX-License-Identifier: MIT
 * The table of each version has all offsets but those that its processes state themselves. */
#include "attach/python/python_offsets.h"

#include "attach/python/field.h"
#include "base/error.h"

#define COOKIE "xdebugpy"
#define COOKIE_BYTES 8

/* What no version has changed so far, or what 3.13 and later do not state. */
#define COMMON                                                                                     \
    .type_name = 24, .type_flags = 168, .type_basic_size = 32, .type_dict_offset = 288,            \
    .list_size = 16, .set_size = 24, .dict_size = 16, .dict_keys = 32, .dict_values = 40,          \
    .tuple_size = 16, .tuple_items = 24, .float_value = 16, .bytes_size = 16, .bytes_data = 32,    \
    .long_tag = 16, .long_digits = 24, .string_length = 16, .string_state = 32

#define WITH_OWN_OFFSETS                                                                           \
    COMMON, .code_local_count = 72, .dict_values_items = 8, .instances = DW_PY_VALUES_INLINE,      \
            .string_data = 56

static const struct dw_py_offsets tables[] = {
    [11] = {COMMON,
            .runtime_interpreters = 40,
            .interpreter_size = 896,
            .interpreter_id = 48,
            .interpreter_threads = 16,
            .interpreter_modules = 888,
            .interpreter_gc = 648,
            .gc_size = 240,
            .gc_collecting = 200,
            .runtime_gil = 360,
            .gil_locked = 16,
            .gil_holder = 8,
            .thread_size = 360,
            .thread_next = 8,
            .thread_interpreter = 16,
            .thread_ident = 152,
            .thread_native_id = 160,
            .thread_frame = 56,
            .cframe_frame = 8,
            .has_cframe = true,
            .frame_size = 80,
            .frame_previous = 48,
            .frame_code = 32,
            .frame_instruction = 56,
            .frame_owner = 69,
            .frame_locals = 72,
            .frame_saved = 64,
            .frame_entry = 68,
            .code_size = 184,
            .code_filename = 112,
            .code_qualname = 128,
            .code_linetable = 136,
            .code_first_line = 72,
            .code_local_count = 76,
            .code_local_names = 96,
            .code_local_kinds = 104,
            .code_first_traceable = 168,
            .code_bytecode = 184,
            .type_cached_keys = 872,
            .long_is_sized = true,
            .string_ascii_data = 48,
            .string_data = 72,
            .instances = DW_PY_VALUES_BEFORE},
    [12] = {COMMON,
            .runtime_interpreters = 40,
            .interpreter_size = 1040,
            .interpreter_id = 8,
            .interpreter_threads = 72,
            .interpreter_modules = 944,
            .interpreter_gc = 112,
            .gc_size = 240,
            .gc_collecting = 200,
            .interpreter_gil = 384,
            .gil_locked = 16,
            .gil_holder = 8,
            .thread_size = 288,
            .thread_next = 8,
            .thread_interpreter = 16,
            .thread_ident = 136,
            .thread_native_id = 144,
            .thread_frame = 56,
            .has_cframe = true,
            .frame_size = 80,
            .frame_previous = 8,
            .frame_instruction = 56,
            .frame_owner = 70,
            .frame_locals = 72,
            .frame_saved = 64,
            .code_size = 192,
            .code_filename = 112,
            .code_qualname = 128,
            .code_linetable = 136,
            .code_first_line = 68,
            .code_local_count = 72,
            .code_local_names = 96,
            .code_local_kinds = 104,
            .code_first_traceable = 176,
            .code_bytecode = 192,
            .type_cached_keys = 880,
            .string_ascii_data = 40,
            .string_data = 56,
            .instances = DW_PY_VALUES_TAGGED},
    [13] = {WITH_OWN_OFFSETS, .code_first_traceable = 184, .type_cached_keys = 880,
            .frame_saved = 64},
    [14] = {WITH_OWN_OFFSETS, .code_first_traceable = 192, .type_cached_keys = 880,
            .saved_is_pointer = true},
    [15] = {WITH_OWN_OFFSETS, .code_first_traceable = 192, .type_cached_keys = 888,
            .saved_is_pointer = true},
};

static const size_t debug_sizes[] = {[13] = 584, [14] = 760, [15] = 888};

/* A field of our structure and where the tables of 3.13, 3.14 and 3.15 have it: not at the same
 * place, since fields were put in the middle. The structure that it is an offset into is not larger
 * than `limit`, so most wrong tables are refused. */
struct debug_field {
    uint16_t to;
    uint16_t at[3];
    uint32_t limit;
};

#define FIELD(name, v313, v314, v315, limit)                                                       \
    {                                                                                              \
        offsetof(struct dw_py_offsets, name), {v313, v314, v315}, limit                            \
    }
#define NOT_STATED 0 /* it is in our own table */
#define RUNTIME_LIMIT (4u << 20)
#define STRUCT_LIMIT 8192u
#define SMALL_LIMIT 512u

static const struct debug_field debug_fields[] = {
    FIELD(runtime_interpreters, 40, 40, 40, RUNTIME_LIMIT),
    FIELD(interpreter_size, 48, 48, 48, RUNTIME_LIMIT),
    FIELD(interpreter_id, 56, 56, 56, RUNTIME_LIMIT),
    FIELD(interpreter_next, 64, 64, 64, RUNTIME_LIMIT),
    FIELD(interpreter_threads, 72, 72, 72, RUNTIME_LIMIT),
    FIELD(interpreter_modules, 88, 96, 96, RUNTIME_LIMIT),
    FIELD(interpreter_gc, 80, 88, 88, RUNTIME_LIMIT),
    FIELD(gc_size, 568, 648, 752, STRUCT_LIMIT),
    FIELD(gc_collecting, 576, 656, 760, STRUCT_LIMIT),
    FIELD(interpreter_gil, 112, 120, 120, RUNTIME_LIMIT),
    FIELD(gil_locked, 136, 144, 144, RUNTIME_LIMIT),
    FIELD(gil_holder, 144, 152, 152, RUNTIME_LIMIT),
    FIELD(thread_size, 152, 176, 176, STRUCT_LIMIT),
    FIELD(thread_next, 168, 192, 192, STRUCT_LIMIT),
    FIELD(thread_interpreter, 176, 200, 200, STRUCT_LIMIT),
    FIELD(thread_frame, 184, 208, 208, STRUCT_LIMIT),
    FIELD(thread_ident, 192, 216, 240, STRUCT_LIMIT),
    FIELD(thread_native_id, 200, 224, 248, STRUCT_LIMIT),
    FIELD(frame_size, 224, 248, 312, SMALL_LIMIT),
    FIELD(frame_previous, 232, 256, 320, SMALL_LIMIT),
    FIELD(frame_code, 240, 264, 328, SMALL_LIMIT),
    FIELD(frame_instruction, 248, 272, 336, SMALL_LIMIT),
    FIELD(frame_locals, 256, 280, 344, SMALL_LIMIT),
    FIELD(frame_owner, 264, 288, 352, SMALL_LIMIT),
    FIELD(frame_saved, NOT_STATED, 296, 360, SMALL_LIMIT),
    FIELD(code_size, 272, 312, 376, SMALL_LIMIT),
    FIELD(code_filename, 280, 320, 384, SMALL_LIMIT),
    FIELD(code_qualname, 296, 336, 400, SMALL_LIMIT),
    FIELD(code_linetable, 304, 344, 408, SMALL_LIMIT),
    FIELD(code_first_line, 312, 352, 416, SMALL_LIMIT),
    FIELD(code_local_names, 328, 368, 432, SMALL_LIMIT),
    FIELD(code_local_kinds, 336, 376, 440, SMALL_LIMIT),
    FIELD(code_bytecode, 344, 384, 448, SMALL_LIMIT),
    FIELD(type_name, 376, 424, 488, SMALL_LIMIT),
    FIELD(type_flags, 392, 440, 504, SMALL_LIMIT),
    FIELD(tuple_items, 408, 456, 552, SMALL_LIMIT),
    FIELD(tuple_size, 416, 464, 560, SMALL_LIMIT),
    FIELD(list_size, 440, 488, 584, SMALL_LIMIT),
    FIELD(dict_keys, 456, 536, 632, SMALL_LIMIT),
    FIELD(dict_values, 464, 544, 640, SMALL_LIMIT),
    FIELD(float_value, 480, 560, 656, SMALL_LIMIT),
    FIELD(long_tag, 496, 576, 672, SMALL_LIMIT),
    FIELD(long_digits, 504, 584, 680, SMALL_LIMIT),
    FIELD(bytes_size, 520, 600, 696, SMALL_LIMIT),
    FIELD(bytes_data, 528, 608, 704, SMALL_LIMIT),
    FIELD(string_state, 544, 624, 720, SMALL_LIMIT),
    FIELD(string_length, 552, 632, 728, SMALL_LIMIT),
    FIELD(string_ascii_data, 560, 640, 736, SMALL_LIMIT),
};

uint32_t dw_py_debug_version(const uint8_t head[DW_PY_DEBUG_HEAD_BYTES], bool *free_threaded)
{
    if (memcmp(head, COOKIE, COOKIE_BYTES) != 0)
        return 0;
    *free_threaded = dw_u64_at(head, 16) != 0;
    return (uint32_t)dw_u64_at(head, 8);
}

size_t dw_py_debug_size(unsigned minor)
{
    return minor < sizeof debug_sizes / sizeof *debug_sizes ? debug_sizes[minor] : 0;
}

static bool are_inside(uint32_t size, const uint32_t *fields, size_t count, uint32_t width)
{
    for (size_t i = 0; i < count; i++)
        if (size < width || fields[i] > size - width)
            return false;
    return true;
}

#define ARE_INSIDE(size, width, ...)                                                               \
    are_inside(size, (const uint32_t[]){__VA_ARGS__},                                              \
               sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), width)

/* Readers copy whole structures and look fields up in the copy: they must be inside. */
static bool are_sane(const struct dw_py_offsets *o)
{
    return ARE_INSIDE(o->interpreter_size, 8, o->interpreter_id, o->interpreter_next,
                      o->interpreter_threads, o->interpreter_modules, o->interpreter_gil) &&
           ARE_INSIDE(o->thread_size, 8, o->thread_next, o->thread_interpreter, o->thread_ident,
                      o->thread_native_id, o->thread_frame) &&
           ARE_INSIDE(o->frame_size, 8, o->frame_previous, o->frame_code, o->frame_instruction,
                      o->frame_locals) &&
           ARE_INSIDE(o->frame_size, o->saved_is_pointer ? 8 : 4, o->frame_saved) &&
           ARE_INSIDE(o->frame_size, 1, o->frame_owner, o->frame_entry) &&
           ARE_INSIDE(o->code_bytecode, 8, o->code_filename, o->code_qualname, o->code_linetable,
                      o->code_local_names, o->code_local_kinds) &&
           ARE_INSIDE(o->code_bytecode, 4, o->code_first_line, o->code_local_count,
                      o->code_first_traceable) &&
           o->code_bytecode <= SMALL_LIMIT && o->frame_size <= SMALL_LIMIT;
}

static int read_debug_fields(unsigned minor, const uint8_t *table, struct dw_py_offsets *offsets)
{
    for (size_t i = 0; i < sizeof debug_fields / sizeof *debug_fields; i++) {
        const struct debug_field *field = &debug_fields[i];
        if (field->at[minor - 13] == NOT_STATED)
            continue;
        uint64_t value = dw_u64_at(table, field->at[minor - 13]);
        if (value >= field->limit)
            return DW_ERR_DAMAGED;
        memcpy((char *)offsets + field->to, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
    }
    /* Stated from the start of the interpreter, which has a GIL inside; ours are the GIL's. */
    uint64_t gil = dw_u64_at(table, minor == 13 ? 120 : 128);
    if (gil > offsets->gil_locked || gil > offsets->gil_holder)
        return DW_ERR_DAMAGED;
    offsets->gil_locked -= (uint32_t)gil;
    offsets->gil_holder -= (uint32_t)gil;
    return 0;
}

int dw_py_offsets_init(unsigned minor, const uint8_t *table, struct dw_py_offsets *offsets)
{
    if (minor < DW_PYTHON_OLDEST || minor > DW_PYTHON_NEWEST)
        return DW_ERR_PYTHON_VERSION;
    struct dw_py_offsets found = tables[minor];
    int error = dw_py_debug_size(minor) ? read_debug_fields(minor, table, &found) : 0;
    if (!error && !are_sane(&found))
        error = DW_ERR_DAMAGED;
    if (!error)
        *offsets = found;
    return error;
}
