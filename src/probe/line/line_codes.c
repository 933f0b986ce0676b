/* SPDX-License-Identifier: MIT
 * The functions of a lines profile: which code they are, which lines they have, and
 * what they call. A code object finds its functions through its extra slot. */
#include "probe/line/line_probe.h"

#include "base/grow.h"
#include "cpython/code_lines.h"
#include "cpython/line_events.h"
#include "probe/call/calls.h"

#include <string.h>

#define LINES_MAX (1u << 20) /* of a function; generated code may have more, which are lost */

static Py_ssize_t extra_index = -1; /* of the first function, in code objects */

int dw_line_codes_init(void)
{
    extra_index = PyUnstable_Eval_RequestCodeExtraIndex(NULL);
    if (extra_index >= 0)
        return 0;
    PyErr_SetString(PyExc_ImportError, "dwell: the interpreter has no room for another profiler");
    return -1;
}

struct dw_line_code *dw_line_codes_of(PyCodeObject *code)
{
    void *first = NULL;
    PyUnstable_Code_GetExtra((PyObject *)code, extra_index, &first);
    return first;
}

struct dw_line_code *dw_line_code_in(struct dw_line_profile *profile, PyCodeObject *code)
{
    struct dw_line_code *function = dw_line_codes_of(code);
    while (function && function->profile != profile)
        function = function->next_of_code;
    return function;
}

static int link_function(struct dw_line_code *function)
{
    function->next_of_code = dw_line_codes_of(function->code);
    if (function->next_of_code)
        function->is_shared = function->next_of_code->is_shared = true;
    return PyUnstable_Code_SetExtra((PyObject *)function->code, extra_index, function);
}

static void unlink_function(struct dw_line_code *function)
{
    struct dw_line_code *first = dw_line_codes_of(function->code), **link = &first;
    while (*link && *link != function)
        link = &(*link)->next_of_code;
    if (*link)
        *link = function->next_of_code;
    PyUnstable_Code_SetExtra((PyObject *)function->code, extra_index, first);
}

/* A new function of the code, not in the profile's list yet; NULL with an exception. */
static struct dw_line_code *new_function(struct dw_line_profile *profile, PyCodeObject *code,
                                         unsigned watch)
{
    struct dw_line_code *function = calloc(1, sizeof *function);
    if (!function ||
        DW_GROW(profile->functions, profile->function_count, profile->function_capacity)) {
        free(function);
        PyErr_NoMemory();
        return NULL;
    }
    *function = (struct dw_line_code){
        .profile = profile,
        .code = (PyCodeObject *)Py_NewRef(code),
        .outermost = function,
        .watch = watch,
        .callee = {.key = code, .owner = (PyObject *)code},
    };
    return function;
}

static void free_code(struct dw_line_code *function)
{
    Py_DECREF(function->code);
    free(function->kinds);
    free(function);
}

static int keep(struct dw_line_profile *profile, struct dw_line_code *function)
{
    if (link_function(function)) {
        free_code(function);
        return -1;
    }
    function->index = profile->function_count;
    profile->functions[profile->function_count++] = function;
    return profile->enable_count ? dw_line_codes_watch(profile) : 0;
}

/* Lambdas and comprehensions, which have no name of their own. */
static bool is_anonymous(const PyCodeObject *code)
{
    return PyUnicode_READ_CHAR(code->co_name, 0) == '<' &&
           PyUnicode_CompareWithASCIIString(code->co_name, "<module>") != 0;
}

struct extent {
    uint32_t first, last;
};

static void widen(void *context, uint32_t line)
{
    struct extent *extent = context;
    if (line < extent->first)
        extent->first = line;
    if (line > extent->last)
        extent->last = line;
}

typedef int visit_code(PyCodeObject *code, void *context);

/* Calls for all anonymous code inside, at any depth. */
static int each_inner(const PyCodeObject *code, visit_code *visit, void *context)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyCodeObject *inner = (PyCodeObject *)PyTuple_GET_ITEM(code->co_consts, i);
        if (!PyCode_Check(inner) || !is_anonymous(inner))
            continue;
        if (visit(inner, context) || each_inner(inner, visit, context))
            return -1;
    }
    return 0;
}

