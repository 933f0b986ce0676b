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
    DW_READ_NO_VALUES =
        8, /* rows are not read, but for their checksums, for who asks whether all is well */
    DW_READ_MOMENTS = 16, /* keep what was alive at earlier moments: model/moments.h */
    DW_READ_TO_SAVE = 32, /* rows stay encoded where that is possible: nobody but save.h may look at
                             them */
};

#define DW_LOG_IDS_MAX (1u << 24) /* a log with more names, paths or others is not read */

/* Adds the log to the profile: reading several logs merges them. On failure the
 * profile holds what was read before the trouble and is still valid. */
int dw_log_read(const uint8_t *bytes, size_t size, unsigned flags, struct dw_profile *profile);
int dw_log_read_file(const char *path, unsigned flags, struct dw_profile *profile);

/* How many bytes pictures of heaps in a log unpack to. */
uint64_t dw_log_heap_bytes(const uint8_t *bytes, size_t size);

#endif
