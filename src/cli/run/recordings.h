/* SPDX-License-Identifier: MIT
 * What a run left: the recording of the program, and those of its children beside it, which become
 * one. */
#ifndef DW_CLI_RUN_RECORDINGS_H
#define DW_CLI_RUN_RECORDINGS_H

#include "model/profile.h"

#include <time.h>

struct dw_recordings {
    const char *out_file; /* absolute */
    time_t since;         /* files of children that are older are of another run */
    const char *only;     /* a pattern of names of processes; NULL: all */
    bool keeps;           /* the files of children stay */
    bool says;            /* what is not as asked for */
    uint32_t children;    /* children that are in the recording */
    uint32_t beside;      /* children whose files could not be made part of it */
    uint32_t living;      /* children that still write */
    uint32_t strangers;   /* files of children of earlier runs beside it */
};

/* Makes one file of them. On trouble it says so, and the files stay as they are. */
void dw_recordings_gather(struct dw_recordings *recordings);
/* What is there now as one profile; the flags are of log/reader.h. 0 or an error. The profile is
 * NULL, or to be freed, in any case. */
int dw_recordings_load(const struct dw_recordings *recordings, unsigned flags,
                       struct dw_profile **profile);

#endif
