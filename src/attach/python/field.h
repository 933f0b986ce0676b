/* SPDX-License-Identifier: MIT
 * Fields of structures of another process, in a copy of their bytes. */
#ifndef DW_ATTACH_PYTHON_FIELD_H
#define DW_ATTACH_PYTHON_FIELD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t dw_u64_at(const uint8_t *bytes, size_t offset)
{
    uint64_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static inline uint32_t dw_u32_at(const uint8_t *bytes, size_t offset)
{
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* 3.14 and later keep flags in the low bits of the references that frames hold. */
static inline uint64_t dw_py_untagged(uint64_t reference)
{
    return reference & ~(uint64_t)7;
}

#endif
