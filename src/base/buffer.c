/* SPDX-License-Identifier: MIT
 * Numbers are varints, and a blob is its size and its bytes. A cursor that has gone bad reads
 * nothing more and gives zeros, so a caller may decode to the end before it looks. */
#include "base/buffer.h"

#include "base/pages.h"

#include <stdlib.h>
#include <string.h>

static bool is_in_pages(const struct dw_buffer *buffer, size_t capacity)
{
    return buffer->has_pages && capacity >= DW_PAGES_MIN;
}

void dw_buffer_release(struct dw_buffer *buffer)
{
    if (is_in_pages(buffer, buffer->capacity))
        dw_pages_resize(buffer->data, buffer->capacity, 0);
    else
        free(buffer->data);
    *buffer = (struct dw_buffer){.has_pages = buffer->has_pages};
}

/* What is in it, in more room; NULL when there is none. */
static uint8_t *resize(struct dw_buffer *buffer, size_t capacity)
{
    if (!is_in_pages(buffer, capacity))
        return realloc(buffer->data, capacity);
    if (is_in_pages(buffer, buffer->capacity))
        return dw_pages_resize(buffer->data, buffer->capacity, capacity);
    uint8_t *data = dw_pages_resize(NULL, 0, capacity);
    if (data && buffer->size)
        memcpy(data, buffer->data, buffer->size);
    if (data)
        free(buffer->data);
    return data;
}

void dw_buffer_clear(struct dw_buffer *buffer)
{
    buffer->size = 0;
}

void dw_buffer_restart(struct dw_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

uint8_t *dw_buffer_reserve(struct dw_buffer *buffer, size_t size)
{
    if (buffer->failed)
        return NULL;
    if (buffer->capacity - buffer->size < size) {
        size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
        while (capacity - buffer->size < size)
            capacity *= 2;
        uint8_t *data = resize(buffer, capacity);
        if (!data) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = data;
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->size;
}

void dw_buffer_append(struct dw_buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *at = size ? dw_buffer_reserve(buffer, size) : NULL;
    if (!at)
        return;
    memcpy(at, bytes, size);
    buffer->size += size;
}

void dw_buffer_put_blob(struct dw_buffer *buffer, const void *bytes, size_t size)
{
    dw_buffer_put(buffer, size);
    dw_buffer_append(buffer, bytes, size);
}

uint64_t dw_cursor_get_long(struct dw_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (cursor->bad || cursor->at == cursor->end)
            break;
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->bad = true;
    return 0;
}

const uint8_t *dw_cursor_get_blob(struct dw_cursor *cursor, size_t *size)
{
    uint64_t length = dw_cursor_get(cursor);
    if (cursor->bad || length > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        *size = 0;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += length;
    *size = (size_t)length;
    return bytes;
}
