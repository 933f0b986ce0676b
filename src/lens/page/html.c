/* SPDX-License-Identifier: MIT
 * One page that needs nothing else: the template of viewer/ with the profile in
 * it as JSON. No '<' is ever written into the data, so no name can end it. */
#include "base/error.h"
#include "lens/page/html_lines.h"
#include "lens/page/html_memory.h"
#include "lens/view/column.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"
#include "lens/view/stack_tree.h"
#include "viewer_page.h"

#include <stddef.h>
#include <stdlib.h>

/* What each node has; a column of the tabular lenses with the same id gives the value. */
static const struct {
    const char *id, *unit;
    bool column; /* of the page's table, not only told about a single node */
    const char *about;
} metrics[] = {
    {"total", "ns", true, "time from entry to exit, of all entries"},
    {"self", "ns", true, "time in none of the entries directly inside"},
    {"samples", "count", true, "samples with it on the stack"},
    {"count", "count", true, "entries that ended"},
    {"average", "ns", true, "mean time of an entry"},
    {"min", "ns", true, "shortest entry"},
    {"max", "ns", true, "longest entry"},
    {"p50", "ns", false, "half of the entries took no longer"},
    {"p95", "ns", true, "95 % of the entries took no longer"},
    {"p99", "ns", false, "99 % of the entries took no longer"},
    {"suspended", "ns", false, "time in which a generator or task slept"},
};
#define METRIC_COUNT (sizeof metrics / sizeof *metrics)
#define SAMPLES 2 /* behind the metrics that samples and calls have in common */

struct page {
    struct dw_out *out;
    const struct dw_profile *profile;
    struct dw_out scratch; /* one string, before '<' is taken out of it */
    uint32_t *string_of;   /* of the profile's strings: the page's number, or UINT32_MAX */
    uint32_t string_count;
    enum dw_family family;
    uint32_t thread_count; /* of the family */
    bool are_samples, first_view;
    bool are_snapshots;                   /* threads are: several, of one heap */
    const struct dw_memory_words *memory; /* of a page of bytes, else NULL */
    const struct dw_rows *rows;           /* that are written */
    const struct dw_row_tree *tree;       /* of them, the one at hand */
};

static void put_text(struct page *page, const void *bytes, size_t size)
{
    struct dw_buffer *text = &page->scratch.buffer;
    dw_buffer_clear(text);
    dw_out_json_string(&page->scratch, bytes, size);
    dw_html_put_json(page->out, text->data, text->size);
}

static void put_string(struct page *page, struct dw_string string)
{
    put_text(page, string.bytes, string.size);
}

static void put_key(struct page *page, const char *key, bool first)
{
    dw_out_text(page->out, first ? "\"" : ",\"");
    dw_out_text(page->out, key);
    dw_out_text(page->out, "\":");
}

static void put_number(struct page *page, const char *key, uint64_t value, bool first)
{
    put_key(page, key, first);
    dw_out_u64(page->out, value);
}

static void put_process(struct page *page, uint32_t index)
{
    static const char *const properties[] = {"program", "argv", "host", "cwd", "python", "dwell"};
    const struct dw_process *process = &page->profile->processes[index];
    dw_out_char(page->out, '{');
    put_number(page, "pid", process->pid, true);
    put_number(page, "start_ms", process->first_clock.wall_ns / 1000000, false);
    put_number(page, "duration_ns", dw_process_duration_ns(process), false);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        put_key(page, properties[i], false);
        put_string(page, dw_profile_property(page->profile, index, properties[i]));
    }
    dw_out_char(page->out, '}');
}

static int put_processes(struct page *page)
{
    uint32_t *order;
    int error = dw_roster_processes(page->profile, &order);
    if (error)
        return error;
    dw_out_text(page->out, ",\n\"processes\":[");
    for (uint32_t i = 0; i < page->profile->process_count; i++) {
        dw_out_text(page->out, i ? ",\n" : "");
        put_process(page, order[i]);
    }
    dw_out_text(page->out, "]");
    free(order);
    return 0;
}

typedef void put_notes(struct dw_out *out, const struct dw_profile *profile, const char *prefix);

