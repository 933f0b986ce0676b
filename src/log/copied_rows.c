/* SPDX-License-Identifier: MIT
 * The bytes of all rows of a thread lie in one buffer. A row says where, and in the place of its
 * spread, how many they are and whether a spread is among them. */
#include "log/copied_rows.h"

#include "base/error.h"
#include "base/varint.h"
#include "model/moments.h"

#include <string.h>
#include <zstd.h>

#define HIGH_BITS UINT64_C(0x8080808080808080) /* set in the bytes that end no number */
#define LOW_BITS UINT64_C(0x0101010101010101)

/* What a row has after its path and labels. */
struct encoded {
    dw_measure_mask mask;
    const uint8_t *bytes; /* its numbers, then its spread */
    size_t size;
    bool has_spread;
};

static const bool can_copy_type[] = {
    [DW_CHUNK_PROCESS] = true,    [DW_CHUNK_CLOCK] = true,    [DW_CHUNK_STRINGS] = true,
    [DW_CHUNK_FRAMES] = true,     [DW_CHUNK_THREAD] = true,   [DW_CHUNK_SOURCE] = true,
    [DW_CHUNK_END] = true,        [DW_CHUNK_TIMINGS] = true,  [DW_CHUNK_MODULES] = true,
    [DW_CHUNK_PLACES] = true,     [DW_CHUNK_SAMPLING] = true, [DW_CHUNK_MEASURES] = true,
    [DW_CHUNK_LABELS] = true,     [DW_CHUNK_TREE] = true,     [DW_CHUNK_ROWS] = true,
    [DW_CHUNK_TIMED_ROWS] = true, [DW_CHUNK_SERIES] = true,   [DW_CHUNK_PROPERTIES] = true,
    [DW_CHUNK_HEAP] = true,
};

static bool has_own_measures(const struct dw_reading *probe)
{
    for (uint32_t i = 0; i < DW_MEASURES_MAX; i++) {
        const struct dw_log_measure *measure = &probe->measures[i];
        bool in_ticks = i < DW_MEASURES && DW_TICK_MASK & DW_MASK(i);
        if (measure->measure < DW_MEASURES &&
            (measure->measure != i || measure->in_ticks != in_ticks))
            return false;
    }
    return true;
}

static bool are_own_measures(const struct dw_chunk *chunk, struct dw_reading *probe)
{
    size_t size = ZSTD_decompressDCtx(probe->decompressor, probe->raw, chunk->raw_size,
                                      chunk->stored, chunk->stored_size);
    if (ZSTD_isError(size))
        return true; /* so they are read as none */
    struct dw_cursor cursor = {probe->raw, probe->raw + size, false};
    dw_read_measures(probe, &cursor);
    return has_own_measures(probe);
}

bool dw_log_can_copy(const struct dw_chunk *chunks, uint32_t count, struct dw_reading *probe)
{
    for (uint32_t i = 0; i < count; i++) {
        uint16_t type = chunks[i].type;
        if (type >= sizeof can_copy_type / sizeof *can_copy_type || !can_copy_type[type] ||
            chunks[i].stream)
            return false;
        if (type == DW_CHUNK_MEASURES && !are_own_measures(&chunks[i], probe))
            return false;
    }
    return true;
}

/* Steps over so many numbers, eight bytes at a time: only where numbers end must be known. */
static void skip_numbers(struct dw_cursor *cursor, uint64_t count)
{
    uint32_t begun = 0; /* bytes of a number before this word */
    while (count && cursor->end - cursor->at >= 8) {
        uint64_t word;
        memcpy(&word, cursor->at, sizeof word);
        uint64_t ends = ~word & HIGH_BITS;
        uint32_t before = ends ? (uint32_t)__builtin_ctzll(ends) / 8 : 8;
        if (begun + before >= DW_VARINT_MAX) {
            cursor->bad = true;
            return;
        }
        uint64_t found = (ends >> 7) * LOW_BITS >> 56;
        if (found >= count) {
            while (--count)
                ends &= ends - 1;
            cursor->at += __builtin_ctzll(ends) / 8 + 1;
            return;
        }
        count -= found;
        begun = ends ? (uint32_t)__builtin_clzll(ends) / 8 : begun + 8;
        cursor->at += 8;
    }
    cursor->at -= begun;
    while (count-- && !cursor->bad)
        dw_cursor_get(cursor);
}

