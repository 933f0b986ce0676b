/* SPDX-License-Identifier: MIT
 * A function is known by what makes it one in the log. The texts are kept, so that others do not
 * get their addresses; code objects are not, since they must die when they would. */
#include "probe/gc/gc_stack.h"

#include "base/intern.h"
#include "cpython/frame.h"
#include "probe/ledger_python.h"

#define DEPTH_MAX 1024 /* of the functions of a stack; those further out are left out */

struct function {
    PyObject *name, *file;
    int line;
    dw_frame_id frame;
    uint64_t life; /* of the ledger that knows the frame */
};

static struct function *functions;
static uint32_t function_count, function_capacity;
static struct dw_map function_index;

static int find_function(const PyCodeObject *code, struct function **function)
{
    struct function wanted = {code->co_qualname, code->co_filename, code->co_firstlineno, 0, 0};
    uint32_t found, before = function_count;
    int error = DW_INTERN(functions, function_count, function_capacity, function_index,
                          offsetof(struct function, frame), &wanted, &found);
    if (error)
        return error;
    if (function_count > before) {
        Py_INCREF(wanted.name);
        Py_INCREF(wanted.file);
    }
    *function = &functions[found];
    return 0;
}

static int find_frame(struct dw_ledger *ledger, uint64_t life, const PyCodeObject *code,
                      dw_frame_id *frame)
{
    struct function *function;
    int error = find_function(code, &function);
    if (!error && function->life != life) {
        error = dw_ledger_function(ledger, function->name, code, &function->frame);
        function->life = error ? 0 : life;
    }
    if (!error)
        *frame = function->frame;
    return error;
}

static int find_place(struct dw_ledger *ledger, uint64_t life, dw_py_frame *frame,
                      dw_place_id *place)
{
    PyCodeObject *code = dw_py_frame_code(frame);
    int line = PyCode_Addr2Line(code, dw_py_frame_offset(frame));
    struct dw_place found = {.line = line > 0 ? (uint32_t)line : 0};
    int error = find_frame(ledger, life, code, &found.frame);
    return error ? error : dw_ledger_place(ledger, &found, place);
}

int dw_gc_stack_path(struct dw_ledger *ledger, uint64_t life, uint32_t limit, dw_gc_step *step,
                     void *context, dw_path_id *path)
{
    static dw_py_frame *stack[DEPTH_MAX];
    uint32_t depth = 0;
    int error = 0;
    for (dw_py_frame *frame = dw_py_frame_now(); frame && depth < DEPTH_MAX && depth < limit;
         frame = dw_py_frame_previous(frame))
        stack[depth++] = frame;
    while (depth-- && !error) {
        dw_place_id place;
        error = find_place(ledger, life, stack[depth], &place);
        if (!error)
            error = dw_ledger_path(ledger, *path, place, path);
        if (!error && step)
            step(*path, context);
    }
    return error;
}
