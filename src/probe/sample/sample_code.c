/* SPDX-License-Identifier: MIT
 * A number stands for a fingerprint of address and contents, so other code at the same address gets
 * a number of its own. Records hold plain bytes and no pointers into the interpreter. */
#include "probe/sample/sample_code.h"

#include "base/map.h"
#include "cpython/frame.h"

#include <string.h>

#define MAX_TEXT_CHARS 4096

struct dw_number_set dw_sample_codes = {.common = DW_CODE_COMMON, .rare = DW_CODE_RARE};

/* New code often gets all the addresses of code that is gone, even those of its name and table. */
static uint64_t contents(const PyCodeObject *code)
{
    PyObject *name = code->co_qualname;
    uint64_t name_hash =
        name && PyUnicode_Check(name) ? (uint64_t)((PyASCIIObject *)name)->hash : 0;
    return dw_hash_mix(name_hash ^ (uint64_t)Py_SIZE(code) << 32) + (uint64_t)(uintptr_t)code +
           3 * (uint64_t)(uintptr_t)code->co_qualname + 5 * (uint64_t)(uintptr_t)code->co_filename +
           7 * (uint64_t)(uintptr_t)code->co_linetable +
           ((uint64_t)(uint32_t)code->co_firstlineno << 48);
}

/* No two code objects have one version, so nothing else of the object has to be in the cache. It is
 * 0 in 3.11, and when the interpreter has run out of versions. */
static uint64_t fingerprint(const PyCodeObject *code)
{
    uint64_t version = DW_PY_CODE_VERSION(code);
    uint64_t parts = version ? (uint64_t)(uintptr_t)code ^ dw_hash_mix(version) : contents(code);
    return dw_hash_mix(parts) | 1;
}

uint32_t dw_code_number(struct dw_number_set *codes, const PyCodeObject *code)
{
    return dw_numbers_find(codes, fingerprint(code));
}

static struct dw_code_text text_of(PyObject *text)
{
    if (!text || !PyUnicode_Check(text) || !PyUnicode_IS_COMPACT(text))
        return (struct dw_code_text){0, 1};
    size_t length = (size_t)PyUnicode_GET_LENGTH(text);
    return (struct dw_code_text){
        .length = (uint32_t)(length < MAX_TEXT_CHARS ? length : MAX_TEXT_CHARS),
        .width = (uint32_t)PyUnicode_KIND(text),
    };
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static size_t text_size(struct dw_code_text text)
{
    return padded((size_t)text.length * text.width);
}

static size_t table_size(const PyCodeObject *code)
{
    PyObject *table = code->co_linetable;
    return table && PyBytes_Check(table) ? (size_t)PyBytes_GET_SIZE(table) : 0;
}

size_t dw_code_record_size(const PyCodeObject *code, bool with_table)
{
    return sizeof(struct dw_code_record) + text_size(text_of(code->co_qualname)) +
           text_size(text_of(code->co_filename)) + (with_table ? padded(table_size(code)) : 0);
}

static uint8_t *put_text(uint8_t *to, PyObject *text, struct dw_code_text as)
{
    if (as.length)
        memcpy(to, PyUnicode_DATA(text), (size_t)as.length * as.width);
    return to + text_size(as);
}

void dw_code_describe(const PyCodeObject *code, uint32_t id, bool with_table,
                      struct dw_code_record *record)
{
    *record = (struct dw_code_record){
        .head = {(uint32_t)dw_code_record_size(code, with_table), DW_RING_CODE},
        .id = id,
        .first_line = (uint32_t)code->co_firstlineno,
        .name = text_of(code->co_qualname),
        .file = text_of(code->co_filename),
        .table_size = with_table ? table_size(code) : 0,
    };
    uint8_t *at = put_text((uint8_t *)(record + 1), code->co_qualname, record->name);
    at = put_text(at, code->co_filename, record->file);
    if (record->table_size)
        memcpy(at, PyBytes_AS_STRING(code->co_linetable), (size_t)record->table_size);
}

const uint8_t *dw_code_record_name(const struct dw_code_record *record)
{
    return (const uint8_t *)(record + 1);
}

const uint8_t *dw_code_record_file(const struct dw_code_record *record)
{
    return dw_code_record_name(record) + text_size(record->name);
}

const uint8_t *dw_code_record_table(const struct dw_code_record *record)
{
    return dw_code_record_file(record) + text_size(record->file);
}
