/* SPDX-License-Identifier: MIT
 * Where CPython's structures have their fields, in bytes, for reading them from outside.
 * 3.13 and later say most of it themselves (_Py_DebugOffsets, the first member of
 * _PyRuntime); the rest, and 3.11 and 3.12, are in a table that was measured. */
#ifndef DW_ATTACH_PYTHON_PYTHON_OFFSETS_H
#define DW_ATTACH_PYTHON_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DW_PYTHON_OLDEST 11 /* the minor versions of Python 3 that can be read */
#define DW_PYTHON_NEWEST 15

/* How an instance holds the values of its attributes. */
enum dw_py_instances {
    DW_PY_VALUES_BEFORE, /* 3.11: two pointers before the object: values, dict */
    DW_PY_VALUES_TAGGED, /* 3.12: one pointer before it, odd when it is the values */
    DW_PY_VALUES_INLINE, /* 3.13 and later: after the object, unless there is a dict */
};

struct dw_py_offsets {
    uint32_t runtime_interpreters;
    uint32_t interpreter_size, interpreter_id, interpreter_next, interpreter_threads,
        interpreter_modules;
    uint32_t interpreter_gil; /* a pointer to the GIL; 0: it is in the runtime */
    uint32_t runtime_gil;
    uint32_t interpreter_gc, gc_size, gc_collecting; /* the garbage collector's state */
    uint32_t gil_locked, gil_holder;
    uint32_t thread_size, thread_next, thread_interpreter, thread_ident, thread_native_id;
    uint32_t thread_frame; /* the frame, or a cframe that has it at cframe_frame */
    uint32_t cframe_frame;
    bool has_cframe;
    uint32_t frame_size, frame_previous, frame_code, frame_instruction, frame_owner, frame_locals;
    uint32_t frame_saved;  /* where a frame keeps its stack while it does not run by itself */
    bool saved_is_pointer; /* 3.14 and later: a pointer or NULL; before, an int or -1 */
    uint32_t frame_entry;  /* 3.11: a byte, whether C code called the frame; 0: shim frames tell */
    uint32_t code_size, code_filename, code_qualname, code_linetable, code_first_line,
        code_local_count, code_local_names, code_local_kinds, code_first_traceable, code_bytecode;
    uint32_t type_name, type_flags, type_basic_size, type_dict_offset, type_cached_keys;
    uint32_t tuple_items, tuple_size, list_size, set_size;
    uint32_t dict_size, dict_keys, dict_values;
    uint32_t dict_values_items;
    uint32_t float_value, bytes_size, bytes_data, long_tag, long_digits;
    bool long_is_sized; /* 3.11: long_tag is the number of digits with the sign */
    uint32_t string_state, string_length, string_ascii_data, string_data;
    enum dw_py_instances instances;
};

#define DW_PY_DEBUG_HEAD_BYTES 24 /* cookie, version, free_threaded */
#define DW_PY_DEBUG_MAX_BYTES 888 /* the largest table of the supported versions */

/* The version that the head of a table states, as Py_Version has it; 0 when it is not a table. */
uint32_t dw_py_debug_version(const uint8_t head[DW_PY_DEBUG_HEAD_BYTES], bool *free_threaded);
/* How many bytes the table has in a minor version; 0 when there is none. */
size_t dw_py_debug_size(unsigned minor);
/* The offsets of 3.minor; `table` is what dw_py_debug_size says, from the process. Impossible
 * offsets are DW_ERR_DAMAGED, versions that were not measured DW_ERR_PYTHON_VERSION. */
int dw_py_offsets_init(unsigned minor, const uint8_t *table, struct dw_py_offsets *offsets);

#endif
