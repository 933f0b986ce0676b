/* SPDX-License-Identifier: MIT
 * Containers, functions and instances are known by their types. Slots, and what types written in C
 * tell of themselves, are in the members of the type. */
#include "cpython/heap/heap_references.h"

#include "cpython/heap/heap_edges.h"
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

static void visit_code(const PyCodeObject *code, const struct visitor *visitor)
{
    visit_attribute(visitor, code->co_consts, "co_consts");
    visit_attribute(visitor, code->co_names, "co_names");
    visit_attribute(visitor, code->co_filename, "co_filename");
    visit_attribute(visitor, code->co_name, "co_name");
    visit_attribute(visitor, code->co_qualname, "co_qualname");
    visit_attribute(visitor, code->co_linetable, "co_linetable");
    visit_attribute(visitor, code->co_exceptiontable, "co_exceptiontable");
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
    else if (PyCode_Check(holder))
        visit_code((const PyCodeObject *)holder, &visitor);
    visit_inline_values(holder, &visitor);
    visit_members(holder, &visitor);
    if (PyType_Check(holder))
        visit_attribute(&visitor, ((PyTypeObject *)holder)->tp_dict, "__dict__");
}

static bool has_dict(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return type->tp_dictoffset || type->tp_flags & Py_TPFLAGS_MANAGED_DICT;
}

bool dw_py_reference_by_type(PyObject *holder, uintptr_t held, uintptr_t held_type,
                             struct dw_py_reference *how)
{
    *how = (struct dw_py_reference){.kind = DW_PY_REFERENCE_ATTRIBUTE};
    if (PyAnySet_Check(holder))
        how->kind = DW_PY_REFERENCE_ELEMENT;
    else if (held == (uintptr_t)Py_TYPE(holder))
        how->attribute = "__class__";
    else if (held_type == (uintptr_t)&PyDict_Type && has_dict(holder))
        how->attribute = "__dict__";
    else
        return false;
    return true;
}

struct search {
    PyObject *held;
    struct dw_py_reference *how;
    bool is_found;
};

static void find(PyObject *held, const struct dw_py_reference *how, void *argument)
{
    struct search *search = argument;
    if (held != search->held || search->is_found)
        return;
    *search->how = *how;
    search->is_found = true;
}

static bool is_base(PyObject *array, PyObject *held)
{
    struct dw_py_edge_kind kind;
    dw_py_edge_kind_of(Py_TYPE(array), &kind);
    PyObject *base = kind.base ? kind.base->get(array, kind.base->closure) : NULL;
    PyErr_Clear();
    Py_XDECREF(base);
    return base && base == held;
}

bool dw_py_reference_between(PyObject *holder, PyObject *held, struct dw_py_reference *how)
{
    struct search search = {held, how, false};
    dw_py_references(holder, find, &search);
    if (search.is_found ||
        dw_py_reference_by_type(holder, (uintptr_t)held, (uintptr_t)Py_TYPE(held), how))
        return true;
    *how = (struct dw_py_reference){.kind = DW_PY_REFERENCE_ATTRIBUTE, .attribute = "base"};
    return is_base(holder, held);
}
