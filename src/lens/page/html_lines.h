/* SPDX-License-Identifier: MIT
 * The lines of a profile in the page of the html lens. */
#ifndef DW_LENS_PAGE_HTML_LINES_H
#define DW_LENS_PAGE_HTML_LINES_H

#include "lens/view/line_list.h"

/* JSON with every '<', which only a string can hold, as \u003c: nothing in it ends the data. */
void dw_html_put_json(struct dw_out *out, const void *json, size_t size);

/* A comma and the member "lines" of the page's data; nothing when none were measured. Frames are
 * named by the profile's ids. */
int dw_html_put_lines(struct dw_out *out, const struct dw_profile *profile);

#endif
