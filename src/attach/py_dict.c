/* SPDX-License-Identifier: MIT
 * Entries are read in their order, a block at a time; hashes are not needed, since this is
 * done a few times for a whole process. */
#include "attach/py_dict.h"

#include "attach/py_object.h"
#include "base/error.h"

#include <string.h>

#define MAX_ENTRIES (1u << 20)
#define MAX_INDEX_BITS 40
#define BLOCK_ENTRIES 64
#define KEYS_HEAD_BYTES 32 /* of PyDictKeysObject, the same in 3.11 to 3.15 */
#define MAX_KEY_LENGTH 256
#define POINTERS_BEFORE_OBJECT 3 /* the managed dict lies before the GC header */

/* The keys, and where values are that do not stand with their keys. */
struct table {
    uint64_t entries, count;
    uint32_t entry_words; /* hash, key, value; without the hash when all keys are strings */
    uint64_t values;      /* 0: in the entries */
};

struct wanted {
    const char *text; /* NULL: the integer */
    uint64_t integer;
    struct dw_buffer scratch;
};

static int read_keys(const struct dw_python *python, uint64_t keys, struct table *table)
{
    uint8_t head[KEYS_HEAD_BYTES];
    int error = dw_target_read(python->target, keys, head, sizeof head);
    if (error)
        return error;
    uint8_t index_bits = head[9], kind = head[10];
    memcpy(&table->count, head + 24, sizeof table->count);
    if (index_bits > MAX_INDEX_BITS || kind > 2 || table->count > MAX_ENTRIES)
        return DW_ERR_DAMAGED;
    table->entries = keys + KEYS_HEAD_BYTES + ((uint64_t)1 << index_bits);
    table->entry_words = kind ? 2 : 3;
    return 0;
}

static bool is_text(const struct dw_python *python, uint64_t key, struct wanted *wanted)
{
    bool cut;
    size_t length = strlen(wanted->text);
    dw_buffer_clear(&wanted->scratch);
    return !dw_py_string_read(python, key, MAX_KEY_LENGTH, &wanted->scratch, &cut) && !cut &&
           wanted->scratch.size == length && !memcmp(wanted->scratch.data, wanted->text, length);
}

static bool is_integer(const struct dw_python *python, uint64_t key, uint64_t wanted)
{
    struct dw_py_type type;
    struct dw_py_integer integer;
    if (dw_py_type_of(python, key, &type) || !(type.flags & DW_PY_LONG) ||
        dw_py_integer_read(python, key, &integer) || integer.negative || integer.digit_count > 3)
        return false;
    unsigned __int128 value = (unsigned __int128)integer.digits[2] << 60 |
                              (uint64_t)integer.digits[1] << 30 | integer.digits[0];
    return value == wanted;
}

static bool is_wanted(const struct dw_python *python, uint64_t key, struct wanted *wanted)
{
    if (!key)
        return false;
    return wanted->text ? is_text(python, key, wanted) : is_integer(python, key, wanted->integer);
}

static int read_value(const struct dw_python *python, const struct table *table, uint64_t index,
                      uint64_t in_entry, uint64_t *value)
{
    uint64_t found = in_entry;
    int error =
        table->values ? dw_target_read_u64(python->target, table->values + index * 8, &found) : 0;
    if (!error && !found)
        error = DW_ERR_EMPTY;
    if (!error)
        *value = found;
    return error;
}

static int find_in(const struct dw_python *python, const struct table *table, struct wanted *wanted,
                   uint64_t *value)
{
    uint64_t block[BLOCK_ENTRIES * 3];
    uint32_t words = table->entry_words;
    for (uint64_t first = 0; first < table->count; first += BLOCK_ENTRIES) {
        uint64_t left = table->count - first, count = left < BLOCK_ENTRIES ? left : BLOCK_ENTRIES;
        int error = dw_target_read(python->target, table->entries + first * words * 8, block,
                                   count * words * 8);
        if (error)
            return error;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t *entry = block + i * words + (words - 2);
            if (is_wanted(python, entry[0], wanted))
                return read_value(python, table, first + i, entry[1], value);
        }
    }
    return DW_ERR_EMPTY;
}

static int find_in_dict(const struct dw_python *python, uint64_t dict, struct wanted *wanted,
                        uint64_t *value)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    struct table table = {0};
    uint64_t keys;
    int error = dw_py_type_of(python, dict, &type);
    if (!error && !(type.flags & DW_PY_DICT))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = dw_target_read_u64(python->target, dict + offsets->dict_keys, &keys);
    if (!error)
        error = dw_target_read_u64(python->target, dict + offsets->dict_values, &table.values);
    if (!error)
        error = read_keys(python, keys, &table);
    if (table.values)
        table.values += offsets->dict_values_items;
    return error ? error : find_in(python, &table, wanted, value);
}

int dw_py_dict_find_text(const struct dw_python *python, uint64_t dict, const char *key,
                         uint64_t *value)
{
    struct wanted wanted = {.text = key};
    int error = find_in_dict(python, dict, &wanted, value);
    dw_buffer_release(&wanted.scratch);
    return error;
}

int dw_py_dict_find_integer(const struct dw_python *python, uint64_t dict, uint64_t key,
                            uint64_t *value)
{
    struct wanted wanted = {.integer = key};
    return find_in_dict(python, dict, &wanted, value);
}

/* Where an instance has its values, or else its dict; one of them is 0. */
static int find_values(const struct dw_python *python, uint64_t object,
                       const struct dw_py_type *type, uint64_t *values, uint64_t *dict)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t before[POINTERS_BEFORE_OBJECT + 1], basic_size;
    if (!(type->flags & DW_PY_MANAGED_DICT))
        return DW_ERR_EMPTY;
    int error = dw_target_read(python->target, object - sizeof before, before, sizeof before);
    if (!error)
        error = dw_target_read_u64(python->target, type->address + offsets->type_basic_size,
                                   &basic_size);
    if (error)
        return error;
    *values = 0;
    *dict = before[1];
    if (offsets->instances == DW_PY_VALUES_BEFORE) {
        *values = before[0];
    } else if (offsets->instances == DW_PY_VALUES_TAGGED) {
        *values = *dict & 1 ? *dict + 1 : 0;
    } else if (!*dict && type->flags & DW_PY_INLINE_VALUES) {
        *values = object + basic_size + offsets->dict_values_items;
    }
    return *values || *dict ? 0 : DW_ERR_EMPTY;
}

int dw_py_attribute(const struct dw_python *python, uint64_t object, const char *name,
                    uint64_t *value)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    struct wanted wanted = {.text = name};
    struct table table;
    uint64_t dict = 0, keys;
    int error = dw_py_type_of(python, object, &type);
    if (!error)
        error = find_values(python, object, &type, &table.values, &dict);
    if (error || !table.values)
        return error ? error : dw_py_dict_find_text(python, dict, name, value);
    error = dw_target_read_u64(python->target, type.address + offsets->type_cached_keys, &keys);
    if (!error)
        error = read_keys(python, keys, &table);
    if (!error)
        error = find_in(python, &table, &wanted, value);
    dw_buffer_release(&wanted.scratch);
    return error;
}
