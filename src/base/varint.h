/* SPDX-License-Identifier: MIT
 * LEB128 variable-length integers: 7 bits a byte, least significant first. */
#ifndef DW_BASE_VARINT_H
#define DW_BASE_VARINT_H

#include <stdint.h>

#define DW_VARINT_MAX 10 /* bytes of the longest 64-bit varint */

/* Writes value at `at`, which has room for DW_VARINT_MAX bytes; returns the end. [signal-safe] */
static inline uint8_t *dw_varint_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Small magnitudes of either sign become small unsigned numbers. */
static inline uint64_t dw_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t dw_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
