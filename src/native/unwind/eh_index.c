/* SPDX-License-Identifier: MIT
 * Lists the FDEs of an .eh_frame and writes the table that a linker would have written. The records
 * are copied behind it, at the distance that their addresses have in memory. */
#include "native/unwind/eh_index.h"

#include "base/grow.h"
#include "native/unwind/eh_frame.h"

#include <string.h>

#define HEAD_BYTES 12
#define ENTRY_BYTES 8
#define FROM_HERE_I32 0x1b
#define MAX_FRAME_BYTES (16u << 20)

struct bytes {
    const uint8_t *bytes;
    uint64_t address;
    size_t size;
};

static bool read_bytes(void *context, uint64_t address, void *to, size_t size)
{
    const struct bytes *from = context;
    uint64_t at = address - from->address;
    if (at > from->size || from->size - at < size)
        return false;
    memcpy(to, from->bytes + at, size);
    return true;
}

struct entry {
    uint64_t code, fde;
};

struct list {
    struct entry *entries;
    uint32_t count, capacity;
};

static int add_record(const struct bytes *frame, uint64_t at, struct list *list)
{
    struct dw_eh_record record;
    struct dw_memory memory = {read_bytes, (void *)(uintptr_t)frame};
    struct dw_cfi_source source = {.known = &memory,
                                   .doubt = &memory,
                                   .start = frame->address,
                                   .end = frame->address + frame->size};
    if (!dw_eh_parse(&source, 0, at, &record) || record.end <= record.start)
        return 0;
    int error = DW_GROW(list->entries, list->count, list->capacity);
    if (!error)
        list->entries[list->count++] = (struct entry){record.start, at};
    return error;
}

/* A size of 0 is the end; nobody writes records larger than 32 bits can say. */
static int list_records(const struct bytes *frame, struct list *list)
{
    uint32_t head[2];
    int error = 0;
    for (size_t at = 0; !error && frame->size - at >= sizeof head; at += sizeof *head + head[0]) {
        memcpy(head, frame->bytes + at, sizeof head);
        if (head[0] < sizeof *head || head[0] > frame->size - at - sizeof *head)
            break;
        if (head[1])
            error = add_record(frame, frame->address + at, list);
    }
    return error;
}

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return (a->code > b->code) - (a->code < b->code);
}

static bool fits(uint64_t address, uint64_t from)
{
    int64_t distance = (int64_t)(address - from);
    return distance == (int32_t)distance;
}

/* Returns how many entries were written: code that is too far away has none. */
static uint32_t write_table(const struct list *list, uint64_t hdr, uint8_t *to)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct entry *entry = &list->entries[i];
        int32_t pair[2] = {(int32_t)(entry->code - hdr), (int32_t)(entry->fde - hdr)};
        if (!fits(entry->code, hdr) || !fits(entry->fde, hdr))
            continue;
        memcpy(to + (size_t)ENTRY_BYTES * written++, pair, sizeof pair);
    }
    return written;
}

static int make(const struct bytes *frame, const struct list *list, struct dw_eh_index *index)
{
    size_t table = HEAD_BYTES + (size_t)ENTRY_BYTES * list->count;
    uint8_t head[HEAD_BYTES] = {1, FROM_HERE_I32, DW_POINTER_U32, DW_POINTER_I32_FROM_HDR};
    uint8_t *bytes = calloc(1, table + frame->size);
    if (!bytes)
        return DW_ERR_MEMORY;
    uint64_t hdr = frame->address - table;
    uint32_t count = write_table(list, hdr, bytes + HEAD_BYTES);
    memcpy(head + 8, &count, sizeof count);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + table, frame->bytes, frame->size);
    *index = (struct dw_eh_index){bytes, hdr, table, frame->address + frame->size};
    return 0;
}

int dw_eh_index_make(const uint8_t *frame, size_t size, uint64_t address, struct dw_eh_index *index)
{
    struct bytes bytes = {frame, address, size};
    struct list list = {0};
    if (size > MAX_FRAME_BYTES || address < MAX_FRAME_BYTES || address > UINT64_MAX - size)
        return DW_ERR_DAMAGED;
    int error = list_records(&bytes, &list);
    if (!error && !list.count)
        error = DW_ERR_EMPTY;
    if (!error)
        qsort(list.entries, list.count, sizeof *list.entries, compare);
    if (!error)
        error = make(&bytes, &list, index);
    free(list.entries);
    return error;
}
