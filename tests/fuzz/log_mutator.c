/* SPDX-License-Identifier: MIT
 * Changes logs as what they are: chunks. A change inside of one is made before it is packed, and
 * its checksum is right afterwards: bytes, a number that becomes a wild one, rows that come very
 * often or each below the one before. Chunks also come twice, later, never, in another stream, or
 * from another log. */
#include "base/buffer.h"
#include "base/varint.h"
#include "log/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define RAW_MAX (1u << 17)
#define PACKED_MAX (1u << 18)
#define CHUNKS_MAX 4096

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *bytes, size_t size, const uint8_t *others,
                                 size_t others_size, uint8_t *to, size_t max, unsigned seed);

enum {
    CHANGE,
    CHANGE_STORED,
    NUMBER,
    DEEPEN,
    MULTIPLY,
    RENAME,
    MOVE,
    DROP,
    REPEAT,
    AGAIN,
    ACTIONS
};

struct mutation {
    struct dw_chunk chunks[CHUNKS_MAX];
    uint32_t count;
    uint64_t random;
    struct dw_buffer log;
    uint8_t raw[RAW_MAX], packed[PACKED_MAX];
};

static uint32_t below(struct mutation *mutation, size_t bound)
{
    mutation->random = mutation->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((mutation->random >> 33) % bound);
}

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

/* Most payloads are nothing but numbers. One becomes such that a limit or an overflow may hang on
 * it. */
static size_t change_number(struct mutation *mutation, size_t size)
{
    static const uint8_t bits[] = {0, 1, 7, 8, 10, 21, 22, 23, 24, 26, 31, 32, 40, 48, 52, 62, 63};
    uint8_t *raw = mutation->raw, bytes[DW_VARINT_MAX];
    size_t start = below(mutation, size), end = start;
    while (start && raw[start - 1] & 0x80)
        start--;
    while (end < size && raw[end++] & 0x80)
        continue;
    uint64_t wild = UINT64_C(1) << bits[below(mutation, sizeof bits)];
    size_t length = (size_t)(dw_varint_put(bytes, wild - below(mutation, 3)) - bytes);
    if (size + length > RAW_MAX)
        return size;
    memmove(raw + start + length, raw + end, size - end);
    memcpy(raw + start, bytes, length);
    return size - (end - start) + length;
}

/* Rows of two numbers, the first of which is the row before: paths and stacks as deep as can be. */
static size_t make_deep(struct mutation *mutation)
{
    uint32_t first = 1 + below(mutation, 64), count = 1u << below(mutation, 13);
    bool is_one_frame = below(mutation, 2);
    uint8_t *at = dw_varint_put(mutation->raw, first);
    for (uint32_t i = first; i < first + count; i++) {
        at = dw_varint_put(at, i - 1);
        at = dw_varint_put(at, is_one_frame ? 1 : i);
    }
    return (size_t)(at - mutation->raw);
}

/* What comes last, again and again. */
static size_t multiply(struct mutation *mutation, size_t size)
{
    size_t row = 1 + below(mutation, size < 64 ? size : 64);
    uint32_t count = 1u << below(mutation, 12);
    for (uint32_t i = 0; i < count && size + row <= RAW_MAX; i++, size += row)
        memcpy(mutation->raw + size, mutation->raw + size - row, row);
    return size;
}

static size_t change_raw(struct mutation *mutation, size_t size, unsigned action)
{
    if (size && action == NUMBER)
        return change_number(mutation, size);
    if (size && action == MULTIPLY)
        return multiply(mutation, size);
    if (action == DEEPEN)
        return make_deep(mutation);
    return LLVMFuzzerMutate(mutation->raw, size, RAW_MAX);
}

static void change_stored(struct mutation *mutation, struct dw_chunk *chunk)
{
    if (chunk->stored_size > PACKED_MAX / 2)
        return;
    memcpy(mutation->packed, chunk->stored, chunk->stored_size);
    chunk->stored_size =
        (uint32_t)LLVMFuzzerMutate(mutation->packed, chunk->stored_size, PACKED_MAX);
    chunk->stored = mutation->packed;
}

