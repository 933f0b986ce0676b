/* SPDX-License-Identifier: MIT
 * Names of asyncio tasks as handlers see them: each gets a number and is described in the ring
 * until the sampler's thread has read the description. There are many tasks and few names: those
 * that asyncio makes up are replaced by the coroutine's function. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_TASK_H
#define DW_PROBE_SAMPLE_SAMPLE_TASK_H

#include "cpython/task_name.h"
#include "probe/sample/sample_ring.h"

#define DW_TASK_LIMIT 1024u /* names that are given, and as many functions */
#define DW_TASK_NUMBERS (2 * DW_TASK_LIMIT)

struct dw_task_record {
    struct dw_ring_record head;
    uint64_t number;
    struct dw_py_task_name name;
};

/* Forgets everything, before a recording. 0 or DW_ERR_MEMORY. */
int dw_tasks_reset(void);
/* Asks the interpreter to show us a task, by a pending call. Without the GIL. */
void dw_tasks_learn_soon(void);
/* From 1 to DW_TASK_NUMBERS; 0 when there are too many. [signal-safe] */
uint32_t dw_task_number(const struct dw_py_task_name *name);
/* The mark of a stack that goes through the task; `number` may be 0. [signal-safe] */
uint64_t dw_task_token(uint32_t number);
/* [signal-safe] */
bool dw_task_is_known(uint32_t number);
void dw_task_set_known(uint32_t number);
/* [signal-safe] */
void dw_task_describe(uint32_t number, const struct dw_py_task_name *name,
                      struct dw_task_record *record);

#endif
