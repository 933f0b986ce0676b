/* SPDX-License-Identifier: MIT
 * A binary search in the sorted table, then the FDE and its CIE. Nothing in them is believed: every
 * read goes through the source, which knows what is mapped. */
#include "native/unwind/eh_frame.h"

#define ENTRY_BYTES 8   /* two offsets from the header: of code, of its FDE */
#define LAST_ENTRIES 32 /* read at once, since a read may be a system call */
#define EXTENDED_LENGTH 0xffffffffu
#define EXTENDED_HEAD_BYTES 12
#define MAX_RECORD_BYTES (1u << 20)
#define MAX_AUGMENTATION 8

struct table {
    uint64_t address, count;
};

static bool read_table(const struct dw_cfi_source *source, const struct dw_unwind_module *module,
                       struct table *table)
{
    struct dw_cfi_cursor cursor;
    if (module->hdr_size < 8)
        return false;
    dw_cfi_cursor_init(&cursor, source, module->hdr, module->hdr + module->hdr_size);
    uint8_t version = dw_cfi_byte(&cursor), frame_encoding = dw_cfi_byte(&cursor);
    uint8_t count_encoding = dw_cfi_byte(&cursor), table_encoding = dw_cfi_byte(&cursor);
    if (version != 1 || table_encoding != DW_POINTER_I32_FROM_HDR)
        return false;
    dw_cfi_pointer(&cursor, frame_encoding, module->hdr);
    table->count = dw_cfi_number(&cursor, count_encoding);
    table->address = cursor.at;
    uint64_t room = (cursor.end - cursor.at) / ENTRY_BYTES;
    table->count = table->count < room ? table->count : room;
    return !cursor.failed && table->count;
}

static bool read_entries(const struct dw_cfi_source *source, const struct table *table,
                         uint64_t first, uint64_t count, int32_t entries[][2])
{
    return dw_cfi_read(source, table->address + first * ENTRY_BYTES, entries, count * ENTRY_BYTES);
}

/* The last entry that begins at or before the address. */
static bool search_table(const struct dw_cfi_source *source, const struct table *table,
                         int64_t address, int64_t *record)
{
    int32_t entries[LAST_ENTRIES][2];
    uint64_t low = 0, high = table->count;
    while (high - low > LAST_ENTRIES) {
        uint64_t middle = low + (high - low) / 2;
        if (!read_entries(source, table, middle, 1, entries))
            return false;
        if (entries[0][0] <= address)
            low = middle;
        else
            high = middle;
    }
    uint64_t count = high - low, after = 0;
    if (!read_entries(source, table, low, count, entries))
        return false;
    while (after < count && entries[after][0] <= address)
        after++;
    if (!after)
        return false;
    *record = entries[after - 1][1];
    return true;
}

/* A cursor over the content of the record that begins at the address. Where memory is known to go
 * on, its size is read together with what follows. */
static bool open_record(const struct dw_cfi_source *source, uint64_t address,
                        struct dw_cfi_cursor *cursor)
{
    bool is_known = address >= source->start && address < source->end;
    dw_cfi_cursor_init(cursor, source, address,
                       is_known ? source->end : address + EXTENDED_HEAD_BYTES);
    uint64_t size = dw_cfi_fixed(cursor, 4);
    if (size == EXTENDED_LENGTH)
        size = dw_cfi_fixed(cursor, 8);
    if (cursor->failed || size < 4 || size > MAX_RECORD_BYTES)
        return false;
    cursor->end = cursor->at + size;
    return true;
}

/* The letters tell what the augmentation's data holds; R and S are wanted. */
static void read_augmentation(struct dw_cfi_cursor *cursor, const char *letters,
                              struct dw_eh_record *record)
{
    uint64_t size = dw_cfi_uleb(cursor);
    uint64_t end = cursor->at + size;
    for (const char *letter = letters + 1; *letter && !cursor->failed; letter++) {
        switch (*letter) {
        case 'R': record->encoding = dw_cfi_byte(cursor); break;
        case 'S': record->is_signal = true; break;
        case 'L': dw_cfi_byte(cursor); break;
        case 'P': dw_cfi_number(cursor, dw_cfi_byte(cursor)); break;
        case 'B': break;
        default: cursor->failed = true; break;
        }
    }
    cursor->failed |= size > cursor->end || cursor->at > end || end > cursor->end;
    cursor->at = cursor->failed ? cursor->at : end;
}

static bool read_cie(const struct dw_cfi_source *source, uint64_t address,
                     struct dw_eh_record *record)
{
    struct dw_cfi_cursor *cursor = &record->cie;
    char letters[MAX_AUGMENTATION] = "";
    if (!open_record(source, address, cursor))
        return false;
    uint64_t id = dw_cfi_fixed(cursor, 4);
    uint8_t version = dw_cfi_byte(cursor);
    for (uint32_t i = 0; (letters[i] = (char)dw_cfi_byte(cursor)); i++)
        if (i + 2 == MAX_AUGMENTATION)
            return false;
    if (cursor->failed || id || (version != 1 && version != 3) || (*letters && *letters != 'z'))
        return false;
    record->code_unit = dw_cfi_uleb(cursor);
    record->data_unit = dw_cfi_sleb(cursor);
    record->return_column = version == 1 ? dw_cfi_byte(cursor) : dw_cfi_uleb(cursor);
    record->has_augmentation = *letters;
    record->encoding = 0;
    record->is_signal = false;
    if (*letters)
        read_augmentation(cursor, letters, record);
    return !cursor->failed;
}

bool dw_eh_search(const struct dw_cfi_source *source, const struct dw_unwind_module *module,
                  uint64_t address, uint64_t *fde)
{
    struct table table;
    int64_t offset;
    if (!read_table(source, module, &table) ||
        !search_table(source, &table, (int64_t)(address - module->hdr), &offset))
        return false;
    *fde = module->hdr + (uint64_t)offset;
    return true;
}

bool dw_eh_parse(const struct dw_cfi_source *source, uint64_t hdr, uint64_t fde,
                 struct dw_eh_record *record)
{
    struct dw_cfi_cursor *cursor = &record->fde;
    if (!open_record(source, fde, cursor))
        return false;
    uint64_t here = cursor->at, back = dw_cfi_fixed(cursor, 4);
    if (cursor->failed || !back || !read_cie(source, here - back, record))
        return false;
    record->start = dw_cfi_pointer(cursor, record->encoding, hdr);
    record->end = record->start + dw_cfi_number(cursor, record->encoding);
    if (record->has_augmentation)
        dw_cfi_skip(cursor, dw_cfi_uleb(cursor));
    return !cursor->failed;
}

bool dw_eh_read(const struct dw_cfi_source *source, const struct dw_unwind_module *module,
                uint64_t fde, uint64_t address, struct dw_eh_record *record)
{
    return dw_eh_parse(source, module->hdr, fde, record) && address >= record->start &&
           address < record->end;
}