static void change(struct mutation *mutation, struct dw_chunk *chunk, unsigned action)
{
    size_t prefix = prefix_of(chunk);
    size_t size = ZSTD_decompress(mutation->raw, RAW_MAX, chunk->stored + prefix,
                                  chunk->stored_size - prefix);
    if (action == CHANGE_STORED || ZSTD_isError(size)) {
        change_stored(mutation, chunk);
        return;
    }
    memcpy(mutation->packed, chunk->stored, prefix);
    size = change_raw(mutation, size, action);
    chunk->raw_size = (uint32_t)size;
    chunk->stored_size =
        (uint32_t)(prefix + ZSTD_compress(mutation->packed + prefix, PACKED_MAX - prefix,
                                          mutation->raw, size, 1));
    chunk->stored = mutation->packed;
}

static void put_changed(struct mutation *mutation, struct dw_chunk chunk, unsigned action)
{
    switch (action) {
    case RENAME: chunk.type = (uint16_t)(1 + below(mutation, DW_CHUNK_TIMED_ROWS + 1)); break;
    case MOVE: chunk.stream = (uint16_t)below(mutation, 3); break;
    case REPEAT: put(mutation, &chunk); break;
    case AGAIN: break;
    case DROP: return;
    default: change(mutation, &chunk, action); break;
    }
    put(mutation, &chunk);
}

static void list_chunks(struct mutation *mutation, const uint8_t *bytes, size_t size)
{
    struct dw_chunk_walk walk = {.bytes = bytes, .size = size};
    mutation->count = 0;
    while (mutation->count < CHUNKS_MAX && dw_chunk_next(&walk, &mutation->chunks[mutation->count]))
        mutation->count++;
}

static void begin(struct mutation *mutation, unsigned seed)
{
    uint8_t header[DW_LOG_HEADER_SIZE];
    mutation->random = seed;
    dw_log_header_put(header);
    dw_buffer_clear(&mutation->log);
    dw_buffer_append(&mutation->log, header, sizeof header);
}

static size_t finish(const struct mutation *mutation, uint8_t *to, size_t max)
{
    if (mutation->log.size > max)
        return 0;
    memcpy(to, mutation->log.data, mutation->log.size);
    return mutation->log.size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
    static struct mutation mutation;
    begin(&mutation, seed);
    list_chunks(&mutation, bytes, size);
    unsigned action = below(&mutation, ACTIONS + 1);
    if (!mutation.count || action == ACTIONS)
        return LLVMFuzzerMutate(bytes, size, max);
    uint32_t chosen = below(&mutation, mutation.count), again = below(&mutation, mutation.count);
    for (uint32_t i = 0; i < mutation.count; i++) {
        if (i == chosen)
            put_changed(&mutation, mutation.chunks[i], action);
        else
            put(&mutation, &mutation.chunks[i]);
        if (action == AGAIN && i == again)
            put(&mutation, &mutation.chunks[chosen]);
    }
    size_t changed = finish(&mutation, bytes, max);
    return changed ? changed : LLVMFuzzerMutate(bytes, size, max);
}

/* The first chunks of one log, then those of the other from somewhere on, perhaps as a stream of
 * its own. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *bytes, size_t size, const uint8_t *others,
                                 size_t others_size, uint8_t *to, size_t max, unsigned seed)
{
    static struct mutation mutation;
    begin(&mutation, seed);
    list_chunks(&mutation, bytes, size);
    for (uint32_t i = 0, end = below(&mutation, mutation.count + 1); i < end; i++)
        put(&mutation, &mutation.chunks[i]);
    list_chunks(&mutation, others, others_size);
    uint32_t stream = below(&mutation, 4);
    for (uint32_t i = below(&mutation, mutation.count + 1); i < mutation.count; i++) {
        struct dw_chunk chunk = mutation.chunks[i];
        chunk.stream = stream ? (uint16_t)stream : chunk.stream;
        put(&mutation, &chunk);
    }
    return finish(&mutation, to, max);
}
