/* SPDX-License-Identifier: MIT
 * Tables by number of what handlers have described. A place is made at the first token that needs
 * it and kept, so that most tokens cost one look-up. */
#include "probe/sample/sample_places.h"

#include "attach/python/line_number.h"
#include "base/grow.h"
#include "base/map.h"

#include <string.h>

struct dw_described_code {
    dw_frame_id frame;
    uint32_t first_line;
    uint8_t *table; /* owned */
    size_t table_size;
};

static const char *const mark_names[DW_MARKS] = {
    [DW_MARK_GC] = "<gc>",           [DW_MARK_KERNEL] = "<kernel>",
    [DW_MARK_UNKNOWN] = "<unknown>", [DW_MARK_OTHER_TASK] = "task <other>",
    [DW_MARK_OWN] = "<dwell>",       [DW_MARK_ARENAS] = "<arenas>",
};

static int mark_place(struct dw_ledger *log, const void *name, size_t size, dw_place_id *place)
{
    return dw_ledger_named_place(log, DW_FRAME_MARK, (struct dw_string){name, size},
                                 (struct dw_string){"", 0}, 0, place);
}

int dw_sample_places_init(struct dw_sample_places *places, struct dw_ledger *log,
                          struct dw_number_set *numbers)
{
    memset(places, 0, sizeof *places);
    places->log = log;
    places->numbers = numbers;
    places->code_ids = calloc((size_t)numbers->common + numbers->rare, sizeof *places->code_ids);
    places->cache = calloc(DW_PLACE_CACHE, sizeof *places->cache);
    int error = places->code_ids && places->cache ? 0 : DW_ERR_MEMORY;
    for (int i = 0; i < DW_MARKS && !error; i++)
        error = mark_place(log, mark_names[i], strlen(mark_names[i]), &places->marks[i]);
    return error;
}

int dw_sample_places_set_base(struct dw_sample_places *places, const struct dw_function_name *base)
{
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION, .line = base->line};
    int error = dw_ledger_string(places->log, base->name, strlen(base->name), &frame.name);
    if (!error)
        error = dw_ledger_string(places->log, base->file, strlen(base->file), &frame.file);
    return error ? error : dw_ledger_frame(places->log, &frame, &places->base);
}

void dw_sample_places_release(struct dw_sample_places *places)
{
    for (uint32_t i = 0; i < places->code_count; i++)
        free(places->codes[i].table);
    free(places->codes);
    free(places->code_ids);
    free(places->cache);
    dw_buffer_release(&places->text);
    dw_sample_natives_release(&places->natives);
    memset(places, 0, sizeof *places);
}

void dw_sample_places_forget(struct dw_sample_places *places, bool went)
{
    pthread_mutex_lock(&places->log->tables);
    const struct dw_place *known = places->log->places.places;
    for (uint32_t i = 0; i < DW_PLACE_CACHE; i++) {
        struct dw_cached_token *cached = &places->cache[i];
        if (DW_TOKEN_KIND(cached->token) == DW_TOKEN_NATIVE &&
            (went || !known[cached->place].module))
            *cached = (struct dw_cached_token){0};
    }
    pthread_mutex_unlock(&places->log->tables);
}

static void put_utf8(struct dw_buffer *to, uint32_t point)
{
    uint8_t bytes[4];
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t heads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; point >>= 6)
        bytes[i] = (uint8_t)(0x80 | (point & 0x3f));
    bytes[0] = (uint8_t)(heads[size] | point);
    dw_buffer_append(to, bytes, size);
}

static void put_text(struct dw_buffer *to, struct dw_code_text text, const uint8_t *bytes)
{
    for (uint32_t i = 0; i < text.length; i++) {
        uint32_t point = 0;
        memcpy(&point, bytes + (size_t)i * text.width, text.width <= 4 ? text.width : 4);
        put_utf8(to, point);
    }
}

static int text_id(struct dw_sample_places *places, struct dw_code_text text, const uint8_t *bytes,
                   dw_string_id *id)
{
    struct dw_buffer *utf8 = &places->text;
    dw_buffer_restart(utf8);
    put_text(utf8, text, bytes);
    return utf8->failed ? DW_ERR_MEMORY : dw_ledger_string(places->log, utf8->data, utf8->size, id);
}

static int describe(struct dw_sample_places *places, const struct dw_code_record *record,
                    struct dw_described_code *code)
{
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION, .line = record->first_line};
    int error = text_id(places, record->name, dw_code_record_name(record), &frame.name);
    if (!error)
        error = text_id(places, record->file, dw_code_record_file(record), &frame.file);
    if (!error)
        error = dw_ledger_met_frame(places->log, &frame, &code->frame);
    return error;
}

