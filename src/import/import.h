/* SPDX-License-Identifier: MIT
 * Profiles that other tools wrote, as profiles of ours: pprof's, gperftools' CPU profiles, the
 * output of `perf script`, and collapsed stacks; also in gzip. What is in them decides which it
 * is. */
#ifndef DW_IMPORT_IMPORT_H
#define DW_IMPORT_IMPORT_H

#include "model/profile.h"

/* Adds what the bytes hold; `name` is what to call the program when they do not say, and
 * `written_ns` when they were written, which is after the program ran. What could not be understood
 * counts as lost. DW_ERR_NOT_DWELL when no format fits, DW_ERR_DAMAGED when they are cut or
 * changed, DW_ERR_NO_SAMPLES when they are a profile of something else; the profile then stays as
 * it was. */
int dw_import(const void *bytes, size_t size, const char *name, uint64_t written_ns,
              struct dw_profile *profile);

#endif
