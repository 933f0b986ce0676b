/* SPDX-License-Identifier: MIT
 * threading._active maps idents to Thread objects, whose _name it is. */
#include "attach/python/thread_names.h"

#include "attach/python/py_object.h"
#include "base/error.h"

#include <stdlib.h>

#define MODULE_DICT_AT 16 /* of PyModuleObject */
#define MAX_NAME_LENGTH 256

int dw_py_named_threads(const struct dw_python *python, struct dw_thread_names *names,
                        uint64_t interpreter, uint64_t *active)
{
    uint64_t modules, module, dict;
    int error = dw_target_read_u64(python->target,
                                   interpreter + python->offsets.interpreter_modules, &modules);
    if (!error)
        error = dw_py_dict_find(python, modules, "threading", &names->module_at, &module);
    if (!error)
        error = dw_target_read_u64(python->target, module + MODULE_DICT_AT, &dict);
    return error ? error : dw_py_dict_find(python, dict, "_active", &names->active_at, active);
}

static int by_key(const void *left, const void *right)
{
    uint64_t a = ((const struct dw_py_integer_item *)left)->key;
    uint64_t b = ((const struct dw_py_integer_item *)right)->key;
    return (a > b) - (a < b);
}

/* A dict that could be read in part names some of its threads. */
static int read_active(const struct dw_python *python, struct dw_thread_names *names,
                       uint64_t active)
{
    names->active = active;
    names->threads.count = 0;
    int error = dw_py_dict_read_integers(python, active, &names->threads);
    if (names->threads.count)
        qsort(names->threads.items, names->threads.count, sizeof *names->threads.items, by_key);
    return error == DW_ERR_MEMORY ? error : 0;
}

int dw_py_thread_name(const struct dw_python *python, struct dw_thread_names *names,
                      uint64_t active, uint64_t ident, struct dw_buffer *utf8)
{
    const struct dw_py_integer_item wanted = {.key = ident}, *found;
    uint64_t name;
    bool cut;
    int error = names->active == active ? 0 : read_active(python, names, active);
    if (error || !names->threads.count)
        return error ? error : DW_ERR_EMPTY;
    found = bsearch(&wanted, names->threads.items, names->threads.count, sizeof wanted, by_key);
    if (!found)
        return DW_ERR_EMPTY;
    error = dw_py_attribute(python, found->value, "_name", &names->name_at, &name);
    return error ? error : dw_py_string_read(python, name, MAX_NAME_LENGTH, utf8, &cut);
}

void dw_thread_names_renew(struct dw_thread_names *names)
{
    names->active = 0;
}

void dw_thread_names_release(struct dw_thread_names *names)
{
    free(names->threads.items);
    *names = (struct dw_thread_names){0};
}
