/* SPDX-License-Identifier: MIT
 * Entries are read in their order, a block at a time; hashes are not needed, since a key is mostly
 * found where it was the last time. */
#include "attach/python/py_dict.h"

#include "attach/python/field.h"
#include "attach/python/py_object.h"
#include "base/error.h"
#include "base/grow.h"

#include <string.h>

#define MAX_ENTRIES (1u << 20)
#define MAX_INDEX_BITS 40
#define BLOCK_ENTRIES DW_TARGET_READ_EACH
#define INTEGER_DIGITS 2 /* of keys that are integers: 60 bits */
#define MAX_INTEGER_BYTES 64
#define KEYS_HEAD_BYTES 32 /* of PyDictKeysObject, the same in 3.11 to 3.15 */
#define MAX_KEY_LENGTH 256
#define POINTERS_BEFORE_OBJECT 3 /* the managed dict lies before the GC header */

/* The keys, and where the values are when they do not stand with their keys. */
struct table {
    uint64_t entries, count;
    uint32_t entry_words; /* hash, key, value; without the hash when all keys are strings */
    uint64_t values;      /* 0: in the entries */
};

struct wanted {
    const char *text;
    uint64_t *at; /* the entry to begin with; becomes the one that was found */
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

/* The length alone tells nearly all other keys apart. */
static bool is_wanted(const struct dw_python *python, uint64_t key, struct wanted *wanted)
{
    bool cut;
    uint64_t length, wanted_length = strlen(wanted->text);
    dw_buffer_restart(&wanted->scratch);
    return key && !dw_py_count_at(python, key + python->offsets.string_length, &length) &&
           length == wanted_length &&
           !dw_py_string_read(python, key, MAX_KEY_LENGTH, &wanted->scratch, &cut) && !cut &&
           wanted->scratch.size == length && !memcmp(wanted->scratch.data, wanted->text, length);
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

/* Some entries, as they lie there: words[0] is the key of the first, words[1] its value. */
struct block {
    uint64_t words[BLOCK_ENTRIES * 3];
    uint64_t count;
};

static int read_block(const struct dw_python *python, const struct table *table, uint64_t first,
                      uint64_t count, struct block *block)
{
    uint32_t words = table->entry_words;
    block->count = count < BLOCK_ENTRIES ? count : BLOCK_ENTRIES;
    int error = dw_target_read(python->target, table->entries + first * words * 8, block->words,
                               block->count * words * 8);
    for (uint64_t i = 0; !error && i < block->count; i++)
        memmove(block->words + i * 2, block->words + i * words + (words - 2), 16);
    return error;
}

static int find_among(const struct dw_python *python, const struct table *table,
                      struct wanted *wanted, uint64_t first, uint64_t count, uint64_t *value)
{
    struct block block;
    for (uint64_t end = first + count; first < end; first += block.count) {
        int error = read_block(python, table, first, end - first, &block);
        if (error)
            return error;
        for (uint64_t i = 0; i < block.count; i++) {
            if (!is_wanted(python, block.words[i * 2], wanted))
                continue;
            *wanted->at = first + i;
            return read_value(python, table, first + i, block.words[i * 2 + 1], value);
        }
    }
    return DW_ERR_EMPTY;
}

static int find_in(const struct dw_python *python, const struct table *table, struct wanted *wanted,
                   uint64_t *value)
{
    if (*wanted->at < table->count && !find_among(python, table, wanted, *wanted->at, 1, value))
        return 0;
    return find_among(python, table, wanted, 0, table->count, value);
}

static int read_dict(const struct dw_python *python, uint64_t dict, struct table *table)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    uint64_t keys;
    int error = dw_py_type_of(python, dict, &type);
    if (!error && !(type.flags & DW_PY_DICT))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = dw_target_read_u64(python->target, dict + offsets->dict_keys, &keys);
    if (!error)
        error = dw_target_read_u64(python->target, dict + offsets->dict_values, &table->values);
    if (!error)
        error = read_keys(python, keys, table);
    if (!error && table->values)
        table->values += offsets->dict_values_items;
    return error;
}

int dw_py_dict_find(const struct dw_python *python, uint64_t dict, const char *key, uint64_t *at,
                    uint64_t *value)
{
    struct wanted wanted = {.text = key, .at = at};
    struct table table;
    int error = read_dict(python, dict, &table);
    if (!error)
        error = find_in(python, &table, &wanted, value);
    dw_buffer_release(&wanted.scratch);
    return error;
}

/* Splits an int of up to two digits, for which every int has room. */
static bool split_integer(const struct dw_py_offsets *offsets, const uint8_t *object, uint64_t *key)
{
    struct dw_py_integer integer = {0};
    uint32_t digits[INTEGER_DIGITS];
    dw_py_integer_split(offsets, dw_u64_at(object, offsets->long_tag), &integer);
    memcpy(digits, object + offsets->long_digits, sizeof digits);
    if (integer.negative || integer.digit_count > INTEGER_DIGITS)
        return false;
    *key = integer.digit_count > 1 ? (uint64_t)digits[1] << 30 : 0;
    *key |= integer.digit_count ? digits[0] : 0;
    return true;
}

/* The type of int is looked at once, since all keys mostly have it. */
static bool is_integer(const struct dw_python *python, uint64_t key, uint64_t type_address,
                       uint64_t *integer_type)
{
    struct dw_py_type type;
    if (type_address != *integer_type && !dw_py_type_of(python, key, &type) &&
        type.flags & DW_PY_LONG)
        *integer_type = type.address;
    return type_address == *integer_type;
}

static int add_item(struct dw_py_integer_items *items, uint64_t key, uint64_t value)
{
    int error = DW_GROW(items->items, items->count, items->capacity);
    if (!error)
        items->items[items->count++] = (struct dw_py_integer_item){key, value};
    return error;
}

/* The keys of a block, in one system call unless some cannot be read. */
static int add_block(const struct dw_python *python, const struct block *block,
                     uint64_t *integer_type, struct dw_py_integer_items *items)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t addresses[BLOCK_ENTRIES] = {0}, values[BLOCK_ENTRIES] = {0}, key;
    uint8_t objects[BLOCK_ENTRIES * MAX_INTEGER_BYTES];
    size_t size = offsets->long_digits + INTEGER_DIGITS * sizeof(uint32_t);
    uint32_t count = 0, got = 0;
    int error = size > MAX_INTEGER_BYTES ? DW_ERR_DAMAGED : 0;
    for (uint64_t i = 0; i < block->count; i++) {
        addresses[count] = block->words[i * 2];
        values[count] = block->words[i * 2 + 1];
        count += addresses[count] && values[count];
    }
    for (uint32_t done = 0; !error && done < count; done += got + 1) {
        got = dw_target_read_each(python->target, addresses + done, count - done, size, objects);
        for (uint32_t i = 0; !error && i < got; i++) {
            const uint8_t *object = objects + i * size;
            uint64_t type = dw_u64_at(object, DW_PY_TYPE_AT);
            if (is_integer(python, addresses[done + i], type, integer_type) &&
                split_integer(offsets, object, &key))
                error = add_item(items, key, values[done + i]);
        }
    }
    return error;
}

