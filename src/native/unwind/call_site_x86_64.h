/* SPDX-License-Identifier: MIT
 * Whether code calls. */
#ifndef DW_NATIVE_UNWIND_CALL_SITE_X86_64_H
#define DW_NATIVE_UNWIND_CALL_SITE_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#define DW_CALL_MAX_BYTES 7 /* prefixes do not count: they are not needed to know it */

/* Whether the bytes, two of them at least, are all of a `call *operand`, from its ff on. */
static inline bool dw_is_indirect_call(const uint8_t *code, uint32_t size)
{
    uint32_t mode = code[1] >> 6, operand = code[1] & 7;
    if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
        return false;
    if (mode == 3)
        return size == 2;
    uint32_t head = operand == 4 ? 3 : 2; /* one byte more says what is added up */
    if (size < head)
        return false;
    bool is_far = mode == 2 || (mode == 0 && (code[head - 1] & 7) == 5);
    return size == head + (is_far ? 4 : mode);
}

#define DW_DIRECT_CALL_BYTES 5

/* What the call goes to that ends at the address; false when that is not in the code. */
static inline bool dw_call_target(const uint8_t *code, uint64_t end, uint64_t *target)
{
    uint32_t distance = (uint32_t)code[1] | (uint32_t)code[2] << 8 | (uint32_t)code[3] << 16 |
                        (uint32_t)code[4] << 24;
    *target = end + (uint64_t)(int64_t)(int32_t)distance;
    return *code == 0xe8;
}

/* Whether the bytes, DW_CALL_MAX_BYTES of them, can end in a call. */
static inline bool dw_call_ends(const uint8_t *code)
{
    if (code[DW_CALL_MAX_BYTES - 5] == 0xe8)
        return true;
    for (uint32_t size = 2; size <= DW_CALL_MAX_BYTES; size++)
        if (dw_is_indirect_call(code + DW_CALL_MAX_BYTES - size, size))
            return true;
    return false;
}

#endif
