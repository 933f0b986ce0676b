/* SPDX-License-Identifier: MIT
 * Samples by function, line or module: a table for people, and the same as data. Shares are
 * of all samples; those of own time add up to the whole. */
#include "lens/table/fit.h"
#include "lens/view/notes.h"
#include "lens/view/sample_list.h"

#include <inttypes.h>

#define SHARES_WIDTH 15
#define NUMBER_WIDTH 10
#define LABEL_MIN 30 /* columns: with fewer, labels take a second line rather than be cut */

static const char *const names[] = {
    [DW_SPOT_FUNCTION] = "function",
    [DW_SPOT_LINE] = "line",
    [DW_SPOT_MODULE] = "module",
};

static double share(const struct dw_sample_list *list, uint64_t weight)
{
    return list->all.weight ? 100.0 * (double)weight / (double)list->all.weight : 0;
}

static void put_seconds(struct dw_out *out, uint64_t ns)
{
    dw_out_printf(out, " %9.3f", (double)ns / 1e9);
}

static void put_heading(struct dw_out *out, const struct dw_sample_list *list)
{
    dw_out_text(out, "total %  self %");
    dw_out_text(out, list->are_counts ? "   samples      self" : "   total s    self s   samples");
    if (list->tells_running)
        dw_out_text(out, list->are_counts ? "    python    native" : "  python s  native s");
    if (list->tells_waiting)
        dw_out_text(out, list->are_counts ? "   waiting" : " waiting s");
    dw_out_printf(out, "  %s\n", names[list->by]);
}

static void put_part(struct dw_out *out, const struct dw_sample_list *list, uint64_t weight)
{
    if (list->are_counts)
        dw_out_printf(out, " %9" PRIu64, weight);
    else
        put_seconds(out, weight);
}

static void put_label(struct dw_out *out, const struct dw_sample_list *list, const char *label,
                      size_t width)
{
    size_t numbers = (list->are_counts ? 2u : 3u) + (list->tells_running ? 2u : 0u) +
                     (list->tells_waiting ? 1u : 0u);
    size_t before = SHARES_WIDTH + numbers * NUMBER_WIDTH + 2;
    dw_out_text(out, "  ");
    dw_fit_put(out, label, strlen(label), width >= before + LABEL_MIN ? width - before : 0);
    dw_out_char(out, '\n');
}

static void put_row(struct dw_out *out, const struct dw_sample_list *list,
                    const struct dw_sample_row *row, size_t width)
{
    dw_out_printf(out, "%7.2f %7.2f", share(list, row->total.weight),
                  share(list, row->self.weight));
    put_part(out, list, row->total.weight);
    put_part(out, list, row->self.weight);
    if (!list->are_counts)
        dw_out_printf(out, " %9" PRIu64, row->total.count);
    if (list->tells_running) {
        put_part(out, list, row->python);
        put_part(out, list, row->native);
    }
    if (list->tells_waiting)
        put_part(out, list, row->waiting);
    put_label(out, list, row->label, width);
}

static void put_idle(struct dw_out *out, const struct dw_sample_list *list)
{
    if (list->idle_threads)
        dw_out_printf(out,
                      "idle: %" PRIu32 " of %" PRIu32 " thread%s only waited; their time is marked "
                      "and counts last\n",
                      list->idle_threads, list->threads, list->threads == 1 ? "" : "s");
}

static int write_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct dw_sample_list list;
    int error = dw_sample_list_make(profile, options->samples, &list);
    if (error)
        return error;
    dw_notes_put_sampling(out, profile, "");
    dw_notes_put_whole(out, profile, "");
    put_idle(out, &list);
    put_heading(out, &list);
    for (uint32_t i = 0; i < list.count && !out->error; i++)
        put_row(out, &list, &list.rows[i], options->width);
    if (list.left_out)
        dw_out_printf(out, "(%" PRIu32 " more)\n", list.left_out);
    dw_notes_put_losses(out, profile, "");
    dw_sample_list_release(&list);
    return 0;
}

/* Where the code of a row is; parts that are not known, or not the same for all of it, are
 * empty. */
struct where {
    struct dw_string name, file, module;
    uint32_t line;
};

static struct where where_of(const struct dw_sample_list *list, const struct dw_sample_row *row)
{
    const struct dw_profile *profile = list->tree.profile;
    struct where where = {{"", 0}, {"", 0}, {"", 0}, 0};
    const struct dw_frame *frame = dw_place_frame(profile, row->place);
    where.module = dw_place_module(profile, row->place);
    where.name = dw_profile_string(profile, frame->name);
    where.file = dw_place_source(profile, row->place);
    if (list->by == DW_SPOT_MODULE) {
        where.file = where.module.size ? (struct dw_string){"", 0} : where.file;
        where.name = frame->file || where.module.size ? (struct dw_string){"", 0} : where.name;
        return where;
    }
    where.line = list->by == DW_SPOT_LINE ? row->place->line : frame->line;
    return where;
}