int dw_py_dict_read_integers(const struct dw_python *python, uint64_t dict,
                             struct dw_py_integer_items *items)
{
    struct table table;
    struct block block;
    uint64_t integer_type = 0;
    int error = read_dict(python, dict, &table);
    if (!error && table.values)
        error = DW_ERR_EMPTY; /* all keys are strings */
    for (uint64_t first = 0; !error && first < table.count; first += block.count) {
        error = read_block(python, &table, first, table.count - first, &block);
        if (!error)
            error = add_block(python, &block, &integer_type, items);
    }
    return error;
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

int dw_py_attribute(const struct dw_python *python, uint64_t object, const char *name, uint64_t *at,
                    uint64_t *value)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    struct dw_py_type type;
    struct wanted wanted = {.text = name, .at = at};
    struct table table;
    uint64_t dict = 0, keys;
    int error = dw_py_type_of(python, object, &type);
    if (!error)
        error = find_values(python, object, &type, &table.values, &dict);
    if (error || !table.values)
        return error ? error : dw_py_dict_find(python, dict, name, at, value);
    error = dw_target_read_u64(python->target, type.address + offsets->type_cached_keys, &keys);
    if (!error)
        error = read_keys(python, keys, &table);
    if (!error)
        error = find_in(python, &table, &wanted, value);
    dw_buffer_release(&wanted.scratch);
    return error;
}
