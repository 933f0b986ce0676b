/* SPDX-License-Identifier: MIT
 * threading._active maps idents to Thread objects, whose _name it is. */
#include "attach/thread_names.h"

#include "attach/py_dict.h"
#include "attach/py_object.h"

#define MODULE_DICT_AT 16 /* of PyModuleObject */
#define MAX_NAME_LENGTH 256

int dw_py_named_threads(const struct dw_python *python, uint64_t interpreter, uint64_t *active)
{
    uint64_t modules, module, dict;
    int error = dw_target_read_u64(python->target,
                                   interpreter + python->offsets.interpreter_modules, &modules);
    if (!error)
        error = dw_py_dict_find_text(python, modules, "threading", &module);
    if (!error)
        error = dw_target_read_u64(python->target, module + MODULE_DICT_AT, &dict);
    return error ? error : dw_py_dict_find_text(python, dict, "_active", active);
}

int dw_py_thread_name(const struct dw_python *python, uint64_t active, uint64_t ident,
                      struct dw_buffer *utf8)
{
    uint64_t thread, name;
    bool cut;
    int error = dw_py_dict_find_integer(python, active, ident, &thread);
    if (!error)
        error = dw_py_attribute(python, thread, "_name", &name);
    return error ? error : dw_py_string_read(python, name, MAX_NAME_LENGTH, utf8, &cut);
}
