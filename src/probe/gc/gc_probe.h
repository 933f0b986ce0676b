/* SPDX-License-Identifier: MIT
 * Collections of Python's garbage collector: how long each took, on the stack that set it off. */
#ifndef DW_PROBE_GC_GC_PROBE_H
#define DW_PROBE_GC_GC_PROBE_H

#include "record/probes.h"

extern struct dw_probe dw_gc_probe;

#endif
