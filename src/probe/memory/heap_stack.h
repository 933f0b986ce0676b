/* SPDX-License-Identifier: MIT
 * The stack of the calling thread, which is in an allocator, as a step of the heap. */
#ifndef DW_PROBE_MEMORY_HEAP_STACK_H
#define DW_PROBE_MEMORY_HEAP_STACK_H

#include "probe/memory/heap_thread.h"
#include "probe/sample/sample_handler.h"

/* Python functions alone, by what is known of the last stack. Takes the heap's lock when something
 * is new. */
uint32_t dw_heap_stack_python(struct dw_heap_thread *thread, PyThreadState *python);
/* Python functions and native ones. The heap's lock is held. */
uint32_t dw_heap_stack_whole(struct dw_heap_thread *thread, PyThreadState *python);

/* What is known of native code from now on. A view must stay until the recording ends. */
void dw_heap_stack_publish(const struct dw_native_view *view);

#endif
