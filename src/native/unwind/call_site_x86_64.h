/* SPDX-License-Identifier: MIT
 * Whether code calls. */
#ifndef DW_NATIVE_UNWIND_CALL_SITE_X86_64_H
#define DW_NATIVE_UNWIND_CALL_SITE_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#define DW_CALL_MAX_BYTES 7 /* prefixes do not count: they are not needed to know it */

/* Bytes of `call *operand`, from its ff on; 0 when it is another instruction. */
static inline uint32_t dw_indirect_call_size(const uint8_t *code)
{
    uint32_t mode = code[1] >> 6, operand = code[1] & 7;
    if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
        return 0;
    if (mode == 3)
        return 2;
    uint32_t size = operand == 4 ? 3 : 2;
    if (mode == 0)
        return operand == 5 || (operand == 4 && (code[2] & 7) == 5) ? size + 4 : size;
    return mode == 1 ? size + 1 : size + 4;
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
        if (dw_indirect_call_size(code + DW_CALL_MAX_BYTES - size) == size)
            return true;
    return false;
}

#endif
