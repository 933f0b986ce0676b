/* SPDX-License-Identifier: MIT
 * Moments of a profile (model/moments.h) in a log that is saved. */
#ifndef DW_LOG_SAVE_MOMENTS_H
#define DW_LOG_SAVE_MOMENTS_H

#include "log/writer.h"

/* Those of the processes and threads from these on, which are defined in the log. What they have in
 * the end is not among it. 0 or DW_ERR_MEMORY. */
int dw_log_save_moments(struct dw_log_writer *writer, const struct dw_profile *profile,
                        uint32_t first_process, uint32_t first_thread);

#endif
