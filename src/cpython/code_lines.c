/* SPDX-License-Identifier: MIT
 * co_lines() says which instructions a line has. The prologue that the compiler puts before every
 * function is not a line of the program, though it has a line number. */
#include "cpython/code_lines.h"

#include "cpython/frame.h"

#include <opcode.h>
#include <stdbool.h>

/* Instructions that begin every function, or every generator and closure. */
static bool is_prologue(int opcode)
{
    return opcode == RESUME || opcode == MAKE_CELL || opcode == COPY_FREE_VARS ||
           opcode == RETURN_GENERATOR || opcode == POP_TOP || opcode == CACHE || opcode == NOP;
}

/* Whether the range holds more than the prologue does. A `try:` is a NOP, so only the first
 * line is looked at in this way. */
static bool is_program(const PyCodeObject *code, const char *bytes, int start, int end, int line)
{
    if (line != code->co_firstlineno)
        return true;
    for (int at = start; at < end; at += (int)sizeof(_Py_CODEUNIT))
        if (!is_prologue((unsigned char)bytes[at]))
            return true;
    return false;
}

/* One (start, end, line) of co_lines(); a range whose line is None belongs to no line. */
static int visit_range(PyCodeObject *code, PyObject *range, const char *bytes,
                       dw_py_line_visit *visit, void *context)
{
    PyObject *number;
    int start, end;
    if (!PyArg_ParseTuple(range, "iiO", &start, &end, &number))
        return -1;
    int line = number == Py_None ? 0 : (int)PyLong_AsLong(number);
    if (line > 0 && is_program(code, bytes, start, end, line))
        visit(context, (uint32_t)line);
    return 0;
}

int dw_py_code_lines(PyCodeObject *code, dw_py_line_visit *visit, void *context)
{
    PyObject *bytes = PyCode_GetCode(code), *range;
    PyObject *ranges = bytes ? PyObject_CallMethod((PyObject *)code, "co_lines", NULL) : NULL;
    int error = 0;
    while (ranges && !error && (range = PyIter_Next(ranges))) {
        error = visit_range(code, range, PyBytes_AS_STRING(bytes), visit, context);
        Py_DECREF(range);
    }
    Py_XDECREF(ranges);
    Py_XDECREF(bytes);
    return PyErr_Occurred() ? -1 : 0;
}