static int widen_by_inner(PyCodeObject *code, void *context)
{
    return dw_py_code_lines(code, widen, context);
}

static void mark_own(void *context, uint32_t line)
{
    struct dw_line_code *function = context;
    if (line - function->first_line < function->line_count)
        function->kinds[line - function->first_line] |= DW_LINE_OF_FUNCTION;
}

static int make_lines(struct dw_line_code *function)
{
    struct extent extent = {UINT32_MAX, 0};
    if (dw_py_code_lines(function->code, widen, &extent) ||
        each_inner(function->code, widen_by_inner, &extent))
        return -1;
    if (extent.first > extent.last)
        return 0; /* it has no line at all */
    function->first_line = extent.first;
    function->line_count = extent.last - extent.first + 1;
    if (function->line_count > LINES_MAX)
        function->line_count = LINES_MAX;
    function->kinds = calloc(function->line_count, sizeof *function->kinds);
    if (function->kinds)
        return dw_py_code_lines(function->code, mark_own, function);
    PyErr_NoMemory();
    return -1;
}

struct inner_lines {
    struct dw_line_code *outermost;
    bool any; /* a line that the function itself does not have */
};

static void mark_inner(void *context, uint32_t line)
{
    struct inner_lines *inner = context;
    if (line - inner->outermost->first_line >= inner->outermost->line_count)
        return;
    uint8_t *kind = &inner->outermost->kinds[line - inner->outermost->first_line];
    *kind |= DW_LINE_OF_INNER;
    inner->any |= !(*kind & DW_LINE_OF_FUNCTION);
}

/* Code that runs only on lines of the function itself is left to those lines. */
static int add_inner(PyCodeObject *code, void *context)
{
    struct dw_line_code *outermost = context;
    struct inner_lines inner = {.outermost = outermost};
    if (dw_line_code_in(outermost->profile, code))
        return 0;
    if (dw_py_code_lines(code, mark_inner, &inner))
        return -1;
    if (!inner.any)
        return 0;
    struct dw_line_code *function = new_function(outermost->profile, code, outermost->watch);
    if (!function)
        return -1;
    function->outermost = outermost;
    function->is_inner = true;
    return keep(outermost->profile, function);
}

int dw_line_code_add(struct dw_line_profile *profile, PyCodeObject *code)
{
    struct dw_line_code *known = dw_line_code_in(profile, code);
    if (known && known->watch & DW_WATCH_LINES)
        return 0;
    unsigned watch = DW_WATCH_ENDS | DW_WATCH_LINES | (profile->with_callees ? DW_WATCH_CALLS : 0);
    struct dw_line_code *function = known ? known : new_function(profile, code, watch);
    if (!function)
        return -1;
    if (known)
        dw_lines_end_all(profile); /* its open calls have no lines */
    if (make_lines(function)) {
        if (!known)
            free_code(function);
        return -1;
    }
    if (!known && keep(profile, function))
        return -1;
    if (known) {
        known->watch = watch;
        known->is_watched = false;
        profile->watched_count = 0;
    }
    if (each_inner(code, add_inner, function))
        return -1;
    return profile->enable_count && dw_line_codes_watch(profile) ? -1 : 1;
}

int dw_line_code_meet(struct dw_line_profile *profile, PyCodeObject *code)
{
    bool collects = PyGC_Disable();
    struct dw_line_code *function = new_function(profile, code, DW_WATCH_ENDS);
    int error = function ? keep(profile, function) : -1;
    if (collects)
        PyGC_Enable();
    return error;
}

/* Another profile may want more of the same code. */
static int watch_code(PyCodeObject *code)
{
    unsigned watch = 0;
    for (struct dw_line_code *f = dw_line_codes_of(code); f; f = f->next_of_code)
        if (f->is_watched)
            watch |= f->watch;
    return dw_line_events_watch(code, watch);
}

int dw_line_codes_watch(struct dw_line_profile *profile)
{
    for (; profile->watched_count < profile->function_count; profile->watched_count++) {
        struct dw_line_code *function = profile->functions[profile->watched_count];
        if (function->is_watched)
            continue;
        function->is_watched = true;
        function->strays = 0;
        if (watch_code(function->code))
            return -1;
    }
    return 0;
}