/* Notes for people as a list of their lines. */
static void put_lines(struct page *page, const char *key, put_notes *put)
{
    struct dw_out lines;
    dw_out_init_memory(&lines);
    put(&lines, page->profile, "");
    const uint8_t *at = lines.buffer.data, *end = at ? at + lines.buffer.size : at, *line_end;
    dw_out_printf(page->out, ",\n\"%s\":[", key);
    for (bool first = true; at < end && (line_end = memchr(at, '\n', (size_t)(end - at)));
         first = false) {
        dw_out_text(page->out, first ? "" : ",");
        put_text(page, at, (size_t)(line_end - at));
        at = line_end + 1;
    }
    dw_out_text(page->out, "]");
    dw_out_close_into(&lines, page->out);
}

/* Samples have no entries, whose number and times could be told. */
static bool is_told(const struct page *page, size_t metric)
{
    bool has_samples = page->are_samples && !page->memory;
    return metric < SAMPLES || (has_samples && metric == SAMPLES) ||
           (!page->are_samples && metric > SAMPLES);
}

static const char *about(const struct page *page, size_t metric)
{
    static const char *const of_samples[] = {"time of the samples with it on the stack",
                                             "time of those in which it was the innermost"};
    if (metric >= SAMPLES || !page->are_samples)
        return metrics[metric].about;
    if (page->memory)
        return metric ? page->memory->about_self : page->memory->about_total;
    return of_samples[metric];
}

static void put_metric(struct page *page, size_t metric, const char *unit)
{
    dw_out_printf(page->out, "%s{\"id\":\"%s\",\"unit\":\"%s\",\"column\":%s,\"about\":\"%s\"",
                  metric ? ",\n" : "", metrics[metric].id, unit,
                  metrics[metric].column ? "true" : "false", about(page, metric));
    if (page->memory)
        dw_out_printf(page->out, ",\"label\":\"%s\"",
                      metric ? page->memory->self : page->memory->total);
    dw_out_char(page->out, '}');
}

static bool is_counted(const struct page *page)
{
    return page->memory && page->memory->counted;
}

/* What the page calls its parts, where they are not functions that take time. */
static void put_words(struct page *page)
{
    if (page->memory)
        dw_out_printf(page->out, ",\n\"within\":\"%s\",\"name\":[\"%s\",\"%s\"]",
                      page->memory->within, page->memory->name, page->memory->about_name);
}

static void put_whole(struct page *page)
{
    if (page->memory)
        dw_out_text(page->out, page->memory->whole);
    else if (page->are_samples)
        dw_notes_put_whole_name(page->out, page->profile);
    else
        dw_out_text(page->out, "the run");
}

static void put_metrics(struct page *page)
{
    bool are_counts = dw_samples_are_counts(page->profile);
    const char *unit = page->memory ? "bytes" : "count";
    dw_out_text(page->out, ",\n\"weight\":\"total\",\"whole\":\"");
    put_whole(page);
    dw_out_text(page->out, "\",\"metrics\":[");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (is_told(page, i))
            put_metric(page, i, are_counts ? unit : metrics[i].unit);
    if (is_counted(page))
        dw_out_printf(page->out,
                      ",\n{\"id\":\"objects\",\"unit\":\"count\",\"column\":true,\"about\":\"%s\","
                      "\"label\":\"%s\"}",
                      page->memory->about_counted, page->memory->counted);
    dw_out_text(page->out, "]");
    put_words(page);
}

/* Writes the string where it is used first. */
static void use_string(struct page *page, dw_string_id id)
{
    if (page->string_of[id] != UINT32_MAX)
        return;
    dw_out_text(page->out, page->string_count ? ",\n" : "");
    put_string(page, dw_profile_string(page->profile, id));
    page->string_of[id] = page->string_count++;
}

/* The member of each frame at that offset: a number, or the page's number of a string. */
static void put_frame_column(struct page *page, const char *key, size_t offset, bool is_string)
{
    const struct dw_frame_table *frames = &page->profile->frames;
    dw_out_printf(page->out, "\"%s\":", key);
    for (dw_frame_id i = 0; i < frames->count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)&frames->frames[i] + offset, sizeof value);
        dw_out_char(page->out, i ? ',' : '[');
        dw_out_u64(page->out, is_string ? page->string_of[value] : value);
    }
    dw_out_text(page->out, frames->count ? "]" : "[]");
}