static void put_csv_string(struct dw_out *out, struct dw_string string)
{
    dw_out_char(out, ',');
    if (string.size)
        dw_out_csv_field(out, string.bytes, string.size);
}

/* Seconds; nothing when there is no time. */
static void put_csv_time(struct dw_out *out, const struct dw_sample_list *list, uint64_t ns)
{
    dw_out_char(out, ',');
    if (!list->are_counts)
        dw_out_printf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_csv_row(struct dw_out *out, const struct dw_sample_list *list,
                        const struct dw_sample_row *row)
{
    struct where where = where_of(list, row);
    dw_out_printf(out, "%.4f,%.4f", share(list, row->total.weight), share(list, row->self.weight));
    put_csv_time(out, list, row->total.weight);
    put_csv_time(out, list, row->self.weight);
    dw_out_printf(out, ",%" PRIu64 ",%" PRIu64, row->total.count, row->self.count);
    put_csv_time(out, list, row->python);
    put_csv_time(out, list, row->native);
    put_csv_time(out, list, row->waiting);
    put_csv_string(out, where.name);
    put_csv_string(out, where.file);
    dw_out_printf(out, ",%" PRIu32, where.line);
    put_csv_string(out, where.module);
    dw_out_char(out, '\n');
}

static int write_csv(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    struct dw_sample_list list;
    int error = dw_sample_list_make(profile, options->samples, &list);
    if (error)
        return error;
    dw_out_text(out, "total_percent,self_percent,total,self,samples,self_samples,python,native,"
                     "waiting,function,file,line,module\n");
    for (uint32_t i = 0; i < list.count && !out->error; i++)
        put_csv_row(out, &list, &list.rows[i]);
    dw_sample_list_release(&list);
    return 0;
}

static void put_json_string(struct dw_out *out, const char *key, struct dw_string string)
{
    dw_out_printf(out, ", \"%s\": ", key);
    dw_out_json_string(out, string.bytes, string.size);
}

static void put_json_time(struct dw_out *out, const struct dw_sample_list *list, const char *key,
                          uint64_t ns)
{
    if (list->are_counts)
        dw_out_printf(out, ", \"%s_ns\": null", key);
    else
        dw_out_printf(out, ", \"%s_ns\": %" PRIu64, key, ns);
}

static void put_json_row(struct dw_out *out, const struct dw_sample_list *list,
                         const struct dw_sample_row *row)
{
    struct where where = where_of(list, row);
    dw_out_printf(out,
                  "{\"total_percent\": %.4f, \"self_percent\": %.4f, \"samples\": %" PRIu64
                  ", \"self_samples\": %" PRIu64,
                  share(list, row->total.weight), share(list, row->self.weight), row->total.count,
                  row->self.count);
    put_json_time(out, list, "total", row->total.weight);
    put_json_time(out, list, "self", row->self.weight);
    put_json_time(out, list, "python", row->python);
    put_json_time(out, list, "native", row->native);
    put_json_time(out, list, "waiting", row->waiting);
    put_json_string(out, "function", where.name);
    put_json_string(out, "file", where.file);
    dw_out_printf(out, ", \"line\": %" PRIu32, where.line);
    put_json_string(out, "module", where.module);
    dw_out_char(out, '}');
}

static int write_json(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct dw_sample_list list;
    int error = dw_sample_list_make(profile, options->samples, &list);
    if (error)
        return error;
    dw_out_printf(out,
                  "{\n  \"dwell\": \"" DW_VERSION "\",\n  \"by\": \"%s\",\n  \"samples\": %" PRIu64,
                  names[list.by], list.all.count);
    put_json_time(out, &list, "total", list.all.weight);
    dw_notes_put_json_sampling(out, profile);
    dw_out_text(out, ",\n  \"rows\": [");
    for (uint32_t i = 0; i < list.count && !out->error; i++) {
        dw_out_text(out, i ? ",\n    " : "\n    ");
        put_json_row(out, &list, &list.rows[i]);
    }
    dw_out_printf(out, "],\n  \"rows_left_out\": %" PRIu32, list.left_out);
    dw_notes_put_json_losses(out, profile);
    dw_out_text(out, "\n}\n");
    dw_sample_list_release(&list);
    return 0;
}

const struct dw_lens dw_sample_table = {.name = "table", .write = write_table};
const struct dw_lens dw_sample_csv = {.name = "csv", .lacks_notes = true, .write = write_csv};
const struct dw_lens dw_sample_json = {.name = "json", .write = write_json};
