/* SPDX-License-Identifier: MIT
 * Two tables: code objects by address, and places by code and instruction. A fingerprint tells when
 * other code has come to an address, which then gets a new identity. */
#include "attach/sampling/code_cache.h"

#include "attach/python/field.h"
#include "attach/python/py_code.h"
#include "base/intern.h"

#include <string.h>

#define CHECK_AFTER_NS 1000000 /* how long an address is believed to hold the same object */
#define OWNED_BY_GENERATOR 1
#define SIZE_AT 16 /* ob_size: how many code units */
#define UNIT_BYTES 2

/* What tells one code object from another at the same address. */
struct fingerprint {
    uint64_t units, name, file, lines;
    uint32_t first_line, first_traceable;
};

struct dw_cached_code {
    uint64_t address, checked_ns;
    uint32_t identity; /* another one for each code object that was at the address */
    dw_frame_id frame;
    struct fingerprint fingerprint;
};

struct dw_cached_place {
    uint32_t identity;
    int32_t unit;
    dw_place_id place;
};
#define PLACE_KEY_SIZE offsetof(struct dw_cached_place, place)

void dw_code_cache_release(struct dw_code_cache *cache)
{
    free(cache->codes);
    free(cache->places);
    dw_map_release(&cache->code_index);
    dw_map_release(&cache->place_index);
    dw_buffer_release(&cache->text);
    *cache = (struct dw_code_cache){0};
}

static struct fingerprint fingerprint_of(const struct dw_python *python, const uint8_t *head)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    return (struct fingerprint){
        .units = dw_u64_at(head, SIZE_AT),
        .name = dw_u64_at(head, offsets->code_qualname),
        .file = dw_u64_at(head, offsets->code_filename),
        .lines = dw_u64_at(head, offsets->code_linetable),
        .first_line = dw_u32_at(head, offsets->code_first_line),
        .first_traceable = dw_u32_at(head, offsets->code_first_traceable),
    };
}

/* Whether the address still holds the code object that it held. */
static bool is_unchanged(const struct dw_python *python, const struct dw_cached_code *code)
{
    uint8_t head[DW_PY_MAX_CODE_BYTES];
    if (dw_target_read(python->target, code->address, head, python->offsets.code_bytecode))
        return false;
    struct fingerprint now = fingerprint_of(python, head);
    return !memcmp(&now, &code->fingerprint, sizeof now);
}

bool dw_code_cache_check(struct dw_code_cache *cache, const struct dw_python *python,
                         uint64_t address, const uint8_t *head, uint64_t now_ns)
{
    uint32_t index = DW_INTERN_FIND(cache->codes, cache->code_index, sizeof address, &address);
    if (index == DW_MAP_NONE)
        return false;
    struct dw_cached_code *code = &cache->codes[index];
    struct fingerprint now = head ? fingerprint_of(python, head) : code->fingerprint;
    bool same = head ? !memcmp(&now, &code->fingerprint, sizeof now) : is_unchanged(python, code);
    code->checked_ns = same ? now_ns : 0;
    return same;
}

static int intern_text(struct dw_code_cache *cache, struct dw_ledger *log, dw_string_id *id)
{
    if (cache->text.failed)
        return DW_ERR_MEMORY;
    return dw_ledger_string(log, cache->text.data, cache->text.size, id);
}

static int define_frame(struct dw_code_cache *cache, const struct dw_python *python,
                        struct dw_ledger *log, const struct dw_py_code *code, dw_frame_id *id)
{
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION,
                             .line = dw_u32_at(code->head, python->offsets.code_first_line)};
    dw_buffer_restart(&cache->text);
    int error = dw_py_code_name(python, code, &cache->text);
    if (!error)
        error = intern_text(cache, log, &frame.name);
    dw_buffer_restart(&cache->text);
    if (!error)
        error = dw_py_code_file(python, code, &cache->text);
    if (!error)
        error = intern_text(cache, log, &frame.file);
    return error ? error : dw_ledger_met_frame(log, &frame, id);
}

