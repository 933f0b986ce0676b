/* SPDX-License-Identifier: MIT
 * Rows on their way from one log to another. Path and labels have other ids there; the numbers stay
 * as they are encoded, in ticks of their process, whose clocks are copied too. */
#ifndef DW_LOG_COPIED_ROWS_H
#define DW_LOG_COPIED_ROWS_H

#include "log/reading.h"
#include "log/writer.h"

/* Whether all that the log has in ticks are rows, and these have the measures as this build numbers
 * them. Else it is decoded. */
bool dw_log_can_copy(const struct dw_chunk *chunks, uint32_t count, struct dw_reading *probe);
/* Keeps the row that comes next in the place of an earlier one with its key. Like any row it is
 * checked to its last byte. */
int dw_copied_row_read(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t thread);
void dw_copied_rows_write(struct dw_log_writer *writer, const struct dw_value_table *values,
                          uint32_t thread);

#endif
