/* SPDX-License-Identifier: MIT
 * What the JSON of lines and the JSON of everything have in common. */
#ifndef DW_LENS_TABLE_LINE_DATA_H
#define DW_LENS_TABLE_LINE_DATA_H

#include "lens/table/data.h"
#include "lens/view/line_list.h"

/* A row for each function, each of its lines and, when asked for, each callee of those. */
void dw_line_data_put_rows(struct dw_data *data, const struct dw_line_list *list, bool callees);

#endif
