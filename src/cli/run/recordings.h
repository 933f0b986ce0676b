/* SPDX-License-Identifier: MIT
 * What a run left: the recording of the program, and those of its children beside it. */
#ifndef DW_CLI_RUN_RECORDINGS_H
#define DW_CLI_RUN_RECORDINGS_H

#include "model/profile.h"

#include <time.h>

struct dw_recordings {
    const char *out_file;
    unsigned flags;     /* of reading: log/reader.h */
    time_t since;       /* files of children that are older are of another run */
    uint32_t children;  /* children that have a file */
    uint32_t strangers; /* files of children of earlier runs beside it */
};

/* All of them as one; 0 or an error. The profile is NULL, or to be freed, in any case. */
int dw_recordings_load(struct dw_recordings *recordings, struct dw_profile **profile);

#endif
