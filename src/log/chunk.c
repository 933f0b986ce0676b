/* SPDX-License-Identifier: MIT
 * The checksum covers header and payload, so a chunk is either whole or skipped;
 * after damage the next marker with a right checksum is where reading goes on. */
#include "log/chunk.h"

#include "base/crc32c.h"
#include "base/error.h"

#include <string.h>

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void dw_log_header_put(uint8_t bytes[DW_LOG_HEADER_SIZE])
{
    memcpy(bytes, DW_LOG_MAGIC, DW_LOG_MAGIC_SIZE);
    put_u32(bytes + 8, DW_LOG_VERSION);
    put_u32(bytes + 12, dw_crc32c(0, bytes, 12));
}

static uint32_t checksum(const uint8_t *header, const uint8_t *stored, uint32_t stored_size)
{
    uint32_t crc = dw_crc32c(0, header, DW_CHUNK_HEADER_SIZE - 4);
    return dw_crc32c(crc, stored, stored_size);
}

void dw_chunk_put(uint8_t header[DW_CHUNK_HEADER_SIZE], const struct dw_chunk *chunk)
{
    put_u32(header, DW_CHUNK_MARKER);
    put_u32(header + 4, chunk->type | (uint32_t)chunk->stream << 16);
    put_u32(header + 8, chunk->sequence);
    put_u32(header + 12, chunk->stored_size);
    put_u32(header + 16, chunk->raw_size);
    put_u32(header + 20, checksum(header, chunk->stored, chunk->stored_size));
}

uint32_t dw_chunk_stored_size(const uint8_t header[DW_CHUNK_HEADER_SIZE])
{
    return get_u32(header + 12);
}

/* What the header says, when it can be that of a chunk; whether it is one only its checksum tells.
 */
static bool get_header(const uint8_t *bytes, size_t size, struct dw_chunk *chunk)
{
    if (size < DW_CHUNK_HEADER_SIZE || get_u32(bytes) != DW_CHUNK_MARKER)
        return false;
    *chunk = (struct dw_chunk){
        .type = (uint16_t)get_u32(bytes + 4),
        .stream = (uint16_t)(get_u32(bytes + 4) >> 16),
        .sequence = get_u32(bytes + 8),
        .stored_size = get_u32(bytes + 12),
        .raw_size = get_u32(bytes + 16),
        .stored = bytes + DW_CHUNK_HEADER_SIZE,
    };
    return chunk->raw_size <= DW_CHUNK_RAW_MAX && chunk->stored_size <= DW_CHUNK_STORED_MAX &&
           chunk->stored_size <= size - DW_CHUNK_HEADER_SIZE;
}

bool dw_chunk_get(const uint8_t *bytes, size_t size, struct dw_chunk *chunk)
{
    return get_header(bytes, size, chunk) &&
           get_u32(bytes + 20) == checksum(bytes, chunk->stored, chunk->stored_size);
}

/* Every damaged chunk wastes its own size, so a log cannot waste much more than its own. */
static bool may_try(const struct dw_chunk_walk *walk)
{
    return walk->wasted < 4 * (uint64_t)walk->size + 4 * DW_CHUNK_STORED_MAX;
}

static bool try_chunk(struct dw_chunk_walk *walk, struct dw_chunk *chunk)
{
    const uint8_t *bytes = walk->bytes + walk->at;
    if (!get_header(bytes, walk->size - walk->at, chunk))
        return false;
    if (get_u32(bytes + 20) == checksum(bytes, chunk->stored, chunk->stored_size))
        return true;
    walk->wasted += DW_CHUNK_HEADER_SIZE + chunk->stored_size;
    return false;
}

static void count_damage(struct dw_chunk_walk *walk, size_t start)
{
    walk->damaged_runs += walk->at > start;
    walk->damaged_bytes += walk->at - start;
}

bool dw_chunk_next(struct dw_chunk_walk *walk, struct dw_chunk *chunk)
{
    size_t start = walk->at;
    while (walk->at < walk->size && may_try(walk)) {
        if (try_chunk(walk, chunk)) {
            count_damage(walk, start);
            walk->at += DW_CHUNK_HEADER_SIZE + chunk->stored_size;
            return true;
        }
        const uint8_t *from = walk->bytes + walk->at + 1;
        const uint8_t *next = memchr(from, DW_CHUNK_MARKER & 0xff, walk->size - walk->at - 1);
        walk->at = next ? (size_t)(next - walk->bytes) : walk->size;
    }
    walk->at = walk->size;
    count_damage(walk, start);
    return false;
}

int dw_log_header_check(const uint8_t *bytes, size_t size, size_t *start)
{
    struct dw_chunk chunk;
    struct dw_chunk_walk walk = {.bytes = bytes, .size = size};
    bool magic = size >= DW_LOG_MAGIC_SIZE && !memcmp(bytes, DW_LOG_MAGIC, DW_LOG_MAGIC_SIZE);
    bool whole = size >= DW_LOG_HEADER_SIZE && get_u32(bytes + 12) == dw_crc32c(0, bytes, 12);
    if (magic && whole && get_u32(bytes + 8) > DW_LOG_VERSION)
        return DW_ERR_VERSION;
    if (!magic && !dw_chunk_next(&walk, &chunk))
        return DW_ERR_NOT_DWELL;
    *start = !magic ? 0 : size < DW_LOG_HEADER_SIZE ? size : DW_LOG_HEADER_SIZE;
    return 0;
}
