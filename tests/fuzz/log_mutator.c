/* SPDX-License-Identifier: MIT
 * Changes logs as what they are: chunks. A change inside of one is made before it is packed, and
 * its checksum is right afterwards; chunks also come twice, later, never, or in another stream. */
#include "base/buffer.h"
#include "log/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define RAW_MAX (1u << 18)
#define CHUNKS_MAX 4096

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed);

struct mutation {
    struct dw_chunk chunks[CHUNKS_MAX];
    uint32_t count;
    uint32_t chosen, other;
    struct dw_buffer log;
    uint8_t raw[RAW_MAX], packed[2 * RAW_MAX];
};

enum { CHANGE, CHANGE_TOO, CHANGE_STORED, RENAME, MOVE, DROP, REPEAT, SPLIT, ACTIONS };

static void put(struct mutation *mutation, const struct dw_chunk *chunk)
{
    uint8_t header[DW_CHUNK_HEADER_SIZE];
    dw_chunk_put(header, chunk);
    dw_buffer_append(&mutation->log, header, sizeof header);
    dw_buffer_append(&mutation->log, chunk->stored, chunk->stored_size);
}

/* Events have a plain prefix: where their frame begins. */
static size_t prefix_of(const struct dw_chunk *chunk)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    for (size_t i = 0; chunk->type == DW_CHUNK_EVENTS && i + 4 <= chunk->stored_size && i < 64; i++)
        if (!memcmp(chunk->stored + i, magic, sizeof magic))
            return i;
    return 0;
}

static bool change_raw(struct mutation *mutation, struct dw_chunk *chunk)
{
    size_t prefix = prefix_of(chunk);
    size_t size = ZSTD_decompress(mutation->raw, RAW_MAX / 2, chunk->stored + prefix,
                                  chunk->stored_size - prefix);
    if (ZSTD_isError(size))
        return false;
    memcpy(mutation->packed, chunk->stored, prefix);
    size = LLVMFuzzerMutate(mutation->raw, size, RAW_MAX / 2);
    size_t packed = ZSTD_compress(mutation->packed + prefix, sizeof mutation->packed - prefix,
                                  mutation->raw, size, 1);
    chunk->raw_size = (uint32_t)size;
    chunk->stored_size = (uint32_t)(prefix + packed);
    chunk->stored = mutation->packed;
    return !ZSTD_isError(packed);
}

static void change_stored(struct mutation *mutation, struct dw_chunk *chunk)
{
    if (chunk->stored_size > RAW_MAX)
        return;
    memcpy(mutation->packed, chunk->stored, chunk->stored_size);
    chunk->stored_size =
        (uint32_t)LLVMFuzzerMutate(mutation->packed, chunk->stored_size, 2 * RAW_MAX);
    chunk->stored = mutation->packed;
}

static void put_chosen(struct mutation *mutation, unsigned action, unsigned random)
{
    struct dw_chunk chunk = mutation->chunks[mutation->chosen];
    switch (action) {
    case CHANGE:
    case CHANGE_TOO:
        if (!change_raw(mutation, &chunk))
            change_stored(mutation, &chunk);
        break;
    case CHANGE_STORED: change_stored(mutation, &chunk); break;
    case RENAME: chunk.type = (uint16_t)(1 + random % 19); break;
    case MOVE: chunk.stream = (uint16_t)(random % 3); break;
    case REPEAT: put(mutation, &chunk); break;
    case DROP: return;
    default: break;
    }
    put(mutation, &chunk);
}

/* The second action of a chunk is to come where another was. */
static void put_all(struct mutation *mutation, unsigned action, unsigned random)
{
    for (uint32_t i = 0; i < mutation->count; i++) {
        if (action == SPLIT && i == mutation->other)
            put(mutation, &mutation->chunks[mutation->chosen]);
        if (i == mutation->chosen)
            put_chosen(mutation, action, random);
        else
            put(mutation, &mutation->chunks[i]);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
    static struct mutation mutation;
    struct dw_chunk_walk walk = {.bytes = bytes, .size = size};
    unsigned action = seed % (ACTIONS + 1), random = seed / (ACTIONS + 1);
    mutation.count = 0;
    while (mutation.count < CHUNKS_MAX && dw_chunk_next(&walk, &mutation.chunks[mutation.count]))
        mutation.count++;
    if (!mutation.count || action == ACTIONS)
        return LLVMFuzzerMutate(bytes, size, max);
    uint8_t header[DW_LOG_HEADER_SIZE];
    mutation.chosen = random % mutation.count;
    mutation.other = random / 7 % mutation.count;
    dw_log_header_put(header);
    dw_buffer_clear(&mutation.log);
    dw_buffer_append(&mutation.log, header, sizeof header);
    put_all(&mutation, action, random);
    if (mutation.log.size > max)
        return LLVMFuzzerMutate(bytes, size, max);
    memcpy(bytes, mutation.log.data, mutation.log.size);
    return mutation.log.size;
}
