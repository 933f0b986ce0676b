/* SPDX-License-Identifier: MIT
 * Takes logs through all views without a fuzzer: on the files given, or else on a small
 * log changed in many ways, the same ones each time. Chunks get right checksums
 * after a change, so that what is behind the checksum is tried too. */
#include "fixture.h"
#include "fuzz_log.h"

#include "base/file.h"
#include "log/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define ROUNDS 3000
#define SEEDS 4
#define STORED_MAX 4096

static void change_bytes(uint8_t *bytes, size_t size)
{
    for (uint32_t i = 0, count = 1 + fixture_random_below(4); size && i < count; i++) {
        uint8_t *byte = &bytes[fixture_random_below((uint32_t)size)];
        switch (fixture_random_below(4)) {
        case 0: *byte ^= (uint8_t)(1u << fixture_random_below(8)); break;
        case 1: *byte = (uint8_t)fixture_random_below(256); break;
        case 2: *byte = 0xff; break;
        default: *byte = 0; break;
        }
    }
}

/* The chunk with its decompressed payload changed, whole again. */
static void append_changed(struct dw_buffer *log, const struct dw_chunk *chunk)
{
    uint8_t raw[STORED_MAX], stored[STORED_MAX], header[DW_CHUNK_HEADER_SIZE];
    size_t size = ZSTD_decompress(raw, sizeof raw, chunk->stored, chunk->stored_size);
    struct dw_chunk changed = *chunk;
    if (ZSTD_isError(size)) { /* events, behind their plain prefix */
        memcpy(stored, chunk->stored, chunk->stored_size);
        change_bytes(stored, chunk->stored_size);
    } else {
        change_bytes(raw, size);
        size_t packed = ZSTD_compress(stored, sizeof stored, raw, size, 1);
        changed.stored_size = (uint32_t)packed;
    }
    changed.stored = stored;
    dw_chunk_put(header, &changed);
    dw_buffer_append(log, header, sizeof header);
    dw_buffer_append(log, stored, changed.stored_size);
}

static void run_changed(const struct dw_buffer *seed)
{
    struct dw_buffer log = {0};
    struct dw_chunk chunk;
    struct dw_chunk_walk walk = {.bytes = seed->data, .size = seed->size, .at = DW_LOG_HEADER_SIZE};
    dw_buffer_append(&log, seed->data, DW_LOG_HEADER_SIZE);
    while (dw_chunk_next(&walk, &chunk)) {
        uint32_t fate = fixture_random_below(10);
        size_t size = DW_CHUNK_HEADER_SIZE + chunk.stored_size;
        if (fate < 3)
            append_changed(&log, &chunk);
        else if (fate < 9)
            dw_buffer_append(&log, chunk.stored - DW_CHUNK_HEADER_SIZE, size);
    }
    if (!fixture_random_below(4))
        change_bytes(log.data, log.size);
    if (!fixture_random_below(8))
        log.size = fixture_random_below((uint32_t)log.size + 1);
    fuzz_log_all(log.data, log.size);
    dw_buffer_release(&log);
}

static void run_log(struct dw_log_writer *writer)
{
    for (int i = 0; i < ROUNDS / SEEDS; i++)
        run_changed(&writer->memory);
    dw_log_writer_release(writer);
}

static void run_seed(struct dw_profile *profile)
{
    struct dw_log_writer writer;
    fixture_save(profile, &writer);
    run_log(&writer);
    dw_profile_free(profile);
}

/* Rows as older versions wrote them. */
static void run_old_seed(void)
{
    struct dw_log_writer writer;
    struct dw_profile *profile = fixture_small();
    if (!dw_log_writer_init(&writer, -1)) {
        fixture_write_main(profile, &profile->processes[0], 10000000, &writer);
        run_log(&writer);
    }
    dw_profile_free(profile);
}

static int run_seeds(void)
{
    struct dw_profile *profile = fixture_small();
    fixture_add_lines(profile);
    fixture_timing(profile, "first", 6, 20000000);
    fixture_timing(profile, "second", 6, 30000000);
    run_seed(profile);
    run_seed(fixture_sampled(DW_SAMPLE_CPU));
    run_seed(fixture_mixed());
    run_old_seed();
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct dw_file file;
        if (dw_file_open(argv[i], &file)) {
            perror(argv[i]);
            return 1;
        }
        fuzz_log_all(file.data, file.size);
        dw_file_close(&file);
    }
    return argc > 1 ? 0 : run_seeds();
}
