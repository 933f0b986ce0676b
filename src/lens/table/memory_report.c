/* SPDX-License-Identifier: MIT
 * The tables are views by line of Python: what somebody wants to change is a line of the program.
 */
#include "lens/table/view_report.h"

#include "lens/view/column.h"
#include "model/resident.h"

#include <inttypes.h>

#define ROWS 10

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
    dw_out_char(out, '\n');
}

/* Of a row on the place of a part. */
static int part_of(const struct dw_profile *profile, dw_path_id path)
{
    const char *name = dw_profile_string(profile, dw_profile_path_frame(profile, path)->name).bytes;
    int part = 0;
    while (part < DW_RESIDENTS && strcmp(dw_resident_names[part], name) != 0)
        part++;
    return part;
}

static uint64_t find_parts(const struct dw_profile *profile, uint64_t parts[DW_RESIDENTS])
{
    uint64_t all = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++) {
            uint64_t bytes = dw_value_get(values, &values->rows[i], DW_RESIDENT_BYTES);
            int part = bytes ? part_of(profile, values->rows[i].path) : DW_RESIDENTS;
            if (part == DW_RESIDENTS)
                continue;
            parts[part] += bytes;
            all += part == DW_RESIDENT_UNTOUCHED ? 0 - bytes : bytes;
        }
    }
    return all;
}

/* Names are in brackets, which mark what is not code. They are shown without. */
static void put_resident(struct dw_out *out, const struct dw_profile *profile)
{
    uint64_t parts[DW_RESIDENTS] = {0}, all = find_parts(profile, parts);
    if (!all)
        return;
    dw_out_text(out, "Resident in the end, by what it is\n");
    put_amount(out, all, "", 12);
    dw_out_text(out, "  in all\n");
    for (int i = 0; i < DW_RESIDENTS; i++) {
        const char *name = dw_resident_names[i];
        if (!parts[i])
            continue;
        put_amount(out, parts[i], i == DW_RESIDENT_UNTOUCHED ? "-" : "", 12);
        dw_out_printf(out, "  %.*s\n", (int)strlen(name) - 2, name + 1);
    }
    dw_out_char(out, '\n');
}

static void put_sums(struct dw_out *out, const struct dw_profile *profile)
{
    put_sum(out, profile, "allocated", DW_ALLOC_BYTES, DW_ALLOCATIONS);
    put_sum(out, profile, "at the peak", DW_PEAK_BYTES, DW_MEASURES);
    put_sum(out, profile, "at the end", DW_LIVE_BYTES, DW_LIVE);
    if (sum_of(profile, DW_RESERVED_BYTES))
        put_sum(out, profile, "reserved", DW_RESERVED_BYTES, DW_MEASURES);
    if (is_sampled(profile))
        dw_out_text(out, "by samples, one in 512 KiB; --memory=exact has each allocation\n");
}

static int put_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                     const char *heading, enum dw_measure bytes, enum dw_measure count,
                     struct dw_out *out)
{
    struct dw_restriction limit = {.kind = DW_RESTRICT_COUNT,
                                   .count = options->limit ? options->limit : ROWS};
    struct dw_view_options view = {
        .keys = {"python"},
        .key_count = 1,
        .measures = {bytes, count},
        .measure_count = 2,
        .restrictions = {&limit, 1},
        .leaves_out_none = true,
    };
    struct dw_lens_options table = {.view = &view, .width = options->width};
    dw_out_printf(out, "%s\n", heading);
    return dw_view_table.write(profile, &table, out);
}

static int write_memory(const struct dw_profile *profile, const struct dw_lens_options *options,
                        struct dw_out *out)
{
    put_resident(out, profile);
    put_sums(out, profile);
    int error = put_table(profile, options, "\nAt the peak, by the line that allocated it",
                          DW_PEAK_BYTES, DW_ALLOCATIONS, out);
    if (!error && sum_of(profile, DW_LIVE_BYTES))
        error =
            put_table(profile, options, "\nStill there at the end", DW_LIVE_BYTES, DW_LIVE, out);
    return error;
}

const struct dw_lens dw_memory_table = {.name = "table", .write = write_memory};
