/* SPDX-License-Identifier: MIT
 * Messages of Protocol Buffers, as much of the encoding as our formats take. A message is
 * built in a buffer, and is put into another as its bytes; packed numbers likewise, with
 * dw_buffer_put. */
#ifndef DW_BASE_PROTOBUF_H
#define DW_BASE_PROTOBUF_H

#include "base/buffer.h"

/* Bytes that a field's number and the size of what it holds take at most. */
#define DW_PROTOBUF_HEAD_MAX 20

/* An integer or a bool; 0 is left out, as a reader assumes it. */
void dw_protobuf_put_number(struct dw_buffer *message, uint32_t field, uint64_t value);
/* A string, a message or packed numbers, also when there are none. */
void dw_protobuf_put_bytes(struct dw_buffer *message, uint32_t field, const void *bytes,
                           size_t size);
/* What stands before the bytes of such a field; returns its size. */
size_t dw_protobuf_head(uint8_t head[DW_PROTOBUF_HEAD_MAX], uint32_t field, size_t size);

/* A field of a message that is read: a number, and then `bytes` is NULL, or bytes. */
struct dw_protobuf_field {
    uint32_t number;
    uint64_t value;
    const uint8_t *bytes;
    size_t size;
};

/* The next field; false at the end of the message, and when the bytes are not a message: then the
 * cursor is bad. */
bool dw_protobuf_next(struct dw_cursor *message, struct dw_protobuf_field *field);
/* Stores the numbers of the fields below `count` in `fields`, by field; the last one counts. False
 * when the bytes are not a message. */
bool dw_protobuf_get_numbers(const uint8_t *bytes, size_t size, uint64_t *fields, uint32_t count);

#endif
