/* SPDX-License-Identifier: MIT
 * Writes a whole profile as one log: what a merge leaves. Its ticks are
 * nanoseconds of the wall clock, so reading it back changes no number. */
#ifndef DW_LOG_SAVE_H
#define DW_LOG_SAVE_H

#include "log/writer.h"

/* 0 or an error, which is then also in the writer. Events that cannot be decoded become gaps. */
int dw_log_save(const struct dw_profile *profile, struct dw_log_writer *writer);

#endif
