/* SPDX-License-Identifier: MIT
 * Names that the program gave and names of functions have sets of their own, so that many of one
 * kind do not crowd out the other. */
#include "probe/sample/sample_task.h"

#include "base/map.h"
#include "probe/number_set.h"
#include "probe/sample/sample_slot.h"

static struct dw_number_set functions = {.common = DW_TASK_LIMIT},
                            given = {.common = DW_TASK_LIMIT};

int dw_tasks_reset(void)
{
    int error = dw_numbers_reset(&functions);
    return error ? error : dw_numbers_reset(&given);
}

/* Nothing of it is traced: a traced function that begins in a pending call while another call is
 * pending never gets on, in 3.11. */
static int learn(void *unused)
{
    (void)unused;
    PyThreadState *state = PyThreadState_Get();
    dw_own_work_begin();
    PyThreadState_EnterTracing(state);
    PyObject *module = PyImport_ImportModule("dwell._tasks");
    PyObject *done = module ? PyObject_CallMethod(module, "learn", NULL) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(done);
    PyThreadState_LeaveTracing(state);
    dw_own_work_end();
    if (PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();                /* samples are without tasks then */
    return PyErr_Occurred() ? -1 : 0; /* an interrupt is for the program */
}

void dw_tasks_learn_soon(void)
{
    static bool was_asked;
    if (!was_asked && !dw_py_tasks_are_known())
        was_asked = !Py_AddPendingCall(learn, NULL);
}

/* Those of functions are the first half. */
static struct dw_number_set *set_of(uint32_t number)
{
    return number <= DW_TASK_LIMIT ? &functions : &given;
}

static uint32_t number_in_set(uint32_t number)
{
    return number <= DW_TASK_LIMIT ? number : number - DW_TASK_LIMIT;
}

uint32_t dw_task_number(const struct dw_py_task_name *name)
{
    if (!name->length)
        return 0;
    uint64_t size = (uint64_t)name->length * name->width;
    uint64_t fingerprint = dw_hash_bytes(name->bytes, (size_t)size) | 1;
    uint32_t number = dw_numbers_find(name->is_given ? &given : &functions, fingerprint);
    return number && name->is_given ? number + DW_TASK_LIMIT : number;
}

uint64_t dw_task_token(uint32_t number)
{
    uint64_t mark = number ? (uint64_t)DW_MARKS + number - 1 : (uint64_t)DW_MARK_OTHER_TASK;
    return DW_TOKEN(DW_TOKEN_MARK, mark);
}

bool dw_task_is_known(uint32_t number)
{
    return dw_numbers_is_known(set_of(number), number_in_set(number));
}

void dw_task_set_known(uint32_t number)
{
    dw_numbers_set_known(set_of(number), number_in_set(number));
}

void dw_task_describe(uint32_t number, const struct dw_py_task_name *name,
                      struct dw_task_record *record)
{
    *record = (struct dw_task_record){{sizeof *record, DW_RING_TASK}, number, *name};
}
