/* SPDX-License-Identifier: MIT
 * A growable byte buffer to encode into, and a cursor to decode from.
 * Both fail stickily: check `failed` or `bad` once, after the last step. */
#ifndef DW_BASE_BUFFER_H
#define DW_BASE_BUFFER_H

#include "base/varint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;    /* an allocation failed; later appends do nothing */
    bool has_pages; /* while it is large: base/pages.h. Its owner says so, while it is empty */
};

/* Nothing is left of it but whether it has pages. */
void dw_buffer_release(struct dw_buffer *buffer);
/* Empties it; a failure stays, for who looks once in the end. */
void dw_buffer_clear(struct dw_buffer *buffer);
/* The same without the failure, for who looked before and goes on with something else. */
void dw_buffer_restart(struct dw_buffer *buffer);

/* Room for `size` more bytes at the end, or NULL; does not move the end. */
uint8_t *dw_buffer_reserve(struct dw_buffer *buffer, size_t size);
void dw_buffer_append(struct dw_buffer *buffer, const void *bytes, size_t size);
/* A varint. */
static inline void dw_buffer_put(struct dw_buffer *buffer, uint64_t value)
{
    bool has_room = !buffer->failed && buffer->capacity - buffer->size >= DW_VARINT_MAX;
    uint8_t *at = has_room ? buffer->data + buffer->size : dw_buffer_reserve(buffer, DW_VARINT_MAX);
    if (at)
        buffer->size += (size_t)(dw_varint_put(at, value) - at);
}
void dw_buffer_put_blob(struct dw_buffer *buffer, const void *bytes, size_t size);

struct dw_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* ran past the end, or met a malformed number */
};

uint64_t dw_cursor_get_long(struct dw_cursor *cursor);
/* A varint. Most are of one byte. */
static inline uint64_t dw_cursor_get(struct dw_cursor *cursor)
{
    bool is_short = !cursor->bad && cursor->at < cursor->end && *cursor->at < 0x80;
    return is_short ? *cursor->at++ : dw_cursor_get_long(cursor);
}
/* A varint that must fit 32 bits. */
static inline uint32_t dw_cursor_get_u32(struct dw_cursor *cursor)
{
    uint64_t value = dw_cursor_get(cursor);
    bool fits = value <= UINT32_MAX;
    cursor->bad |= !fits;
    return fits ? (uint32_t)value : 0;
}
/* A length-prefixed blob; NULL (and size 0) when bad. */
const uint8_t *dw_cursor_get_blob(struct dw_cursor *cursor, size_t *size);

#endif
