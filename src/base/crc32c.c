/* SPDX-License-Identifier: MIT
 * By the processor's own instruction where it has one; else eight table look-ups per eight bytes,
 * about a byte a cycle. */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u

static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][i] = crc;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
}

static uint32_t by_tables(uint32_t crc, const uint8_t *at, size_t size)
{
    pthread_once(&tables_once, make_tables);
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        word ^= crc;
        crc = tables[7][word & 0xff] ^ tables[6][(word >> 8) & 0xff] ^
              tables[5][(word >> 16) & 0xff] ^ tables[4][(word >> 24) & 0xff] ^
              tables[3][(word >> 32) & 0xff] ^ tables[2][(word >> 40) & 0xff] ^
              tables[1][(word >> 48) & 0xff] ^ tables[0][word >> 56];
    }
    for (; size; at++, size--)
        crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
    return crc;
}

#ifdef __x86_64__

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *at,
                                                                 size_t size)
{
    uint64_t wide = crc;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    for (crc = (uint32_t)wide; size; at++, size--)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return crc;
}

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}

#else

#define by_instruction by_tables

static bool has_instruction(void)
{
    return false;
}

#endif

uint32_t dw_crc32c(uint32_t crc, const void *bytes, size_t size)
{
    return ~(has_instruction() ? by_instruction(~crc, bytes, size) : by_tables(~crc, bytes, size));
}
