/* SPDX-License-Identifier: MIT
 * The name of a function with its signature, made once from the words. A first
 * argument named self gives its class to the name and is left out. */
#include "probe/call/argument_type.h"
#include "probe/call/signature.h"

struct reader {
    const uint64_t *at, *end;
};

struct text {
    PyObject *string; /* NULL after a failure */
    bool has_items;
};

static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *more = text->string ? PyUnicode_FromFormatV(format, arguments) : NULL;
    va_end(arguments);
    if (more)
        PyUnicode_AppendAndDel(&text->string, more);
    else
        Py_CLEAR(text->string);
}

static void append_item(struct text *text, const char *stars, PyObject *name)
{
    append(text, "%s%s%U", text->has_items ? ", " : "", stars, name);
    text->has_items = true;
}

static void append_type(struct text *text, PyTypeObject *type)
{
    PyObject *name = dw_type_name(type);
    if (name)
        append(text, "%U", name);
    else
        Py_CLEAR(text->string);
    Py_XDECREF(name);
}

static void append_shape(struct text *text, struct reader *reader, int rank)
{
    append(text, "(");
    for (int i = 0; i < rank; i++)
        append(text, "%s%zd", i ? ", " : "", (Py_ssize_t)(*reader->at++ >> 1));
    append(text, rank == 1 ? ",)" : ")");
}

static void append_array(struct text *text, struct reader *reader)
{
    PyObject *dtype = (PyObject *)(uintptr_t)*reader->at++;
    uint64_t form = *reader->at++;
    enum dw_array_order order = (enum dw_array_order)(form >> 8);
    if (dtype)
        append(text, "ndarray(dtype=%U, shape=", dtype);
    else
        append(text, "ndarray(dtype=<unknown>, shape=");
    append_shape(text, reader, (int)(form & 0xff) >> 1);
    append(text, "%s)", order == DW_ORDER_C ? "" : order == DW_ORDER_F ? ", order=F" : ", strided");
}

static void append_described(struct text *text, PyTypeObject *type, struct reader *reader)
{
    PyObject *description = (PyObject *)(uintptr_t)*reader->at++;
    if (description)
        append(text, "%U", description);
    else
        append_type(text, type);
}

static void append_list(struct text *text, struct reader *reader)
{
    uint64_t length = *reader->at++, element = *reader->at++;
    append(text, "list");
    if (element) {
        append(text, "[");
        append_type(text, dw_word_type(element));
        append(text, "]");
    }
    if (length)
        append(text, "(%zd)", (Py_ssize_t)(length >> 1) - 1);
}

static void append_value(struct text *text, struct reader *reader)
{
    uint64_t word = *reader->at++;
    if (!word) {
        append(text, "<unknown>");
        return;
    }
    switch (dw_word_form(word)) {
    case DW_FORM_PLAIN: append_type(text, dw_word_type(word)); break;
    case DW_FORM_ARRAY: append_array(text, reader); break;
    case DW_FORM_DESCRIBED: append_described(text, dw_word_type(word), reader); break;
    case DW_FORM_LIST: append_list(text, reader); break;
    }
}

static void skip_value(struct reader *reader)
{
    struct text nowhere = {0};
    append_value(&nowhere, reader);
}

static PyObject *name_of(const PyCodeObject *code, int index)
{
    return PyTuple_GET_ITEM(code->co_localsplusnames, index);
}

static bool is_text(PyObject *text, const char *ascii)
{
    return !PyUnicode_CompareWithASCIIString(text, ascii);
}

/* "C(", "C.m(" or "f(", and how many arguments that took. */
static int append_begin(struct text *text, const PyCodeObject *code, struct reader *reader)
{
    bool is_method = code->co_argcount && reader->at < reader->end && *reader->at &&
                     is_text(name_of(code, 0), "self");
    if (is_method) {
        append_type(text, dw_word_type(*reader->at));
        if (!is_text(code->co_name, "__init__"))
            append(text, ".%U", code->co_name);
        skip_value(reader);
    } else {
        append(text, "%U", code->co_name);
    }
    append(text, "(");
    return is_method;
}

static void append_argument(struct text *text, const PyCodeObject *code, int index,
                            struct reader *reader)
{
    PyObject *name = name_of(code, index);
    if (reader->at == reader->end)
        return;                                /* it was cut */
    if (PyUnicode_READ_CHAR(name, 0) == '.') { /* the iterator of a comprehension */
        skip_value(reader);
        return;
    }
    append_item(text, "", name);
    append(text, ":");
    append_value(text, reader);
}

static void append_rest(struct text *text, const char *stars, PyObject *name, uint64_t word)
{
    append_item(text, stars, name);
    if (word)
        append(text, "[%zd]", (Py_ssize_t)(word >> 1) - 1);
    else
        append(text, ":<unknown>");
}

/* The arguments in the order of the definition: *args stand before those by keyword only,
 * though their words come after. */
static void append_arguments(struct text *text, const PyCodeObject *code, int first,
                             const struct dw_signature_key *key, struct reader *reader)
{
    int named = code->co_argcount + code->co_kwonlyargcount;
    bool has_args = code->co_flags & CO_VARARGS && !key->is_cut;
    bool has_kwargs = code->co_flags & CO_VARKEYWORDS && !key->is_cut;
    const uint64_t *rest = reader->end - has_args - has_kwargs;
    reader->end = rest;
    for (int i = first; i < code->co_argcount; i++)
        append_argument(text, code, i, reader);
    if (has_args)
        append_rest(text, "*", name_of(code, named), rest[0]);
    for (int i = code->co_argcount; i < named; i++)
        append_argument(text, code, i, reader);
    if (has_kwargs)
        append_rest(text, "**", name_of(code, named + has_args), rest[has_args]);
}

PyObject *dw_signature_name(PyCodeObject *code, const struct dw_signature_key *key)
{
    struct reader reader = {key->words, key->words + key->count};
    struct text text = {.string = PyUnicode_FromString("")};
    int first = append_begin(&text, code, &reader);
    append_arguments(&text, code, first, key, &reader);
    if (key->is_cut)
        append(&text, "%s", ", …"); /* a format is ASCII */
    append(&text, ")");
    return text.string;
}
