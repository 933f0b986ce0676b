/* SPDX-License-Identifier: MIT
 * Of keys, numbers and identifiers are told; of others the type. */
#include "probe/heap/heap_reference_text.h"

#include "cpython/heap/heap_references.h"

#include <string.h>

static PyObject *key_text(PyObject *key)
{
    bool is_plain =
        PyLong_CheckExact(key) || (PyUnicode_CheckExact(key) && PyUnicode_IsIdentifier(key));
    const char *type = Py_TYPE(key)->tp_name, *dot = strrchr(type, '.');
    return is_plain ? PyUnicode_FromFormat("[%R]", key)
                    : PyUnicode_FromFormat("[<%s>]", dot ? dot + 1 : type);
}

static PyObject *text_of(const struct dw_py_reference *how)
{
    switch (how->kind) {
    case DW_PY_REFERENCE_KEY: return key_text(how->name);
    case DW_PY_REFERENCE_AS_KEY: return PyUnicode_FromString("{a key}");
    case DW_PY_REFERENCE_ELEMENT: return PyUnicode_FromString("{an element}");
    case DW_PY_REFERENCE_INDEX: return PyUnicode_FromFormat("[%zd]", how->index);
    case DW_PY_REFERENCE_ATTRIBUTE: break;
    }
    return how->attribute ? PyUnicode_FromFormat(".%s", how->attribute)
                          : PyUnicode_FromFormat(".%S", how->name);
}

PyObject *dw_heap_py_reference(PyObject *module, PyObject *arguments)
{
    struct dw_py_reference how;
    PyObject *holder, *held;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &holder, &held))
        return NULL;
    return dw_py_reference_between(holder, held, &how) ? text_of(&how) : PyUnicode_FromString("");
}
