/* SPDX-License-Identifier: MIT
 * The table is a row of entries, each for one to eight code units. The first byte has bit 7
 * set, the kind in four bits and the length; the bytes that follow never have bit 7. */
#include "attach/python/line_number.h"

#include <stdbool.h>

enum kind {
    KIND_ONE_LINE_FIRST = 10, /* 0 to 9 stay on the line; 10 to 12 step 0 to 2 lines */
    KIND_ONE_LINE_LAST = 12,
    KIND_NO_COLUMNS = 13,
    KIND_LONG = 14,
    KIND_NO_LOCATION = 15,
};

struct walk {
    const uint8_t *at, *end;
    bool bad;
};

/* Six bits a byte, the lowest first; bit 6 says that there is more. */
static uint64_t read_number(struct walk *walk)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 60; shift += 6) {
        if (walk->at == walk->end || *walk->at & 0x80)
            break;
        uint8_t byte = *walk->at++;
        value |= (uint64_t)(byte & 63) << shift;
        if (!(byte & 64))
            return value;
    }
    walk->bad = true;
    return 0;
}

static int64_t read_line_step(struct walk *walk, unsigned kind)
{
    if (kind >= KIND_ONE_LINE_FIRST && kind <= KIND_ONE_LINE_LAST)
        return (int64_t)kind - KIND_ONE_LINE_FIRST;
    if (kind != KIND_NO_COLUMNS && kind != KIND_LONG)
        return 0;
    uint64_t number = read_number(walk);
    return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

static uint32_t read_byte(struct walk *walk)
{
    if (walk->at == walk->end || *walk->at & 0x80) {
        walk->bad = true;
        return 0;
    }
    return *walk->at++;
}

/* Columns of short entries: eight to a kind, and the length in the same byte. */
static void read_short(struct walk *walk, unsigned kind, struct dw_location *location)
{
    uint32_t byte = read_byte(walk);
    location->column = kind * 8 + (byte >> 4) + 1;
    location->end_column = location->column + (byte & 15);
}

/* Columns are stored with one added, as ours are, so that 0 means none. */
static void read_long(struct walk *walk, struct dw_location *location)
{
    uint64_t lines = read_number(walk), column = read_number(walk), end = read_number(walk);
    if (lines > INT32_MAX || column > INT32_MAX || end > INT32_MAX) {
        walk->bad = true;
        return;
    }
    location->end_line += (uint32_t)lines;
    location->column = (uint32_t)column;
    location->end_column = (uint32_t)end;
}

static struct dw_location read_location(struct walk *walk, unsigned kind, uint32_t line)
{
    struct dw_location location = {.line = line, .end_line = line};
    if (kind < KIND_ONE_LINE_FIRST) {
        read_short(walk, kind, &location);
    } else if (kind <= KIND_ONE_LINE_LAST) {
        location.column = read_byte(walk) + 1;
        location.end_column = read_byte(walk) + 1;
    } else if (kind == KIND_LONG) {
        read_long(walk, &location);
    }
    return walk->bad ? (struct dw_location){.line = line, .end_line = line} : location;
}

static void skip_rest(struct walk *walk)
{
    while (walk->at < walk->end && !(*walk->at & 0x80))
        walk->at++;
}

struct dw_location dw_location_find(const uint8_t *table, size_t size, uint32_t first_line,
                                    int64_t unit)
{
    static const struct dw_location none;
    struct walk walk = {table, table + size, false};
    int64_t line = first_line, next_unit = 0;
    if (unit < 0)
        return (struct dw_location){.line = first_line, .end_line = first_line};
    while (walk.at < walk.end) {
        uint8_t head = *walk.at++;
        unsigned kind = head >> 3 & 15;
        if (!(head & 0x80))
            return none;
        line += read_line_step(&walk, kind);
        if (walk.bad || line < 0 || line > INT32_MAX)
            return none;
        next_unit += (head & 7) + 1;
        if (unit < next_unit)
            return kind == KIND_NO_LOCATION ? none : read_location(&walk, kind, (uint32_t)line);
        skip_rest(&walk);
    }
    return none;
}

uint32_t dw_line_number(const uint8_t *table, size_t size, uint32_t first_line, int64_t unit)
{
    return dw_location_find(table, size, first_line, unit).line;
}
