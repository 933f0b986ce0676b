/* SPDX-License-Identifier: MIT
 * Writes a whole profile as one log: what a merge leaves. Its ticks are nanoseconds of the wall
 * clock, or those of the log that rows were copied from, so reading it back changes no number. */
#ifndef DW_LOG_SAVE_H
#define DW_LOG_SAVE_H

#include "log/writer.h"

/* A log that is saved part by part, and how much of the profile it has. */
struct dw_log_saver {
    struct dw_log_writer *writer;
    struct dw_map uuids; /* of the processes that are in it */
    uint32_t processes, strings, frames, modules, places, paths, labels, threads, sources, timings;
};

/* Writes what the profile got since the last part. Then dw_profile_forget may make room for the
 * next one. 0 or an error, which is then also in the writer. */
int dw_log_save_more(struct dw_log_saver *saver, const struct dw_profile *profile);
/* After the last part, also after an error: what all of them have together. */
int dw_log_save_end(struct dw_log_saver *saver, const struct dw_profile *profile);

/* All of it at once. 0 or an error, which is then also in the writer. Events that cannot be decoded
 * become gaps. */
int dw_log_save(const struct dw_profile *profile, struct dw_log_writer *writer);

#endif
