/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/sample_code.h"

#include "base/error.h"
#include "base/map.h"
#include "cpython/frame.h"

#include <string.h>
#include <sys/mman.h>

#define PROBES 64
#define MAX_TEXT_CHARS 4096

struct known_code {
    _Atomic uint64_t fingerprint; /* 0: free */
    _Atomic uint64_t is_known;
};

static struct known_code *codes;

int dw_codes_reset(void)
{
    size_t size = DW_CODE_LIMIT * sizeof *codes;
    if (codes)
        return madvise(codes, size, MADV_DONTNEED) ? DW_ERR_MEMORY : 0;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return DW_ERR_MEMORY;
    codes = memory;
    return 0;
}

/* New code often gets all the addresses of code that is gone, also those of its name and table. */
static uint64_t contents(const PyCodeObject *code)
{
    PyObject *name = code->co_qualname;
    uint64_t name_hash =
        name && PyUnicode_Check(name) ? (uint64_t)((PyASCIIObject *)name)->hash : 0;
    return dw_hash_mix(name_hash ^ (uint64_t)Py_SIZE(code) << 32 ^ DW_PY_CODE_VERSION(code));
}

static uint64_t fingerprint(const PyCodeObject *code)
{
    uint64_t parts =
        contents(code) + (uint64_t)(uintptr_t)code + 3 * (uint64_t)(uintptr_t)code->co_qualname +
        5 * (uint64_t)(uintptr_t)code->co_filename + 7 * (uint64_t)(uintptr_t)code->co_linetable +
        ((uint64_t)(uint32_t)code->co_firstlineno << 48);
    return dw_hash_mix(parts) | 1;
}

/* Among `count` from `first` on; 0 when there is no room. */
static uint32_t find_number(uint64_t wanted, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = first + (uint32_t)((wanted >> 8) + i) % count;
        uint64_t found = atomic_load_explicit(&codes[at].fingerprint, memory_order_relaxed);
        if (!found && atomic_compare_exchange_strong(&codes[at].fingerprint, &found, wanted))
            return at + 1;
        if (found == wanted)
            return at + 1;
    }
    return 0;
}

uint32_t dw_code_number(const PyCodeObject *code)
{
    uint64_t wanted = fingerprint(code);
    uint32_t number = find_number(wanted, 0, DW_CODE_COMMON);
    return number ? number : find_number(wanted, DW_CODE_COMMON, DW_CODE_RARE);
}

bool dw_code_is_known(uint32_t id)
{
    return !id || atomic_load_explicit(&codes[id - 1].is_known, memory_order_relaxed);
}

void dw_code_set_known(uint32_t id)
{
    atomic_store_explicit(&codes[id - 1].is_known, 1, memory_order_relaxed);
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
