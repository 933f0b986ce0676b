/* SPDX-License-Identifier: MIT
 * Reads a log into a profile. Any bytes may come in: damage is skipped and
 * counted, limits bound every allocation, and what is intact is kept. */
#ifndef DW_LOG_READER_H
#define DW_LOG_READER_H

#include "model/profile.h"

enum dw_read_flags {
    DW_READ_EVENTS = 1,     /* keep the timeline too */
    DW_READ_PROCESSES = 2,  /* nothing but processes, for who wants to know whose log it is */
    DW_READ_NO_SOURCES = 4, /* the text of source files is most of a short recording */
    DW_READ_NO_VALUES = 8,  /* rows are looked at and not kept, for who asks whether all is well */
};

/* Adds the log to the profile: reading several logs merges them. On failure the
 * profile holds what was read before the trouble and is still valid. */
int dw_log_read(const uint8_t *bytes, size_t size, unsigned flags, struct dw_profile *profile);
int dw_log_read_file(const char *path, unsigned flags, struct dw_profile *profile);

#endif
