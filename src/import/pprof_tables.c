/* SPDX-License-Identifier: MIT
 * The file is read once, into tables sorted by id. Samples stay messages, which are read again one
 * by one, since they are most of a file. */
#include "import/pprof_tables.h"

#include "base/grow.h"
#include "base/order.h"
#include "base/protobuf.h"

#define ENTRIES_MAX (1u << 24) /* of each table, as in a log of ours */
#define THE_ID 1               /* the field of the id, in all messages that have one */

_Static_assert((int)DW_PPROF_MAPPING_FIELDS <= (int)DW_PPROF_FIELDS,
               "an entry has room for any message");

static int add_entry(struct dw_pprof_entries *entries, const struct dw_protobuf_field *field,
                     uint32_t count)
{
    if (entries->count >= ENTRIES_MAX)
        return DW_ERR_TOO_LARGE;
    int error = DW_GROW(entries->entries, entries->count, entries->capacity);
    if (error)
        return error;
    struct dw_pprof_entry *entry = &entries->entries[entries->count];
    *entry = (struct dw_pprof_entry){.first_line = 0};
    if (!field->bytes || !dw_protobuf_get_numbers(field->bytes, field->size, entry->fields, count))
        return DW_ERR_DAMAGED;
    entries->count++;
    return 0;
}

static int add_number(struct dw_pprof_numbers *numbers, uint64_t number)
{
    if (numbers->count >= ENTRIES_MAX)
        return DW_ERR_TOO_LARGE;
    int error = DW_GROW(numbers->numbers, numbers->count, numbers->capacity);
    if (!error)
        numbers->numbers[numbers->count++] = number;
    return error;
}

/* One number, or many that are packed. */
static int add_numbers(struct dw_pprof_numbers *numbers, const struct dw_protobuf_field *field)
{
    if (!field->bytes)
        return add_number(numbers, field->value);
    struct dw_cursor packed = {field->bytes, field->bytes + field->size, false};
    int error = 0;
    while (!error && packed.at < packed.end) {
        uint64_t number = dw_cursor_get(&packed);
        error = packed.bad ? DW_ERR_DAMAGED : add_number(numbers, number);
    }
    return error;
}

static int add_bytes(struct dw_string **list, uint32_t *count, uint32_t *capacity,
                     const struct dw_protobuf_field *field)
{
    if (!field->bytes)
        return DW_ERR_DAMAGED;
    if (*count >= ENTRIES_MAX)
        return DW_ERR_TOO_LARGE;
    int error = DW_GROW(*list, *count, *capacity);
    if (!error)
        (*list)[(*count)++] = (struct dw_string){(const char *)field->bytes, field->size};
    return error;
}

static int read_lines(struct dw_pprof_tables *tables, const struct dw_protobuf_field *message)
{
    struct dw_cursor cursor = {message->bytes, message->bytes + message->size, false};
    struct dw_protobuf_field field;
    int error = 0;
    while (!error && dw_protobuf_next(&cursor, &field))
        if (field.number == DW_PPROF_LOCATION_LINE)
            error = add_entry(&tables->lines, &field, DW_PPROF_LINE_FIELDS);
    return error;
}

static int add_location(struct dw_pprof_tables *tables, const struct dw_protobuf_field *field)
{
    uint32_t first_line = tables->lines.count;
    int error = add_entry(&tables->locations, field, DW_PPROF_LOCATION_FIELDS);
    if (error)
        return error;
    error = read_lines(tables, field);
    struct dw_pprof_entry *location = &tables->locations.entries[tables->locations.count - 1];
    location->first_line = first_line;
    location->line_count = tables->lines.count - first_line;
    return error;
}

/* Samples are only checked here, so that a damaged file adds nothing to a profile. */
static int add_sample(struct dw_pprof_tables *tables, const struct dw_protobuf_field *field,
                      struct dw_pprof_sample *sample)
{
    int error = add_bytes(&tables->samples, &tables->sample_count, &tables->sample_capacity, field);
    return error ? error : dw_pprof_sample_read(tables->samples[tables->sample_count - 1], sample);
}

static int read_period_type(struct dw_pprof_tables *tables, const struct dw_protobuf_field *field)
{
    bool is_read =
        field->bytes && dw_protobuf_get_numbers(field->bytes, field->size,
                                                tables->period_type.fields, DW_PPROF_TYPE_FIELDS);
    return is_read ? 0 : DW_ERR_DAMAGED;
}