/* Reads the code object anew into the entry of its address. */
static int define_code(struct dw_code_cache *cache, const struct dw_python *python,
                       struct dw_ledger *log, const struct dw_raw_frame *frame, uint32_t index)
{
    struct dw_py_code code;
    dw_frame_id id = 0;
    int error = dw_py_code_read(python, frame, &code);
    if (!error)
        error = define_frame(cache, python, log, &code, &id);
    if (error && index == DW_MAP_NONE)
        return error;
    if (!error && index == DW_MAP_NONE)
        error = DW_INTERN(cache->codes, cache->code_count, cache->code_capacity, cache->code_index,
                          sizeof frame->code, (&(struct dw_cached_code){.address = frame->code}),
                          &index);
    if (error)
        return error;
    struct dw_cached_code *entry = &cache->codes[index];
    entry->identity = ++cache->last_identity;
    entry->frame = id;
    entry->fingerprint = fingerprint_of(python, code.head);
    return 0;
}

static int find_code(struct dw_code_cache *cache, const struct dw_python *python,
                     struct dw_ledger *log, const struct dw_raw_frame *frame, uint64_t now_ns,
                     const struct dw_cached_code **found)
{
    uint32_t index =
        DW_INTERN_FIND(cache->codes, cache->code_index, sizeof frame->code, &frame->code);
    bool known = index != DW_MAP_NONE;
    if (known && now_ns - cache->codes[index].checked_ns > CHECK_AFTER_NS)
        known = is_unchanged(python, &cache->codes[index]);
    int error = known ? 0 : define_code(cache, python, log, frame, index);
    if (error)
        return error;
    if (index == DW_MAP_NONE)
        index = cache->code_count - 1;
    struct dw_cached_code *code = &cache->codes[index];
    if (!known || now_ns - code->checked_ns > CHECK_AFTER_NS)
        code->checked_ns = now_ns;
    *found = code;
    return 0;
}

static int define_place(struct dw_code_cache *cache, const struct dw_python *python,
                        struct dw_ledger *log, const struct dw_raw_frame *frame,
                        dw_frame_id frame_id, const struct fingerprint *known,
                        struct dw_cached_place *key)
{
    struct dw_py_code code = {.address = frame->code};
    struct dw_location location = {0};
    int error =
        dw_target_read(python->target, frame->code, code.head, python->offsets.code_bytecode);
    struct fingerprint now = error ? *known : fingerprint_of(python, code.head);
    if (!error && memcmp(&now, known, sizeof now))
        error = DW_ERR_DAMAGED; /* it was replaced since it was found */
    if (!error)
        error = dw_py_code_location(python, &code, frame->instruction, &cache->text, &location);
    struct dw_place place = {.frame = frame_id,
                             .line = location.line,
                             .end_line = location.end_line,
                             .column = location.column,
                             .end_column = location.end_column};
    if (!error)
        error = dw_ledger_place(log, &place, &key->place);
    uint32_t id;
    return error ? error
                 : DW_INTERN(cache->places, cache->place_count, cache->place_capacity,
                             cache->place_index, PLACE_KEY_SIZE, key, &id);
}

static int find_place(struct dw_code_cache *cache, const struct dw_python *python,
                      struct dw_ledger *log, const struct dw_raw_frame *frame,
                      const struct dw_cached_code *code, struct dw_cached_place *key)
{
    uint32_t index = DW_INTERN_FIND(cache->places, cache->place_index, PLACE_KEY_SIZE, key);
    if (index == DW_MAP_NONE)
        return define_place(cache, python, log, frame, code->frame, &code->fingerprint, key);
    key->place = cache->places[index].place;
    return 0;
}

/* The interpreter calls `__init__` by a code object of its own, which ends before its first
 * traceable instruction. */
int dw_code_cache_place(struct dw_code_cache *cache, const struct dw_python *python,
                        struct dw_ledger *log, const struct dw_raw_frame *frame, uint64_t now_ns,
                        struct dw_code_place *found)
{
    const struct dw_cached_code *code;
    int error = find_code(cache, python, log, frame, now_ns, &code);
    if (error)
        return error;
    int64_t first = code->fingerprint.first_traceable, units = (int64_t)code->fingerprint.units;
    int64_t unit =
        (int64_t)(frame->instruction - frame->code - python->offsets.code_bytecode) / UNIT_BYTES;
    if (frame->instruction % UNIT_BYTES || unit < -1 || unit >= units)
        return DW_ERR_DAMAGED;
    bool is_shown = frame->owner == OWNED_BY_GENERATOR || unit >= first;
    struct dw_cached_place key = {.identity = code->identity, .unit = (int32_t)unit};
    uint32_t identity = code->identity;
    if (is_shown)
        error = find_place(cache, python, log, frame, code, &key);
    if (!error)
        *found = (struct dw_code_place){key.place, identity, is_shown || first >= units};
    return error;
}