static void skip_spread(struct dw_cursor *cursor)
{
    skip_numbers(cursor, 2);
    uint64_t bucket = 0, count = dw_cursor_get(cursor);
    cursor->bad |= count > (uint64_t)(cursor->end - cursor->at) / 2;
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        bucket += dw_cursor_get_u32(cursor);
        dw_cursor_get(cursor);
        cursor->bad |= bucket >= DW_HISTOGRAM_BUCKETS;
    }
}

static uint32_t count_measures(struct dw_reading *reading, dw_measure_mask mask)
{
    if (mask != reading->counted_mask) {
        reading->counted_mask = mask;
        reading->counted = (uint32_t)__builtin_popcountll(mask);
    }
    return reading->counted;
}

/* The numbers by measure; what follows them is left in the cursor. */
static struct dw_cursor decode(const struct encoded *row, uint64_t numbers[DW_MEASURES_MAX])
{
    struct dw_cursor cursor = {row->bytes, row->bytes + row->size, false};
    for (dw_measure_mask rest = row->mask; rest; rest &= rest - 1)
        numbers[__builtin_ctzll(rest)] = dw_cursor_get(&cursor);
    return cursor;
}

static void encode(struct dw_buffer *into, const uint64_t *numbers, dw_measure_mask mask)
{
    dw_buffer_restart(into);
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1)
        dw_buffer_put(into, numbers[__builtin_ctzll(rest)]);
}

/* Makes what is in the buffer the numbers and the spread of the row. */
static int take_bytes(const struct dw_buffer *from, struct encoded *row)
{
    row->bytes = from->data;
    row->size = from->size;
    return from->failed ? DW_ERR_MEMORY : 0;
}

/* A histogram as it is read: the bucket at hand, and how many come after it. */
struct buckets {
    struct dw_cursor cursor;
    uint64_t left, bucket, hits;
};

/* The next bucket, or one beyond all. */
static void next_bucket(struct buckets *buckets)
{
    if (!buckets->left) {
        buckets->bucket = DW_HISTOGRAM_BUCKETS;
        return;
    }
    buckets->left--;
    buckets->bucket += dw_cursor_get(&buckets->cursor);
    buckets->hits = dw_cursor_get(&buckets->cursor);
}

static struct buckets first_bucket(struct dw_cursor spread)
{
    struct buckets buckets = {.cursor = spread};
    skip_numbers(&buckets.cursor, 2);
    buckets.left = dw_cursor_get(&buckets.cursor);
    next_bucket(&buckets);
    return buckets;
}

/* Puts the buckets of both, with the hits of the newer one where it tells them. How many they are,
 * when `into` is NULL. */
static uint64_t put_buckets(struct dw_buffer *into, struct buckets older, struct buckets newer)
{
    uint64_t count = 0, previous = 0;
    while (older.bucket < DW_HISTOGRAM_BUCKETS || newer.bucket < DW_HISTOGRAM_BUCKETS) {
        bool is_newer = newer.bucket <= older.bucket, is_older = older.bucket <= newer.bucket;
        const struct buckets *from = is_newer ? &newer : &older;
        if (into) {
            dw_buffer_put(into, from->bucket - previous);
            dw_buffer_put(into, from->hits);
        }
        previous = from->bucket;
        count++;
        if (is_newer)
            next_bucket(&newer);
        if (is_older)
            next_bucket(&older);
    }
    return count;
}

/* A log tells of a histogram what has changed in it. */
static void put_both(struct dw_buffer *into, struct dw_cursor older, struct dw_cursor newer)
{
    struct buckets before = first_bucket(older), after = first_bucket(newer);
    struct dw_cursor squares = newer;
    skip_numbers(&squares, 2);
    dw_buffer_append(into, newer.at, (size_t)(squares.at - newer.at));
    dw_buffer_put(into, put_buckets(NULL, before, after));
    put_buckets(into, before, after);
}

static void put_spread(struct dw_buffer *into, struct dw_cursor spread)
{
    dw_buffer_append(into, spread.at, (size_t)(spread.end - spread.at));
}

/* Leaves out the measures that this build does not know. */
static int drop_unknown(struct dw_reading *reading, struct encoded *row)
{
    uint64_t numbers[DW_MEASURES_MAX];
    struct dw_cursor spread = decode(row, numbers);
    row->mask &= reading->own_measures;
    encode(&reading->scratch, numbers, row->mask);
    put_spread(&reading->scratch, spread);
    return take_bytes(&reading->scratch, row);
}

