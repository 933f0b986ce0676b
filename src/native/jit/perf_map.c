/* SPDX-License-Identifier: MIT
 * Parsers of bytes that a JIT is still writing: an incomplete line or record at the end is left for
 * the next call. What makes no sense in a map is skipped; in a jitdump it ends the reading. */
#include "native/jit/perf_map.h"

#include "base/error.h"

#include <string.h>

#define MAX_NAME_BYTES 4096u
#define DUMP_MAGIC 0x4a695444u
#define MAX_HEADER_BYTES 4096u

static int digit_of(uint8_t byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

/* A hexadecimal number and the blank after it; false when that is not there. */
static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    const uint8_t *from = *at;
    if (end - from > 2 && from[0] == '0' && (from[1] == 'x' || from[1] == 'X'))
        from += 2;
    *number = 0;
    int digits = 0;
    for (; from < end && digit_of(*from) >= 0 && digits < 17; from++, digits++)
        *number = *number << 4 | (uint64_t)digit_of(*from);
    if (!digits || digits > 16 || from == end || *from != ' ')
        return false;
    *at = from + 1;
    return true;
}

static size_t at_most(size_t size, size_t most)
{
    return size < most ? size : most;
}

static int add_line(const uint8_t *line, const uint8_t *end, struct dw_jit_names *names)
{
    uint64_t start, size;
    if (!take_number(&line, end, &start) || !take_number(&line, end, &size))
        return 0;
    return dw_jit_names_add(names, start, size, (const char *)line,
                            at_most((size_t)(end - line), MAX_NAME_BYTES));
}

int dw_perf_map_parse(const uint8_t *bytes, size_t size, struct dw_jit_names *names, uint64_t *used)
{
    const uint8_t *at = bytes, *end = bytes + size, *line_end;
    int error = 0;
    while (!error && at < end && (line_end = memchr(at, '\n', (size_t)(end - at)))) {
        error = add_line(at, line_end, names);
        at = line_end + 1;
    }
    *used = (uint64_t)(at - bytes);
    return error;
}

/* As in the file; numbers are those of the machine. */
struct dump_header {
    uint32_t magic, version, size, machine, unused, pid;
    uint64_t timestamp, flags;
};

enum { RECORD_LOAD = 0, RECORD_MOVE = 1 };

struct dump_record {
    uint32_t kind, size;
    uint64_t timestamp;
};

struct dump_load {
    uint32_t pid, tid;
    uint64_t unused, address, size, index;
};

struct dump_move {
    uint32_t pid, tid;
    uint64_t unused, from, to, size, index;
};

static int add_moved(const struct dump_move *move, struct dw_jit_names *names)
{
    char text[MAX_NAME_BYTES];
    const struct dw_jit_name *old = dw_jit_names_find(names, move->from);
    if (!old)
        return 0;
    const char *name = dw_jit_name_text(names, old);
    size_t size = at_most(strlen(name), sizeof text);
    memcpy(text, name, size);
    return dw_jit_names_add(names, move->to, move->size, text, size);
}

/* `size` bytes of the record's content are there. */
static int add_record(uint32_t kind, const uint8_t *content, size_t size,
                      struct dw_jit_names *names)
{
    struct dump_load load;
    struct dump_move move;
    if (kind == RECORD_LOAD && size > sizeof load) {
        memcpy(&load, content, sizeof load);
        return dw_jit_names_add(names, load.address, load.size, (const char *)content + sizeof load,
                                at_most(size - sizeof load, MAX_NAME_BYTES));
    }
    if (kind == RECORD_MOVE && size >= sizeof move) {
        memcpy(&move, content, sizeof move);
        return add_moved(&move, names);
    }
    return 0;
}

static int take_header(const uint8_t *bytes, size_t size, uint64_t *used)
{
    struct dump_header header;
    *used = 0;
    if (size < sizeof header)
        return 0;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != DUMP_MAGIC || header.size < sizeof header || header.size > MAX_HEADER_BYTES)
        return DW_ERR_DAMAGED;
    *used = header.size;
    return 0;
}

/* How much of a record must be there before it is taken: its name, but not the code behind it. */
static size_t needed(const struct dump_record *record)
{
    size_t size = sizeof *record + sizeof(struct dump_load) + MAX_NAME_BYTES;
    return at_most(record->size, size);
}

int dw_jit_dump_parse(const uint8_t *bytes, size_t size, bool is_first, struct dw_jit_names *names,
                      uint64_t *used)
{
    struct dump_record record;
    uint64_t at = 0;
    int error = is_first ? take_header(bytes, size, &at) : 0;
    bool is_begun = !is_first || at;
    while (!error && is_begun && at < size && size - at >= sizeof record) {
        memcpy(&record, bytes + at, sizeof record);
        if (record.size < sizeof record)
            error = DW_ERR_DAMAGED;
        else if (needed(&record) > size - at)
            break;
        else
            error = add_record(record.kind, bytes + at + sizeof record,
                               needed(&record) - sizeof record, names);
        at += error ? 0 : record.size;
    }
    *used = at;
    return error;
}
