/* SPDX-License-Identifier: MIT
 * Names that are too long for the terminal, cut in the middle: their ends tell more. */
#ifndef DW_LENS_TABLE_FIT_H
#define DW_LENS_TABLE_FIT_H

#include "base/out.h"

/* Writes the text as dw_out_printable does, in at most `width` columns; 0: in as many as it
 * takes. Returns how many these are. */
size_t dw_fit_put(struct dw_out *out, const void *bytes, size_t size, size_t width);

#endif
