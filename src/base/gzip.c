/* SPDX-License-Identifier: MIT */
#include "base/gzip.h"

#include "base/error.h"

#define WINDOW_BITS 15
#define AS_GZIP 16 /* added to the window's bits: zlib's way to ask for gzip's header and sum */
#define MEMORY_LEVEL 8
#define INPUT_MAX (1u << 30) /* zlib counts in unsigned int */

int dw_gzip_init(struct dw_gzip *gzip, struct dw_out *out)
{
    *gzip = (struct dw_gzip){.out = out};
    int status = deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                              WINDOW_BITS + AS_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    return status == Z_OK ? 0 : DW_ERR_MEMORY;
}

/* Until zlib leaves room in the output, there is nothing more to come. */
static void deflate_all(struct dw_gzip *gzip, int flush)
{
    uint8_t piece[16384];
    do {
        gzip->stream.next_out = piece;
        gzip->stream.avail_out = sizeof piece;
        deflate(&gzip->stream, flush);
        dw_out_write(gzip->out, piece, sizeof piece - gzip->stream.avail_out);
    } while (!gzip->stream.avail_out);
}

void dw_gzip_write(struct dw_gzip *gzip, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        unsigned part = size < INPUT_MAX ? (unsigned)size : INPUT_MAX;
        gzip->stream.next_in = (uint8_t *)at;
        gzip->stream.avail_in = part;
        deflate_all(gzip, Z_NO_FLUSH);
        at += part;
        size -= part;
    }
}

void dw_gzip_close(struct dw_gzip *gzip)
{
    gzip->stream.avail_in = 0;
    deflate_all(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
}
