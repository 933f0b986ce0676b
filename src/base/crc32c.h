/* SPDX-License-Identifier: MIT
 * CRC-32C (Castagnoli), the checksum of every chunk in a log. */
#ifndef DW_BASE_CRC32C_H
#define DW_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over the bytes. */
uint32_t dw_crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