/* A row tells of what has changed; what was told before stays. */
static int combine(struct dw_reading *reading, const struct dw_value_table *values,
                   const struct dw_value_row *kept, struct encoded *row)
{
    uint64_t numbers[DW_MEASURES_MAX];
    struct encoded before = {
        .mask = kept->mask, .bytes = values->copied.data + kept->first, .size = kept->spread >> 1};
    struct dw_cursor older = decode(&before, numbers), newer = decode(row, numbers);
    row->mask |= before.mask;
    encode(&reading->combined, numbers, row->mask);
    if (row->has_spread && kept->spread & 1)
        put_both(&reading->combined, older, newer);
    else
        put_spread(&reading->combined, row->has_spread ? newer : older);
    row->has_spread |= kept->spread & 1;
    return take_bytes(&reading->combined, row);
}

/* In the place of the bytes that the row had, if these were not fewer. */
static int place(struct dw_value_table *values, struct dw_value_row *kept,
                 const struct encoded *row)
{
    if (row->size > kept->spread >> 1) {
        if (values->copied.size > UINT32_MAX - DW_CHUNK_RAW_MAX)
            return DW_ERR_TOO_LARGE;
        kept->first = (uint32_t)values->copied.size;
        dw_buffer_append(&values->copied, row->bytes, row->size);
    } else if (row->size) {
        memcpy(values->copied.data + kept->first, row->bytes, row->size);
    }
    kept->mask = row->mask;
    kept->spread = (uint32_t)row->size << 1 | row->has_spread;
    values->mask |= row->mask;
    return values->copied.failed ? DW_ERR_MEMORY : 0;
}

static int keep(struct dw_reading *reading, struct dw_value_table *values, uint32_t index,
                struct encoded *row)
{
    struct dw_value_row *kept = &values->rows[index];
    bool tells_all = kept->mask == row->mask && !(kept->spread & 1);
    int error = kept->spread && !tells_all ? combine(reading, values, kept, row) : 0;
    return error ? error : place(values, kept, row);
}

/* What is alive has a history. */
static int note_changes(struct dw_reading *reading, uint32_t thread, uint32_t index,
                        const struct encoded *row)
{
    const struct dw_value_table *values = &reading->profile->threads[thread].values;
    uint64_t before[DW_MEASURES_MAX] = {0}, numbers[DW_MEASURES_MAX], *at = numbers;
    const struct dw_value_row *kept = &values->rows[index];
    struct encoded older = {
        .mask = kept->mask, .bytes = values->copied.data + kept->first, .size = kept->spread >> 1};
    struct dw_cursor cursor = {row->bytes, row->bytes + row->size, false};
    if (older.size)
        decode(&older, before);
    for (dw_measure_mask rest = row->mask; rest; rest &= rest - 1)
        *at++ = dw_cursor_get(&cursor);
    return dw_reading_note_alive(reading, thread, index, row->mask, before, numbers);
}

int dw_copied_row_read(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t thread)
{
    uint32_t index, path = dw_cursor_get_u32(cursor);
    uint64_t head = dw_cursor_get(cursor);
    struct encoded row = {.mask = dw_cursor_get(cursor), .bytes = cursor->at};
    skip_numbers(cursor, count_measures(reading, row.mask));
    row.has_spread = head & 1;
    if (row.has_spread)
        skip_spread(cursor);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    row.size = (size_t)(cursor->at - row.bytes);
    int error = row.mask & ~reading->own_measures ? drop_unknown(reading, &row) : 0;
    if (!error)
        error = dw_reading_logged_row(reading, thread, path, head >> 1, &index);
    if (!error && dw_reading_has_moments(reading) && row.mask & DW_ALIVE_MASK)
        error = note_changes(reading, thread, index, &row);
    return error ? error : keep(reading, &reading->profile->threads[thread].values, index, &row);
}

void dw_copied_rows_write(struct dw_log_writer *writer, const struct dw_value_table *values,
                          uint32_t thread)
{
    dw_log_rows_begin(writer, thread);
    for (uint32_t i = 0; i < values->count; i++) {
        const struct dw_value_row *row = &values->rows[i];
        uint32_t size = row->spread >> 1;
        dw_log_rows_copy(writer, row->path, row->labels, row->mask, row->spread & 1,
                         size ? values->copied.data + row->first : NULL, size);
    }
    dw_log_rows_end(writer);
}
