/* SPDX-License-Identifier: MIT
 * The bytes of a log: a file header, then chunks. docs/format.md explains them.
 * Everything is little-endian; nothing is ever rewritten. */
#ifndef DW_LOG_CHUNK_H
#define DW_LOG_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DW_LOG_MAGIC                                                                               \
    "\x89"                                                                                         \
    "DWELL\r\n"
#define DW_LOG_MAGIC_SIZE 8
#define DW_LOG_VERSION 1
#define DW_LOG_HEADER_SIZE 16

#define DW_CHUNK_MARKER 0x4b435744u /* "DWCK" */
#define DW_CHUNK_HEADER_SIZE 24
#define DW_CHUNK_RAW_MAX (4u << 20) /* a larger payload is refused unread */
#define DW_CHUNK_STORED_MAX                                                                        \
    (DW_CHUNK_RAW_MAX + (1u << 16)) /* what does not compress, and a prefix */
#define DW_LOG_STREAMS_MAX 64       /* chunks of streams beyond are skipped */

enum dw_chunk_type {
    DW_CHUNK_PROCESS = 1,
    DW_CHUNK_CLOCK = 2,
    DW_CHUNK_STRINGS = 3,
    DW_CHUNK_FRAMES = 4,
    DW_CHUNK_PATHS = 5,
    DW_CHUNK_THREAD = 6,
    DW_CHUNK_VALUES = 7,
    DW_CHUNK_EVENTS = 8,
    DW_CHUNK_SOURCE = 9,
    DW_CHUNK_END = 10,
    DW_CHUNK_LINES = 11,
    DW_CHUNK_TIMINGS = 12,
    DW_CHUNK_MODULES = 13,
    DW_CHUNK_PLACES = 14,
    DW_CHUNK_STACKS = 15,
    DW_CHUNK_SAMPLES = 16,
    DW_CHUNK_SAMPLING = 17,
    DW_CHUNK_TIMED_SAMPLES = 18,
    DW_CHUNK_MEASURES = 19,
    DW_CHUNK_LABELS = 20,
    DW_CHUNK_TREE = 21,
    DW_CHUNK_ROWS = 22,
    DW_CHUNK_TIMED_ROWS = 23,
    DW_CHUNK_SERIES = 24,
    DW_CHUNK_PROPERTIES = 25,
    DW_CHUNK_HEAP = 26,
};

struct dw_chunk {
    uint16_t type;
    uint16_t stream; /* ids and sequences are those of one writer of the file */
    uint32_t sequence;
    uint32_t raw_size;
    uint32_t stored_size;
    const uint8_t *stored; /* zstd frame, inside the log's bytes; EVENTS has a plain prefix */
};

void dw_log_header_put(uint8_t bytes[DW_LOG_HEADER_SIZE]);
/* 0, DW_ERR_NOT_DWELL, or DW_ERR_VERSION. *start becomes where chunks may begin: behind the
 * header, or where a file begins that has lost it but holds an intact chunk. */
int dw_log_header_check(const uint8_t *bytes, size_t size, size_t *start);

/* Fills in the header of a chunk whose payload follows. */
void dw_chunk_put(uint8_t header[DW_CHUNK_HEADER_SIZE], const struct dw_chunk *chunk);
/* How many bytes a header says that follow it. */
uint32_t dw_chunk_stored_size(const uint8_t header[DW_CHUNK_HEADER_SIZE]);
/* True when an intact chunk starts at `bytes`. */
bool dw_chunk_get(const uint8_t *bytes, size_t size, struct dw_chunk *chunk);

/* Walks over the intact chunks of a log and counts what lies between them. Bytes that look like
 * chunks again and again, and are not, end the walk: what is behind them counts as damage. */
struct dw_chunk_walk {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    uint64_t wasted; /* bytes of which the checksum was computed in vain */
    uint64_t damaged_runs;
    uint64_t damaged_bytes;
};

bool dw_chunk_next(struct dw_chunk_walk *walk, struct dw_chunk *chunk);

#endif