/* String 0 of the page is the empty one: a frame without a file has it. */
static void put_frames(struct page *page)
{
    const struct dw_frame_table *frames = &page->profile->frames;
    dw_out_text(page->out, ",\n\"strings\":[\"\"");
    page->string_of[0] = 0;
    page->string_count = 1;
    for (dw_frame_id i = 0; i < frames->count; i++) {
        use_string(page, frames->frames[i].name);
        use_string(page, frames->frames[i].file);
    }
    dw_out_text(page->out, "],\n\"frames\":{");
    put_frame_column(page, "name", offsetof(struct dw_frame, name), true);
    dw_out_char(page->out, ',');
    put_frame_column(page, "file", offsetof(struct dw_frame, file), true);
    dw_out_char(page->out, ',');
    put_frame_column(page, "line", offsetof(struct dw_frame, line), false);
    dw_out_char(page->out, ',');
    put_frame_column(page, "kind", offsetof(struct dw_frame, kind), false);
    dw_out_text(page->out, "}");
}

static uint64_t value_of(const struct page *page, const struct dw_column *column,
                         const struct dw_row *row)
{
    struct dw_metric metric = dw_row_metric(page->rows, row);
    return column->get(row, &metric);
}

static bool any_value(const struct page *page, const struct dw_column *column,
                      const struct dw_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (value_of(page, column, &rows[i]))
            return true;
    return false;
}

static int put_counts(struct page *page, const struct dw_row *rows, uint32_t count, bool first)
{
    uint64_t *counts = dw_memory_count(page->profile, page->memory, page->tree, rows, count);
    if (!counts)
        return DW_ERR_MEMORY;
    put_key(page, "objects", first);
    for (uint32_t i = 0; i < count && !page->out->error; i++) {
        dw_out_char(page->out, i ? ',' : '[');
        dw_out_u64(page->out, counts[i]);
    }
    dw_out_text(page->out, "]\n");
    free(counts);
    return 0;
}

/* A metric that is 0 for all nodes is left out. */
static int put_values(struct page *page, const struct dw_row *rows, uint32_t count)
{
    bool first = true;
    dw_out_text(page->out, ",\n\"values\":{");
    for (size_t m = 0; m < METRIC_COUNT; m++) {
        const struct dw_column *column = dw_column_find(metrics[m].id);
        if (!is_told(page, m) || !any_value(page, column, rows, count))
            continue;
        put_key(page, metrics[m].id, first);
        first = false;
        for (uint32_t i = 0; i < count && !page->out->error; i++) {
            dw_out_char(page->out, i ? ',' : '[');
            dw_out_u64(page->out, value_of(page, column, &rows[i]));
        }
        dw_out_text(page->out, "]\n");
    }
    int error = is_counted(page) ? put_counts(page, rows, count, first) : 0;
    dw_out_char(page->out, '}');
    return error;
}

/* The nodes of one tree in depth-first order; the first is its root, its own parent. */
static int put_tree(struct page *page, const struct dw_row *rows, uint32_t count)
{
    put_key(page, "parent", false);
    for (uint32_t i = 0; i < count; i++) {
        dw_out_char(page->out, i ? ',' : '[');
        dw_out_u64(page->out, i ? rows[i].parent - rows[0].id : 0);
    }
    dw_out_text(page->out, "],\n\"frame\":");
    for (uint32_t i = 0; i < count; i++) {
        dw_out_char(page->out, i ? ',' : '[');
        dw_out_u64(page->out, page->profile->functions.paths[rows[i].path].step);
    }
    dw_out_char(page->out, ']');
    return put_values(page, rows, count);
}