static bool ends_in(struct dw_code_text text, const uint8_t *bytes, const char *end)
{
    size_t size = strlen(end);
    return text.width == 1 && text.length >= size && !memcmp(bytes + text.length - size, end, size);
}

static bool is_of_event_loop(const struct dw_code_record *record)
{
    return ends_in(record->name, dw_code_record_name(record), "Handle._run") &&
           ends_in(record->file, dw_code_record_file(record), "asyncio/events.py");
}

void dw_sample_places_learn(struct dw_sample_places *places, const struct dw_code_record *record)
{
    uint32_t *id = &places->code_ids[record->id - 1];
    if (*id || DW_GROW(places->codes, places->code_count, places->code_capacity))
        return;
    struct dw_described_code *code = &places->codes[places->code_count];
    if (describe(places, record, code))
        return;
    *id = ++places->code_count;
    places->has_event_loop |= is_of_event_loop(record);
    code->first_line = record->first_line;
    code->table = record->table_size ? malloc((size_t)record->table_size) : NULL;
    code->table_size = code->table ? (size_t)record->table_size : 0;
    if (code->table)
        memcpy(code->table, dw_code_record_table(record), code->table_size);
    dw_numbers_set_known(places->numbers, record->id);
}

void dw_sample_places_learn_task(struct dw_sample_places *places, uint32_t number,
                                 const struct dw_py_task_name *name)
{
    struct dw_buffer *utf8 = &places->text;
    if (places->tasks[number - 1])
        return;
    dw_buffer_restart(utf8);
    dw_buffer_append(utf8, "task ", 5);
    put_text(utf8, (struct dw_code_text){name->length, name->width}, name->bytes);
    if (!name->is_given)
        dw_buffer_append(utf8, "()", 2);
    if (!utf8->failed &&
        !mark_place(places->log, utf8->data, utf8->size, &places->tasks[number - 1]))
        dw_task_set_known(number);
}

static dw_place_id mark_of(const struct dw_sample_places *places, uint64_t rest)
{
    if (rest < DW_MARKS)
        return places->marks[rest];
    dw_place_id task = rest - DW_MARKS < DW_TASK_NUMBERS ? places->tasks[rest - DW_MARKS] : 0;
    return task ? task : places->marks[DW_MARK_OTHER_TASK];
}

static dw_place_id python_place(struct dw_sample_places *places, uint64_t rest)
{
    uint32_t code_id = places->code_ids[(rest >> 32) - 1];
    int64_t unit = (int64_t)(uint32_t)rest - 1;
    dw_place_id id = 0;
    if (!code_id)
        return places->marks[DW_MARK_UNKNOWN];
    const struct dw_described_code *code = &places->codes[code_id - 1];
    struct dw_location at = dw_location_find(code->table, code->table_size, code->first_line, unit);
    struct dw_place place = {
        .frame = code->frame,
        .line = at.line,
        .end_line = at.end_line,
        .column = at.column,
        .end_column = at.end_column,
    };
    return dw_ledger_place(places->log, &place, &id) ? places->marks[DW_MARK_UNKNOWN] : id;
}

static dw_place_id find_place(struct dw_sample_places *places, dw_path_id outer, uint64_t token,
                              bool *lasts)
{
    uint64_t rest = DW_TOKEN_REST(token);
    *lasts = true;
    switch (DW_TOKEN_KIND(token)) {
    case DW_TOKEN_PYTHON: return python_place(places, rest);
    case DW_TOKEN_NATIVE:
        return dw_sample_natives_place(&places->natives, places->log, rest, outer, lasts);
    default: return mark_of(places, rest);
    }
}

dw_place_id dw_sample_places_of(struct dw_sample_places *places, dw_path_id outer, uint64_t token)
{
    bool lasts;
    struct dw_cached_token *cached = &places->cache[dw_hash_mix(token) % DW_PLACE_CACHE];
    if (DW_TOKEN_KIND(token) == DW_TOKEN_PLACE)
        return (dw_place_id)token;
    if (cached->token == token)
        return cached->place;
    dw_place_id place = find_place(places, outer, token, &lasts);
    if (lasts)
        *cached = (struct dw_cached_token){token, place};
    return place;
}

int dw_sample_places_extend(struct dw_sample_places *places, uint64_t token, dw_path_id *path)
{
    dw_place_id place = dw_sample_places_of(places, *path, token);
    if (!place)
        return 0;
    if (places->base && dw_ledger_place_at(places->log, place).frame == places->base) {
        *path = DW_PATH_ROOT;
        return 0;
    }
    return dw_ledger_path(places->log, *path, place, path);
}
