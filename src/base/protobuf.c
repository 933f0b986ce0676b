/* SPDX-License-Identifier: MIT
 * A field is a key (its number and a wire type) and a value. A length that leads out of its
 * message, or a key that cannot be, makes the cursor bad. */
#include "base/protobuf.h"

#include "base/varint.h"

enum wire_type { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define FIELD_MAX ((1u << 29) - 1)

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

/* None of our formats has numbers of a fixed size, but a message may have them. */
static uint64_t get_fixed(struct dw_cursor *message, unsigned size)
{
    uint64_t value = 0;
    if ((size_t)(message->end - message->at) < size) {
        message->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)*message->at++ << 8 * i;
    return value;
}

bool dw_protobuf_next(struct dw_cursor *message, struct dw_protobuf_field *field)
{
    if (message->bad || message->at == message->end)
        return false;
    uint64_t key = dw_cursor_get(message);
    *field = (struct dw_protobuf_field){.number = (uint32_t)(key >> 3)};
    if (!(key >> 3) || key >> 3 > FIELD_MAX)
        message->bad = true;
    switch (key & 7) {
    case WIRE_NUMBER: field->value = dw_cursor_get(message); break;
    case WIRE_FIXED64: field->value = get_fixed(message, 8); break;
    case WIRE_BYTES: field->bytes = dw_cursor_get_blob(message, &field->size); break;
    case WIRE_FIXED32: field->value = get_fixed(message, 4); break;
    default: message->bad = true;
    }
    return !message->bad;
}

bool dw_protobuf_get_numbers(const uint8_t *bytes, size_t size, uint64_t *fields, uint32_t count)
{
    struct dw_cursor message = {bytes, bytes + size, false};
    struct dw_protobuf_field field;
    while (dw_protobuf_next(&message, &field))
        if (!field.bytes && field.number < count)
            fields[field.number] = field.value;
    return !message.bad;
}
