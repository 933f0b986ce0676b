/* SPDX-License-Identifier: MIT
 * Reads the bytes of one record of unwind information, a window at a time. Nothing is believed:
 * the first read beyond the end fails, and all after it give 0. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_CFI_CURSOR_H
#define DW_NATIVE_UNWIND_CFI_CURSOR_H

#include "native/unwind/unwind.h"

/* Where unwind information is read: by `known` from start to end, by `doubt` elsewhere. */
struct dw_cfi_source {
    const struct dw_memory *known, *doubt;
    uint64_t start, end;
};

bool dw_cfi_read(const struct dw_cfi_source *source, uint64_t address, void *to, size_t size);

#define DW_CFI_WINDOW_BYTES 128

struct dw_cfi_cursor {
    const struct dw_cfi_source *source;
    uint64_t at, end;
    uint64_t window_start;
    uint32_t window_size;
    bool failed;
    uint8_t window[DW_CFI_WINDOW_BYTES];
};

void dw_cfi_cursor_init(struct dw_cfi_cursor *cursor, const struct dw_cfi_source *source,
                        uint64_t start, uint64_t end);
uint8_t dw_cfi_byte(struct dw_cfi_cursor *cursor);
/* `size` bytes as a number, low byte first. */
uint64_t dw_cfi_fixed(struct dw_cfi_cursor *cursor, uint32_t size);
uint64_t dw_cfi_uleb(struct dw_cfi_cursor *cursor);
int64_t dw_cfi_sleb(struct dw_cfi_cursor *cursor);
void dw_cfi_skip(struct dw_cfi_cursor *cursor, uint64_t size);

/* How addresses are written: DW_EH_PE_*. */
enum {
    DW_POINTER_OMITTED = 0xff,
    DW_POINTER_U32 = 0x03,
    DW_POINTER_FORM = 0x0f,
    DW_POINTER_RELATIVE = 0x70,
    DW_POINTER_FROM_HERE = 0x10,
    DW_POINTER_FROM_HDR = 0x30,
    DW_POINTER_I32_FROM_HDR = 0x3b,
    DW_POINTER_INDIRECT = 0x80,
};
/* The number alone, without what it is relative to. */
uint64_t dw_cfi_number(struct dw_cfi_cursor *cursor, uint8_t encoding);
/* An address; DW_POINTER_FROM_HDR is from `hdr`. Indirect ones fail. */
uint64_t dw_cfi_pointer(struct dw_cfi_cursor *cursor, uint8_t encoding, uint64_t hdr);

#endif