void dw_line_code_unwatch(struct dw_line_code *function)
{
    bool collects = PyGC_Disable();
    function->is_watched = false;
    function->profile->watched_count = 0;
    if (watch_code(function->code))
        PyErr_Clear();
    if (collects)
        PyGC_Enable();
}

PyCodeObject *dw_line_callable_code(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return PyFunction_Check(callable) ? (PyCodeObject *)PyFunction_GET_CODE(callable) : NULL;
}

/* What stays the same when the same thing is called again: bound methods are made anew. */
static const void *callee_key(PyObject *callable)
{
    PyMethodDef *method = PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml
                          : Py_IS_TYPE(callable, &PyMethodDescr_Type)
                              ? ((PyMethodDescrObject *)callable)->d_method
                              : NULL;
    if (method)
        return method;
    /* A class that is called is one thing, its instances that are called another. */
    return PyType_Check(callable) ? (const char *)callable : (const char *)Py_TYPE(callable) + 1;
}

static bool same_callee(const void *callees, uint32_t id, const void *key)
{
    return ((struct dw_line_callee *const *)callees)[id]->key == key;
}

static uint64_t callee_hash(const void *callees, uint32_t id)
{
    return dw_hash_mix((uint64_t)(uintptr_t)((struct dw_line_callee *const *)callees)[id]->key);
}

/* As cProfile names C functions; classes and other objects by their type. */
static PyObject *callee_name(PyObject *callable)
{
    if (PyCFunction_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return dw_call_c_name(callable, NULL);
    PyTypeObject *type = PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable);
    return PyUnicode_FromFormat(PyType_Check(callable) ? "<class %s>" : "<%s object>",
                                type->tp_name);
}

/* What keeps the key valid: the type or module of a method definition, or a type. It is never an
 * object of the user, whose life it would prolong. */
static PyObject *callee_owner(PyObject *callable)
{
    PyObject *self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    if (self)
        return PyModule_Check(self) || PyType_Check(self) ? self : (PyObject *)Py_TYPE(self);
    bool lasts = PyType_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
                 PyCFunction_Check(callable);
    return lasts ? callable : (PyObject *)Py_TYPE(callable);
}

static const struct dw_line_callee *new_callee(struct dw_line_profile *profile, PyObject *callable,
                                               const void *key)
{
    PyObject *name = callee_name(callable);
    struct dw_line_callee *callee = name ? malloc(sizeof *callee) : NULL;
    if (!callee || DW_GROW(profile->callees, profile->callee_count, profile->callee_capacity)) {
        free(callee);
        Py_XDECREF(name);
        PyErr_Clear();
        return NULL;
    }
    PyObject *owner = callee_owner(callable);
    *callee = (struct dw_line_callee){.key = key, .owner = Py_NewRef(owner), .name = name};
    profile->callees[profile->callee_count] = callee;
    dw_map_add(&profile->callee_index, dw_hash_mix((uint64_t)(uintptr_t)key), profile->callee_count,
               callee_hash, profile->callees);
    profile->callee_count++;
    return callee;
}

const struct dw_line_callee *dw_line_callee_of(struct dw_line_profile *profile, PyObject *callable)
{
    const void *key = callee_key(callable);
    uint32_t found = dw_map_find(&profile->callee_index, dw_hash_mix((uint64_t)(uintptr_t)key),
                                 same_callee, profile->callees, key);
    if (found != DW_MAP_NONE)
        return profile->callees[found];
    bool collects = PyGC_Disable();
    const struct dw_line_callee *callee = new_callee(profile, callable, key);
    if (collects)
        PyGC_Enable();
    return callee;
}

void dw_line_codes_release(struct dw_line_profile *profile)
{
    for (uint32_t i = 0; i < profile->function_count; i++) {
        struct dw_line_code *function = profile->functions[i];
        dw_line_code_unwatch(function);
        unlink_function(function);
        free_code(function);
    }
    for (uint32_t i = 0; i < profile->callee_count; i++) {
        Py_DECREF(profile->callees[i]->owner);
        Py_DECREF(profile->callees[i]->name);
        free(profile->callees[i]);
    }
    free(profile->functions);
    free(profile->callees);
    dw_map_release(&profile->callee_index);
}