static int read_field(struct dw_pprof_tables *tables, const struct dw_protobuf_field *field,
                      struct dw_pprof_sample *sample)
{
    switch (field->number) {
    case DW_PPROF_SAMPLE_TYPE: return add_entry(&tables->types, field, DW_PPROF_TYPE_FIELDS);
    case DW_PPROF_SAMPLE: return add_sample(tables, field, sample);
    case DW_PPROF_MAPPING: return add_entry(&tables->mappings, field, DW_PPROF_MAPPING_FIELDS);
    case DW_PPROF_LOCATION: return add_location(tables, field);
    case DW_PPROF_FUNCTION: return add_entry(&tables->functions, field, DW_PPROF_FUNCTION_FIELDS);
    case DW_PPROF_STRING:
        return add_bytes(&tables->strings, &tables->string_count, &tables->string_capacity, field);
    case DW_PPROF_PERIOD_TYPE: return read_period_type(tables, field);
    case DW_PPROF_COMMENT: return add_numbers(&tables->comments, field);
    default:
        if (!field->bytes && field->number < DW_PPROF_FIELDS)
            tables->fields[field->number] = field->value;
        return 0;
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct dw_pprof_entry *a = left, *b = right;
    return dw_ascending(a->fields[THE_ID], b->fields[THE_ID]);
}

static void sort(struct dw_pprof_entries *entries)
{
    if (entries->count)
        qsort(entries->entries, entries->count, sizeof *entries->entries, compare_entries);
}

int dw_pprof_tables_read(struct dw_string bytes, struct dw_pprof_tables *tables)
{
    struct dw_cursor cursor = {(const uint8_t *)bytes.bytes,
                               (const uint8_t *)bytes.bytes + bytes.size, false};
    struct dw_protobuf_field field;
    struct dw_pprof_sample sample = {0};
    int error = 0;
    *tables = (struct dw_pprof_tables){0};
    while (!error && dw_protobuf_next(&cursor, &field))
        error = read_field(tables, &field, &sample);
    dw_pprof_sample_release(&sample);
    if (error || cursor.bad)
        return error ? error : DW_ERR_DAMAGED;
    sort(&tables->mappings);
    sort(&tables->functions);
    sort(&tables->locations);
    return 0;
}

void dw_pprof_tables_release(struct dw_pprof_tables *tables)
{
    free(tables->types.entries);
    free(tables->mappings.entries);
    free(tables->functions.entries);
    free(tables->lines.entries);
    free(tables->locations.entries);
    free(tables->strings);
    free(tables->samples);
    free(tables->comments.numbers);
    *tables = (struct dw_pprof_tables){0};
}

int dw_pprof_sample_read(struct dw_string message, struct dw_pprof_sample *sample)
{
    struct dw_cursor cursor = {(const uint8_t *)message.bytes,
                               (const uint8_t *)message.bytes + message.size, false};
    struct dw_protobuf_field field;
    int error = 0;
    sample->locations.count = sample->values.count = sample->labels.count = 0;
    while (!error && dw_protobuf_next(&cursor, &field)) {
        if (field.number == DW_PPROF_SAMPLE_LOCATIONS)
            error = add_numbers(&sample->locations, &field);
        else if (field.number == DW_PPROF_SAMPLE_VALUES)
            error = add_numbers(&sample->values, &field);
        else if (field.number == DW_PPROF_SAMPLE_LABEL)
            error = add_entry(&sample->labels, &field, DW_PPROF_LABEL_FIELDS);
    }
    return error ? error : cursor.bad ? DW_ERR_DAMAGED : 0;
}

void dw_pprof_sample_release(struct dw_pprof_sample *sample)
{
    free(sample->locations.numbers);
    free(sample->values.numbers);
    free(sample->labels.entries);
    *sample = (struct dw_pprof_sample){0};
}

const struct dw_pprof_entry *dw_pprof_find(const struct dw_pprof_entries *entries, uint64_t id)
{
    struct dw_pprof_entry key = {.fields = {[THE_ID] = id}};
    return entries->count
               ? bsearch(&key, entries->entries, entries->count, sizeof key, compare_entries)
               : NULL;
}

struct dw_string dw_pprof_string_at(const struct dw_pprof_tables *tables, uint64_t number)
{
    return number < tables->string_count ? tables->strings[number] : (struct dw_string){"", 0};
}
