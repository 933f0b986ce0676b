/* SPDX-License-Identifier: MIT
 * Containers, functions and instances are known by their types. Slots, and what types written in C
 * tell of themselves, are in the members of the type. */
#include "cpython/heap/heap_references.h"

#include "layout.h"

#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#include <structmember.h>

#define MEMBER_IS_RELATIVE 8

struct visitor {
    dw_py_reference_visit *visit;
    void *argument;
};

static void visit_attribute(const struct visitor *visitor, PyObject *held, const char *attribute)
{
    struct dw_py_reference how = {.kind = DW_PY_REFERENCE_ATTRIBUTE, .attribute = attribute};
    if (held)
        visitor->visit(held, &how, visitor->argument);
}

static void visit_dict(PyObject *dict, const struct visitor *visitor)
{
    static const struct dw_py_reference as_key = {.kind = DW_PY_REFERENCE_AS_KEY};
    struct dw_py_reference how = {.kind = DW_PY_REFERENCE_KEY};
    Py_ssize_t at = 0;
    PyObject *value;
    while (PyDict_Next(dict, &at, &how.name, &value)) {
        visitor->visit(value, &how, visitor->argument);
        visitor->visit(how.name, &as_key, visitor->argument);
    }
}

static void visit_items(PyObject *const *items, Py_ssize_t count, const struct visitor *visitor)
{
    struct dw_py_reference how = {.kind = DW_PY_REFERENCE_INDEX};
    for (; how.index < count; how.index++)
        if (items[how.index])
            visitor->visit(items[how.index], &how, visitor->argument);
}

static void visit_function(PyObject *function, const struct visitor *visitor)
{
    visit_attribute(visitor, PyFunction_GetClosure(function), "__closure__");
    visit_attribute(visitor, PyFunction_GetDefaults(function), "__defaults__");
    visit_attribute(visitor, PyFunction_GetKwDefaults(function), "__kwdefaults__");
    visit_attribute(visitor, PyFunction_GetCode(function), "__code__");
    visit_attribute(visitor, PyFunction_GetGlobals(function), "__globals__");
    visit_attribute(visitor, ((PyFunctionObject *)function)->func_dict, "__dict__");
}

static void visit_members(PyObject *object, const struct visitor *visitor)
{
    for (PyTypeObject *type = Py_TYPE(object); type; type = type->tp_base)
        for (const PyMemberDef *member = type->tp_members; member && member->name; member++) {
            bool is_object = member->type == T_OBJECT || member->type == T_OBJECT_EX;
            if (is_object && !(member->flags & MEMBER_IS_RELATIVE))
                visit_attribute(visitor, *(PyObject **)((char *)object + member->offset),
                                member->name);
        }
}

static void visit_inline_values(PyObject *instance, const struct visitor *visitor)
{
    PyTypeObject *type = Py_TYPE(instance);
    struct dw_py_reference how = {.kind = DW_PY_REFERENCE_ATTRIBUTE};
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT))
        return;
    PyObject *const *values = DW_PY_INLINE_VALUES(instance);
    PyDictKeysObject *keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
    for (Py_ssize_t i = 0; values && keys && i < keys->dk_nentries; i++) {
        how.name = DK_UNICODE_ENTRIES(keys)[i].me_key;
        if (values[i] && how.name)
            visitor->visit(values[i], &how, visitor->argument);
    }
}

void dw_py_references(PyObject *holder, dw_py_reference_visit *visit, void *argument)
{
    const struct visitor visitor = {visit, argument};
    if (PyDict_Check(holder))
        visit_dict(holder, &visitor);
    else if (PyList_Check(holder))
        visit_items(((PyListObject *)holder)->ob_item, PyList_GET_SIZE(holder), &visitor);
    else if (PyTuple_Check(holder))
        visit_items(((PyTupleObject *)holder)->ob_item, PyTuple_GET_SIZE(holder), &visitor);
    else if (PyFunction_Check(holder))
        visit_function(holder, &visitor);
    else if (PyCell_Check(holder))
        visit_attribute(&visitor, PyCell_GET(holder), "cell_contents");
    else if (PyCFunction_Check(holder))
        visit_attribute(&visitor, PyCFunction_GetSelf(holder), "__self__");
    visit_inline_values(holder, &visitor);
    visit_members(holder, &visitor);
    if (PyType_Check(holder))
        visit_attribute(&visitor, ((PyTypeObject *)holder)->tp_dict, "__dict__");
}
