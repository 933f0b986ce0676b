/* SPDX-License-Identifier: MIT
 * The stack of the calling thread, which is in an allocator, as a step of a site. */
#ifndef DW_PROBE_MEMORY_ALLOC_STACK_H
#define DW_PROBE_MEMORY_ALLOC_STACK_H

#include "probe/memory/alloc_thread.h"
#include "probe/sample/sample_handler.h"

/* Python functions and native ones. The lock of dw_allocs is held. */
uint32_t dw_alloc_stack_whole(struct dw_alloc_thread *thread, PyThreadState *python);

/* What is known of native code from now on. A view must stay until the recording ends. */
void dw_alloc_stack_publish(const struct dw_native_view *view);

#endif
