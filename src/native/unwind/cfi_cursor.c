/* SPDX-License-Identifier: MIT
 * The window saves system calls when the memory is that of another process. A read beyond the
 * record's end fails rather than wraps, whatever the sizes in it say. */
#include "native/unwind/cfi_cursor.h"

#define LEB_MAX_BYTES 10

bool dw_cfi_read(const struct dw_cfi_source *source, uint64_t address, void *to, size_t size)
{
    bool is_known =
        address >= source->start && address <= source->end && size <= source->end - address;
    const struct dw_memory *memory = is_known ? source->known : source->doubt;
    return memory->read(memory->context, address, to, size);
}

void dw_cfi_cursor_init(struct dw_cfi_cursor *cursor, const struct dw_cfi_source *source,
                        uint64_t start, uint64_t end)
{
    cursor->source = source;
    cursor->at = start;
    cursor->end = end;
    cursor->window_start = start;
    cursor->window_size = 0;
    cursor->failed = end < start;
}

static bool fill_window(struct dw_cfi_cursor *cursor)
{
    uint64_t left = cursor->end - cursor->at;
    uint32_t size = left < DW_CFI_WINDOW_BYTES ? (uint32_t)left : DW_CFI_WINDOW_BYTES;
    cursor->window_start = cursor->at;
    cursor->window_size = size;
    return dw_cfi_read(cursor->source, cursor->at, cursor->window, size);
}

uint8_t dw_cfi_byte(struct dw_cfi_cursor *cursor)
{
    if (cursor->failed || cursor->at >= cursor->end)
        cursor->failed = true;
    else if (cursor->at - cursor->window_start >= cursor->window_size)
        cursor->failed = !fill_window(cursor);
    if (cursor->failed)
        return 0;
    return cursor->window[cursor->at++ - cursor->window_start];
}

uint64_t dw_cfi_fixed(struct dw_cfi_cursor *cursor, uint32_t size)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < size; i++)
        value |= (uint64_t)dw_cfi_byte(cursor) << 8 * i;
    return value;
}

/* Reads seven bits a byte; *bits becomes how many bits there were. */
static uint64_t read_leb(struct dw_cfi_cursor *cursor, uint32_t *bits, bool *is_negative)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < LEB_MAX_BYTES; i++) {
        uint8_t byte = dw_cfi_byte(cursor);
        value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (!(byte & 0x80)) {
            *bits = 7 * (i + 1);
            *is_negative = byte & 0x40;
            return value;
        }
    }
    cursor->failed = true;
    *bits = 64;
    *is_negative = false;
    return 0;
}

uint64_t dw_cfi_uleb(struct dw_cfi_cursor *cursor)
{
    uint32_t bits;
    bool is_negative;
    return read_leb(cursor, &bits, &is_negative);
}

int64_t dw_cfi_sleb(struct dw_cfi_cursor *cursor)
{
    uint32_t bits;
    bool is_negative;
    uint64_t value = read_leb(cursor, &bits, &is_negative);
    if (is_negative && bits < 64)
        value |= UINT64_MAX << bits;
    return (int64_t)value;
}

void dw_cfi_skip(struct dw_cfi_cursor *cursor, uint64_t size)
{
    if (cursor->failed || size > cursor->end - cursor->at)
        cursor->failed = true;
    else
        cursor->at += size;
}

uint64_t dw_cfi_number(struct dw_cfi_cursor *cursor, uint8_t encoding)
{
    switch (encoding & DW_POINTER_FORM) {
    case 0x00: return dw_cfi_fixed(cursor, 8);
    case 0x01: return dw_cfi_uleb(cursor);
    case 0x02: return dw_cfi_fixed(cursor, 2);
    case 0x03: return dw_cfi_fixed(cursor, 4);
    case 0x04: return dw_cfi_fixed(cursor, 8);
    case 0x09: return (uint64_t)dw_cfi_sleb(cursor);
    case 0x0a: return (uint64_t)(int16_t)dw_cfi_fixed(cursor, 2);
    case 0x0b: return (uint64_t)(int32_t)dw_cfi_fixed(cursor, 4);
    case 0x0c: return dw_cfi_fixed(cursor, 8);
    default: cursor->failed = true; return 0;
    }
}

uint64_t dw_cfi_pointer(struct dw_cfi_cursor *cursor, uint8_t encoding, uint64_t hdr)
{
    uint64_t here = cursor->at;
    uint64_t number = dw_cfi_number(cursor, encoding);
    switch (encoding & (DW_POINTER_RELATIVE | DW_POINTER_INDIRECT)) {
    case 0: return number;
    case DW_POINTER_FROM_HERE: return here + number;
    case DW_POINTER_FROM_HDR: return hdr + number;
    default: cursor->failed = true; return 0;
    }
}
