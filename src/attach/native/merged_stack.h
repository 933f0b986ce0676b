/* SPDX-License-Identifier: MIT
 * Python and native frames of one thread as one stack: the frames of each run of the
 * interpreter's loop stand where the native frame of that run is, which is found by address. */
#ifndef DW_ATTACH_NATIVE_MERGED_STACK_H
#define DW_ATTACH_NATIVE_MERGED_STACK_H

#include "attach/native/native_code.h"
#include "attach/python/stack.h"

/* A frame of the merged stack: either a Python or a native one. */
struct dw_merged_frame {
    uint32_t index; /* into the one stack or the other */
    bool is_native;
};

/* Fills `merged`, the outermost first, and returns how many. It needs room for all frames of
 * both. */
uint32_t dw_stacks_merge(const struct dw_raw_stack *python, const struct dw_native_stack *native,
                         struct dw_merged_frame *merged);

#endif