/* The tree that starts at the row, up to the next one. */
static int put_view(struct page *page, const struct dw_rows *rows, const char *kind, uint32_t *next)
{
    const uint32_t first = *next;
    const bool is_all = !strcmp(kind, "all");
    uint32_t end = first + 1;
    while (end < rows->count && rows->rows[end].parent != DW_ROW_NONE)
        end++;
    page->rows = rows;
    page->tree = dw_row_tree(rows, &rows->rows[first]);
    dw_out_text(page->out, page->first_view ? "\n{" : ",\n{");
    page->first_view = false;
    put_key(page, "kind", true);
    put_text(page, kind, strlen(kind));
    put_key(page, "name", false);
    if (is_all && page->memory && page->memory->root)
        put_text(page, page->memory->root, strlen(page->memory->root));
    else if (page->are_snapshots)
        put_string(page, dw_profile_string(page->profile,
                                           page->profile->threads[page->tree->thread].name));
    else
        put_string(page, dw_row_name(rows, &rows->rows[first]));
    int error = put_tree(page, rows->rows + first, end - first);
    dw_out_char(page->out, '}');
    *next = end;
    return error;
}

static int put_views(struct page *page, enum dw_by by, const char *kind)
{
    struct dw_rows rows;
    int error = dw_rows_make(page->profile,
                             &(struct dw_lens_options){.family = page->family, .by = by}, &rows);
    if (error)
        return error;
    for (uint32_t row = 0; row < rows.count && !error && !page->out->error;)
        error = put_view(page, &rows, kind, &row);
    dw_rows_release(&rows);
    return error;
}

/* Where there is only one thread or process, it is all there is. */
static int put_all_views(struct page *page)
{
    dw_out_text(page->out, ",\n\"views\":[");
    if (page->are_snapshots) {
        int error = put_views(page, DW_BY_THREAD, "snapshot");
        dw_out_text(page->out, "]");
        return error;
    }
    int error = put_views(page, DW_BY_REGION, "all");
    if (!error && page->profile->process_count > 1)
        error = put_views(page, DW_BY_PROCESS, "process");
    if (!error && page->thread_count > 1)
        error = put_views(page, DW_BY_THREAD, "thread");
    dw_out_text(page->out, "]");
    return error;
}

static void put_sampling(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    dw_notes_put_sampling(out, profile, prefix);
    if (dw_family_is_in(profile, DW_FAMILY_SAMPLES) &&
        (dw_family_is_in(profile, DW_FAMILY_REGIONS) || dw_family_is_in(profile, DW_FAMILY_CALLS)))
        dw_out_printf(out, "%sregions or calls are in a page of their own: export --by region\n",
                      prefix);
}

static void put_nothing(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    (void)out, (void)profile, (void)prefix;
}

static int put_data(struct page *page)
{
    dw_out_text(page->out, "{\"dwell\":\"" DW_VERSION "\"");
    put_number(page, "threads", page->thread_count, false);
    int error = put_processes(page);
    if (error)
        return error;
    put_lines(page, "warnings", dw_notes_put_losses);
    put_lines(page, "sampling", page->are_samples ? put_sampling : put_nothing);
    put_metrics(page);
    put_frames(page);
    error = put_all_views(page);
    if (!error)
        error = dw_html_put_lines(page->out, page->profile);
    dw_out_text(page->out, "}\n");
    return error;
}

static int write_html(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    enum dw_family family = dw_family_choose(profile, options->family);
    struct page page = {.out = out,
                        .profile = profile,
                        .family = family,
                        .thread_count = dw_family_thread_count(profile, family),
                        .are_samples = family == DW_FAMILY_SAMPLES,
                        .first_view = true,
                        .memory = dw_memory_words(profile)};
    if (page.memory && page.memory->root) {
        page.are_snapshots = page.thread_count > 1 && profile->process_count == 1;
        page.thread_count = 0; /* a snapshot is of a process */
    }
    size_t size = (profile->strings.count + 1u) * sizeof *page.string_of;
    page.string_of = malloc(size);
    if (!page.string_of)
        return DW_ERR_MEMORY;
    memset(page.string_of, 0xff, size);
    dw_out_init_memory(&page.scratch);
    dw_out_write(out, viewer_page_head, sizeof viewer_page_head);
    int error = put_data(&page);
    dw_out_write(out, viewer_page_tail, sizeof viewer_page_tail);
    int scratch_error = dw_out_close(&page.scratch);
    free(page.string_of);
    return error ? error : scratch_error;
}

const struct dw_lens dw_lens_html = {
    .name = "html",
    .summary = "one page for the browser, with everything in it",
    .extension = ".html",
    .shows_lines = true,
    .shows_places = true,
    .shows_snapshots = true,
    .write = write_html,
};
