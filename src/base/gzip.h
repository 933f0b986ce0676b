/* SPDX-License-Identifier: MIT
 * A gzip stream into an output, without a name or a date: the same bytes give the same
 * stream. And the way back, of streams that anybody wrote. */
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

/* Whether bytes begin as a gzip stream does. */
bool dw_gzip_is(const void *bytes, size_t size);
/* Appends what the stream, or several one after the other, hold. DW_ERR_DAMAGED when a stream is
 * cut or changed, DW_ERR_TOO_LARGE when they hold more than `limit` bytes. */
int dw_gunzip(const void *bytes, size_t size, size_t limit, struct dw_buffer *out);

#endif
