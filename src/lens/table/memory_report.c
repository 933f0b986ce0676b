/* SPDX-License-Identifier: MIT
 * The tables are views by line of Python: what somebody wants to change is a line of the program.
 */
#include "lens/table/view_report.h"

#include "lens/table/memory_peak.h"
#include "lens/view/column.h"
#include "model/resident.h"

#include <inttypes.h>
#include <stdio.h>

#define ROWS 10
#define MORE 64 /* parts with names of their own */
#define PART_WIDTH 12

static uint64_t sum_of(const struct dw_profile *profile, enum dw_measure measure)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++)
            sum = dw_measure_add(measure, sum, dw_value_get(values, &values->rows[i], measure));
    }
    return sum;
}

static bool is_sampled(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (!strcmp(dw_profile_property(profile, i, "memory").bytes, "sampled"))
            return true;
    return false;
}

static void put_amount(struct dw_out *out, uint64_t bytes, const char *sign, int width)
{
    struct dw_out cell;
    dw_out_init_memory(&cell);
    dw_out_text(&cell, sign);
    dw_out_bytes(&cell, bytes);
    dw_out_printf(out, "%*.*s", width, (int)cell.buffer.size, (const char *)cell.buffer.data);
    dw_out_close_into(&cell, out);
}

static void put_sum(struct dw_out *out, const struct dw_profile *profile, const char *what,
                    enum dw_measure bytes, enum dw_measure count)
{
    dw_out_printf(out, "  %-12s ", what);
    put_amount(out, sum_of(profile, bytes), "", 10);
    if (count < DW_MEASURES)
        dw_out_printf(out, " in %" PRIu64 " blocks", sum_of(profile, count));
    if (bytes == DW_PEAK_BYTES)
        dw_memory_put_peak_time(out, profile);
    dw_out_char(out, '\n');
}

/* A part with a name of its own, which not all processes have. */
struct more_part {
    const char *name;
    uint64_t bytes;
};

struct resident {
    uint64_t parts[DW_RESIDENTS];
    struct more_part more[MORE];
    uint32_t more_count;
    uint64_t all;
};

static void add_more(struct resident *resident, const char *name, uint64_t bytes)
{
    uint32_t i = 0;
    while (i < resident->more_count && strcmp(resident->more[i].name, name) != 0)
        i++;
    if (i == MORE) {
        resident->parts[DW_RESIDENT_OTHER] += bytes;
        return;
    }
    if (i == resident->more_count)
        resident->more[resident->more_count++] = (struct more_part){name, 0};
    resident->more[i].bytes += bytes;
}

/* A row on the place of a part. */
static void add_part(struct resident *resident, const char *name, uint64_t bytes)
{
    int part = 0;
    while (part < DW_RESIDENTS && strcmp(dw_resident_names[part], name) != 0)
        part++;
    if (part < DW_RESIDENTS)
        resident->parts[part] += bytes;
    else
        add_more(resident, name, bytes);
    resident->all += part == DW_RESIDENT_UNTOUCHED ? 0 - bytes : bytes;
}

static void find_parts(const struct dw_profile *profile, struct resident *resident)
{
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++) {
            uint64_t bytes = dw_value_get(values, &values->rows[i], DW_RESIDENT_BYTES);
            const struct dw_frame *frame = dw_profile_path_frame(profile, values->rows[i].path);
            if (bytes)
                add_part(resident, dw_profile_string(profile, frame->name).bytes, bytes);
        }
    }
}

/* Names are in brackets, which mark what is not code. They are shown without. */
static void put_part(struct dw_out *out, const char *name, uint64_t bytes, const char *sign)
{
    size_t length = strlen(name);
    bool has_brackets = length > 2 && name[0] == '<' && name[length - 1] == '>';
    if (!bytes)
        return;
    put_amount(out, bytes, sign, PART_WIDTH);
    dw_out_text(out, "  ");
    dw_out_printable(out, name + has_brackets, length - 2 * has_brackets);
    dw_out_char(out, '\n');
}

static void put_resident(struct dw_out *out, const struct resident *resident)
{
    if (!resident->all)
        return;
    dw_out_text(out, "Resident in the end, by what it is\n");
    put_amount(out, resident->all, "", PART_WIDTH);
    dw_out_text(out, "  in all\n");
    for (int i = 0; i < DW_RESIDENTS; i++) {
        put_part(out, dw_resident_names[i], resident->parts[i],
                 i == DW_RESIDENT_UNTOUCHED ? "-" : "");
        for (uint32_t j = 0; i == DW_RESIDENT_BEFORE && j < resident->more_count; j++)
            put_part(out, resident->more[j].name, resident->more[j].bytes, "");
    }
    dw_out_char(out, '\n');
}

