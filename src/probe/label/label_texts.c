/* SPDX-License-Identifier: MIT
 * Keys are identifiers, and none of the words by which rows are told apart anyway. */
#include "probe/label/label_texts.h"

#include "probe/region/region.h"

#include <stdbool.h>

/* What reports group by already, under these names. */
static const char *const reserved[] = {"host", "process", "region", "task", "thread"};

static bool is_reserved(PyObject *key)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!PyUnicode_CompareWithASCIIString(key, reserved[i]))
            return true;
    return false;
}

static PyObject *key_bytes(PyObject *key)
{
    if (!PyUnicode_IsIdentifier(key)) {
        PyErr_Format(PyExc_ValueError, "the name of a label must be an identifier, not %R", key);
        return NULL;
    }
    if (is_reserved(key)) {
        PyErr_Format(PyExc_ValueError,
                     "%R cannot be the name of a label: dwell itself tells things apart by %U", key,
                     key);
        return NULL;
    }
    return dw_region_name_bytes(key);
}

static PyObject *value_bytes(PyObject *value)
{
    PyObject *text = PyObject_Str(value);
    PyObject *bytes = text ? dw_region_name_bytes(text) : NULL;
    Py_XDECREF(text);
    return bytes;
}

PyObject *dw_label_texts_new(PyObject *keys, PyObject *const *values)
{
    Py_ssize_t count = PyTuple_GET_SIZE(keys);
    PyObject *texts = PyTuple_New(2 * count);
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        PyObject *key = key_bytes(PyTuple_GET_ITEM(keys, i));
        PyObject *value = key ? value_bytes(values[i]) : NULL;
        PyTuple_SET_ITEM(texts, 2 * i, key);
        PyTuple_SET_ITEM(texts, 2 * i + 1, value);
        if (!value)
            Py_CLEAR(texts);
    }
    return texts;
}

static int put(PyObject *dict, struct dw_string key, struct dw_string value)
{
    PyObject *name = PyUnicode_DecodeUTF8(key.bytes, (Py_ssize_t)key.size, "surrogateescape");
    PyObject *text = PyUnicode_DecodeUTF8(value.bytes, (Py_ssize_t)value.size, "surrogateescape");
    int error = name && text ? PyDict_SetItem(dict, name, text) : -1;
    Py_XDECREF(name);
    Py_XDECREF(text);
    return error;
}

static struct dw_string string_of(PyObject *bytes)
{
    return (struct dw_string){PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)};
}

PyObject *dw_label_texts_dict(PyObject *texts)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyTuple_GET_SIZE(texts); i += 2)
        if (put(dict, string_of(PyTuple_GET_ITEM(texts, i)),
                string_of(PyTuple_GET_ITEM(texts, i + 1))))
            Py_CLEAR(dict);
    return dict;
}

PyObject *dw_label_set_dict(const struct dw_labels *set)
{
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < set->count; i++)
        if (put(dict, set->labels[i].key, set->labels[i].value))
            Py_CLEAR(dict);
    return dict;
}
