/* SPDX-License-Identifier: MIT
 * Data inside the page of the html lens. */
#ifndef DW_LENS_PAGE_HTML_TEXT_H
#define DW_LENS_PAGE_HTML_TEXT_H

#include "base/out.h"

/* JSON with every '<', which only a string can hold, as \u003c: nothing in it ends the data. */
void dw_html_put_json(struct dw_out *out, const void *json, size_t size);

#endif
