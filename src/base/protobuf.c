/* SPDX-License-Identifier: MIT */
#include "base/protobuf.h"

#include "base/varint.h"

enum wire_type { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static uint64_t key_of(uint32_t field, enum wire_type type)
{
    return (uint64_t)field << 3 | type;
}

void dw_protobuf_put_number(struct dw_buffer *message, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    dw_buffer_put(message, key_of(field, WIRE_NUMBER));
    dw_buffer_put(message, value);
}

void dw_protobuf_put_bytes(struct dw_buffer *message, uint32_t field, const void *bytes,
                           size_t size)
{
    dw_buffer_put(message, key_of(field, WIRE_BYTES));
    dw_buffer_put_blob(message, bytes, size);
}

size_t dw_protobuf_head(uint8_t head[DW_PROTOBUF_HEAD_MAX], uint32_t field, size_t size)
{
    uint8_t *end = dw_varint_put(head, key_of(field, WIRE_BYTES));
    return (size_t)(dw_varint_put(end, size) - head);
}
