/* SPDX-License-Identifier: MIT
 * What the JSON of lines and the JSON of everything have in common. */
#ifndef DW_LENS_TABLE_LINE_DATA_H
#define DW_LENS_TABLE_LINE_DATA_H

#include "lens/view/line_list.h"

/* The functions of the list with their lines and callees, as a JSON array. */
void dw_line_data_put_functions(struct dw_out *out, const struct dw_line_list *list);

#endif
