/* SPDX-License-Identifier: MIT
 * zlib's streams, with its unsigned sizes hidden: input goes in by pieces, output comes out through
 * a buffer on the stack. What is unpacked is bounded, since a small file can hold a very large
 * one. */
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

/* When zlib leaves room in the output, nothing more is to come. */
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

bool dw_gzip_is(const void *bytes, size_t size)
{
    const uint8_t *magic = bytes;
    return size > 2 && magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == Z_DEFLATED;
}

/* One step into `piece`; Z_STREAM_END is the end of one stream. */
static int inflate_step(z_stream *stream, uint8_t *piece, unsigned size, const uint8_t **at,
                        size_t *left)
{
    unsigned part = *left < INPUT_MAX ? (unsigned)*left : INPUT_MAX;
    stream->next_in = (uint8_t *)*at;
    stream->avail_in = part;
    stream->next_out = piece;
    stream->avail_out = size;
    int status = inflate(stream, Z_NO_FLUSH);
    *at += part - stream->avail_in;
    *left -= part - stream->avail_in;
    return status;
}

static int inflate_all(z_stream *stream, const uint8_t *at, size_t left, size_t limit,
                       struct dw_buffer *out)
{
    uint8_t piece[16384];
    for (;;) {
        int status = inflate_step(stream, piece, sizeof piece, &at, &left);
        size_t made = sizeof piece - stream->avail_out;
        if (status != Z_OK && status != Z_STREAM_END)
            return status == Z_MEM_ERROR ? DW_ERR_MEMORY : DW_ERR_DAMAGED;
        if (made > limit - out->size)
            return DW_ERR_TOO_LARGE;
        dw_buffer_append(out, piece, made);
        if (out->failed)
            return DW_ERR_MEMORY;
        if (status != Z_STREAM_END)
            continue;
        if (!dw_gzip_is(at, left)) /* other bytes after the stream do not matter */
            return 0;
        inflateReset(stream);
    }
}

int dw_gunzip(const void *bytes, size_t size, size_t limit, struct dw_buffer *out)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, WINDOW_BITS + AS_GZIP) != Z_OK)
        return DW_ERR_MEMORY;
    int error = inflate_all(&stream, bytes, size, limit + out->size, out);
    inflateEnd(&stream);
    return error;
}
