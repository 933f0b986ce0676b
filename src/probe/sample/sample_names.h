/* SPDX-License-Identifier: MIT
 * The names of the threads in a recording. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_NAMES_H
#define DW_PROBE_SAMPLE_SAMPLE_NAMES_H

#include "probe/sample/sample_reader.h"
#include "probe/sample/sample_threads.h"

/* The name that a thread said it has. */
void dw_sample_set_name(struct dw_sample_reader *reader, struct dw_slot *slot, const char *name,
                        size_t size);
/* The names that `threading` has for the threads, or else the kernel's: for new ones, or again for
 * all, since a name may be given late. */
void dw_sample_name_threads(struct dw_sample_reader *reader,
                            const struct dw_sample_threads *threads, bool again);

#endif
