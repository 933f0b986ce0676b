/* SPDX-License-Identifier: MIT
 * A gzip stream into an output, without a name or a date: the same bytes give the same
 * stream. */
#ifndef DW_BASE_GZIP_H
#define DW_BASE_GZIP_H

#include "base/out.h"

#include <zlib.h>

struct dw_gzip {
    struct dw_out *out;
    z_stream stream;
};

int dw_gzip_init(struct dw_gzip *gzip, struct dw_out *out);
/* Trouble with the output is sticky there. */
void dw_gzip_write(struct dw_gzip *gzip, const void *bytes, size_t size);
/* Ends the stream, so that it can be read, and releases it. The output stays open. */
void dw_gzip_close(struct dw_gzip *gzip);

#endif