static void put_sampled(struct dw_out *out, const struct dw_profile *profile)
{
    if (is_sampled(profile))
        dw_out_text(out, "by samples, one in 512 KiB; --memory=exact has each allocation\n");
}

static void put_sums(struct dw_out *out, const struct dw_profile *profile)
{
    put_sum(out, profile, "allocated", DW_ALLOC_BYTES, DW_ALLOCATIONS);
    put_sum(out, profile, "at the peak", DW_PEAK_BYTES, DW_MEASURES);
    put_sum(out, profile, "at the end", DW_LIVE_BYTES, DW_LIVE);
    if (sum_of(profile, DW_RESERVED_BYTES))
        put_sum(out, profile, "reserved", DW_RESERVED_BYTES, DW_MEASURES);
    put_sampled(out, profile);
}

struct table {
    const char *heading, *key; /* beside the line; "": none */
    enum dw_measure measures[2];
};

static int put_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                     const struct table *which, struct dw_out *out)
{
    struct dw_restriction limit = {.kind = DW_RESTRICT_COUNT,
                                   .count = options->limit ? options->limit : ROWS};
    struct dw_view_options view = {
        .keys = {"python", which->key},
        .key_count = *which->key ? 2 : 1,
        .measures = {which->measures[0], which->measures[1]},
        .measure_count = which->measures[1] < DW_MEASURES ? 2 : 1,
        .restrictions = {&limit, 1},
        .leaves_out_none = true,
    };
    struct dw_lens_options table = {.view = &view, .width = options->width};
    dw_out_printf(out, "%s\n", which->heading);
    return dw_view_table.write(profile, &table, out);
}

/* What was alive at one moment, and nothing else. */
static int write_moment(const struct dw_profile *profile, const struct dw_lens_options *options,
                        struct dw_out *out)
{
    struct dw_out when;
    char heading[96];
    dw_out_init_memory(&when);
    dw_out_moment(&when, (double)profile->moment_ns, 2);
    snprintf(heading, sizeof heading, "\nThere at %.*s, by the line that allocated it",
             (int)when.buffer.size, (const char *)when.buffer.data);
    dw_out_close_into(&when, out);
    put_sum(out, profile, "there", DW_LIVE_BYTES, DW_LIVE);
    if (sum_of(profile, DW_RESERVED_BYTES))
        put_sum(out, profile, "reserved", DW_RESERVED_BYTES, DW_MEASURES);
    put_sampled(out, profile);
    const struct table live = {heading, "", {DW_LIVE_BYTES, DW_LIVE}};
    return put_table(profile, options, &live, out);
}

static bool has_unseen(const struct resident *resident)
{
    for (uint32_t i = 0; i < resident->more_count; i++)
        if (resident->more[i].bytes && strstr(resident->more[i].name, DW_RESIDENT_UNSEEN))
            return true;
    return false;
}

/* The tables are by Python's lines; that of mappings also by who made them. */
static int put_tables(const struct dw_profile *profile, const struct dw_lens_options *options,
                      const struct resident *resident, struct dw_out *out)
{
    const struct table peak = {
        "\nAt the peak, by the line that allocated it", "", {DW_PEAK_BYTES, DW_ALLOCATIONS}};
    const struct table live = {"\nStill there at the end", "", {DW_LIVE_BYTES, DW_LIVE}};
    const struct table mapped = {
        "\nMapped, by the line that needed it, for allocators whose blocks "
        "are not seen and for others",
        "allocator",
        {DW_RESERVED_BYTES, DW_MEASURES}};
    int error = put_table(profile, options, &peak, out);
    if (!error)
        dw_memory_put_peak_stacks(out, profile, is_sampled(profile) ? "sample" : "allocation");
    if (!error && sum_of(profile, DW_LIVE_BYTES))
        error = put_table(profile, options, &live, out);
    if (!error && has_unseen(resident))
        error = put_table(profile, options, &mapped, out);
    return error;
}

static int write_memory(const struct dw_profile *profile, const struct dw_lens_options *options,
                        struct dw_out *out)
{
    if (profile->is_of_moment)
        return write_moment(profile, options, out);
    struct resident resident = {.all = 0};
    find_parts(profile, &resident);
    put_resident(out, &resident);
    put_sums(out, profile);
    return put_tables(profile, options, &resident, out);
}

const struct dw_lens dw_memory_table = {.name = "table", .write = write_memory};
