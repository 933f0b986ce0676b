/* SPDX-License-Identifier: MIT
 * A script element ends at the next tag of its name, so no '<' may stand in its data. */
#include "lens/page/html_text.h"

void dw_html_put_json(struct dw_out *out, const void *json, size_t size)
{
    const uint8_t *at = json, *end = at ? at + size : at, *mark;
    while (at < end && (mark = memchr(at, '<', (size_t)(end - at)))) {
        dw_out_write(out, at, (size_t)(mark - at));
        dw_out_text(out, "\\u003c");
        at = mark + 1;
    }
    dw_out_write(out, at, (size_t)(end - at));
}
