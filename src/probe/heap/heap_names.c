/* SPDX-License-Identifier: MIT
 * PyUnicode_AsUTF8 would leave a copy in the string, so the heap would not be as it was. */
#include "probe/heap/heap_names.h"

int dw_heap_name(struct dw_string_table *names, PyObject *text, dw_string_id *id)
{
    *id = 0;
    if (!text || !PyUnicode_Check(text))
        return 0;
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    PyErr_Clear();
    int error = bytes ? dw_string_intern(names, PyBytes_AS_STRING(bytes),
                                         (size_t)PyBytes_GET_SIZE(bytes), id)
                      : 0;
    Py_XDECREF(bytes);
    return error;
}

static int static_name(struct dw_string_table *names, const char *name, dw_string_id *module,
                       dw_string_id *id)
{
    const char *dot = strrchr(name, '.');
    int error = dot ? dw_string_intern(names, name, (size_t)(dot - name), module)
                    : dw_string_intern(names, "builtins", strlen("builtins"), module);
    name = dot ? dot + 1 : name;
    return error ? error : dw_string_intern(names, name, strlen(name), id);
}

int dw_heap_type_name(struct dw_string_table *names, PyTypeObject *type, dw_string_id *module,
                      dw_string_id *name)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return static_name(names, type->tp_name, module, name);
    PyObject *home = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "__module__") : NULL;
    int error = dw_heap_name(names, home, module);
    return error ? error : dw_heap_name(names, ((PyHeapTypeObject *)type)->ht_qualname, name);
}

PyObject *dw_heap_text(const struct dw_string_table *names, dw_string_id id)
{
    const struct dw_string *text = &names->strings[id];
    return PyUnicode_DecodeUTF8(text->bytes, (Py_ssize_t)text->size, "surrogateescape");
}
