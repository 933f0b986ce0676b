/* SPDX-License-Identifier: MIT
 * The rows of the table are sorted once, by function, line and callee, so that those of a
 * function are neighbours. Sources are scanned one file at a time. */
#include "lens/view/line_list.h"

#include "base/grow.h"
#include "base/order.h"
#include "base/room.h"
#include "lens/view/functions.h"
#include "lens/view/measured.h"
#include "lens/view/source_lines.h"

/* How many lines without numbers are shown around those with numbers. A log that no program wrote
 * can name millions of functions in one source. */
#define SURROUNDINGS_MAX (1u << 20)

const struct dw_line_options dw_line_defaults = {.unit_s = 1e-6, .details = true};

bool dw_lines_are_all(const struct dw_profile *profile)
{
    for (enum dw_family family = DW_FAMILY_SAMPLES; family < DW_FAMILIES; family++)
        if (dw_family_is_in(profile, family))
            return false;
    return dw_lines_are_in(profile);
}

/* A line that was watched but never ran has a row of zeros. */
static bool is_watched(const struct dw_line *row)
{
    return row->values[DW_LINE_HITS] ||
           !(row->values[DW_LINE_SAMPLES] + row->values[DW_LINE_TOTAL]);
}

bool dw_lines_are_watched(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->lines.count; i++)
        if (is_watched(&profile->lines.lines[i]))
            return true;
    return false;
}

const char *dw_line_source_note(enum dw_line_source source)
{
    switch (source) {
    case DW_LINE_SOURCE_MISSING:
        return "The recording does not have the text of this file: lines are shown without it.";
    case DW_LINE_SOURCE_SHORT: return "The source that was found ends before the function does.";
    case DW_LINE_SOURCE_AMBIGUOUS:
        return "The file changed between the recordings: the text is that of the first.";
    case DW_LINE_SOURCE_FOUND: break;
    }
    return "";
}

static int compare_places(const void *left, const void *right)
{
    const struct dw_line_listing *a = left, *b = right;
    return dw_string_compare(a->file, b->file) ?: dw_ascending(a->line, b->line)
           ?: dw_string_compare(a->name, b->name) ?: dw_ascending(a->frame, b->frame);
}

static int compare_totals(const void *left, const void *right)
{
    const struct dw_line_listing *a = left, *b = right;
    return dw_ascending(dw_line_listing_time(a), dw_line_listing_time(b)) ?: compare_places(a, b);
}

static int compare_longest(const void *left, const void *right)
{
    return compare_totals(right, left);
}

/* By function and line; a line comes before its callees, and of those the longest first. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const uint32_t *place = context;
    const struct dw_line *a = *(const struct dw_line *const *)left,
                         *b = *(const struct dw_line *const *)right;
    return dw_ascending(place[a->function], place[b->function]) ?: dw_ascending(a->line, b->line)
           ?: dw_ascending(a->callee != 0, b->callee != 0)
           ?: dw_ascending(b->values[DW_LINE_TIME], a->values[DW_LINE_TIME])
           ?: dw_ascending(a->callee, b->callee);
}

static struct dw_line_listing function_of(const struct dw_profile *profile, dw_frame_id id)
{
    const struct dw_frame *frame = &profile->frames.frames[id];
    return (struct dw_line_listing){
        .frame = id,
        .file = dw_profile_string(profile, frame->file),
        .name = dw_profile_string(profile, frame->name),
        .line = frame->line,
    };
}

/* The functions in order, and the place in it of each frame. */
static int find_functions(struct dw_line_list *list, uint32_t *place)
{
    const struct dw_profile *profile = list->profile;
    uint32_t capacity = 0;
    memset(place, 0xff, profile->frames.count * sizeof *place);
    for (uint32_t i = 0; i < profile->lines.count; i++) {
        dw_frame_id frame = profile->lines.lines[i].function;
        if (place[frame] != UINT32_MAX)
            continue;
        if (DW_GROW(list->functions, list->count, capacity))
            return DW_ERR_MEMORY;
        place[frame] = 0;
        list->functions[list->count++] = function_of(profile, frame);
    }
    if (list->count)
        qsort(list->functions, list->count, sizeof *list->functions, compare_places);
    for (uint32_t i = 0; i < list->count; i++)
        place[list->functions[i].frame] = i;
    return 0;
}

static void add_row(struct dw_line_listing *function, const struct dw_line *row)
{
    function->row_count++;
    function->is_watched |= !row->callee && is_watched(row);
    if (row->callee) {
        function->has_callees = true;
        return;
    }
    if (!row->line) {
        bool is_sampled = row->values[DW_LINE_SAMPLES] > 0;
        function->calls_known = !is_sampled || row->values[DW_LINE_HITS];
        function->calls = row->values[DW_LINE_HITS];
        function->sampled = row->values[DW_LINE_TOTAL];
        return;
    }
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        function->totals[i] += row->values[i];
    if (row->values[DW_LINE_INCLUSIVE] > row->values[DW_LINE_TIME])
        function->recursive = true;
}

static int sort_rows(struct dw_line_list *list, uint32_t *place)
{
    const struct dw_line_table *table = &list->profile->lines;
    list->rows = malloc((table->count + 1u) * sizeof *list->rows);
    if (!list->rows)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < table->count; i++)
        list->rows[i] = &table->lines[i];
    qsort_r(list->rows, table->count, sizeof *list->rows, compare_rows, place);
    for (uint32_t i = 0; i < table->count; i++) {
        struct dw_line_listing *function = &list->functions[place[list->rows[i]->function]];
        if (!function->rows)
            function->rows = &list->rows[i];
        add_row(function, list->rows[i]);
        list->is_sampled |= list->rows[i]->values[DW_LINE_SAMPLES] > 0;
        list->has_memory |= list->rows[i]->values[DW_LINE_MEMORY] > 0 ||
                            list->rows[i]->values[DW_LINE_ALLOCATED] > 0;
        list->is_watched |= function->is_watched;
    }
    for (uint32_t i = 0; i < list->count; i++) /* lines of one stack may share a sample */
        list->functions[i].totals[DW_LINE_TOTAL] = list->functions[i].sampled;
    return 0;
}

static bool has_run(const struct dw_line_listing *function)
{
    return function->calls || function->totals[DW_LINE_HITS] || function->totals[DW_LINE_TIME] ||
           function->totals[DW_LINE_SAMPLES];
}

/* Leaves out functions that never ran, when that is asked for, and those that were only sampled
 * where others were watched. */
static void filter(struct dw_line_list *list, const struct dw_line_options *options)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct dw_line_listing *function = &list->functions[i];
        if ((function->is_watched || !list->is_watched) &&
            (!options->strip_zeros || has_run(function)))
            list->functions[kept++] = *function;
    }
    list->left_out = list->count - kept;
    list->count = kept;
}

static int cut_down(struct dw_line_list *list, const struct dw_restriction *restriction)
{
    uint32_t kept = 0, before = list->count;
    struct dw_out label;
    dw_out_init_memory(&label);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct dw_line_listing *function = &list->functions[i];
        dw_buffer_clear(&label.buffer);
        dw_function_put_label(
            &label, &(struct dw_function){function->file, function->line, function->name, {0}});
        dw_out_char(&label, '\0');
        if (!label.buffer.failed &&
            dw_restriction_matches(restriction, (const char *)label.buffer.data))
            list->functions[kept++] = *function;
    }
    list->count = dw_restriction_limit(restriction, kept);
    list->left_out += before - list->count;
    return dw_out_close(&label);
}

/* A limit keeps the functions that took longest, although a list by time shows these last. */
static int cut_down_all(struct dw_line_list *list, const struct dw_line_options *options)
{
    bool by_time = options->sort && options->restrictions.count && list->count;
    int error = 0;
    if (by_time)
        qsort(list->functions, list->count, sizeof *list->functions, compare_longest);
    for (uint32_t i = 0; i < options->restrictions.count && !error; i++)
        error = cut_down(list, &options->restrictions.list[i]);
    if (by_time)
        qsort(list->functions, list->count, sizeof *list->functions, compare_places);
    return error;
}

static int add_entry(struct dw_line_list *list, uint32_t number, struct dw_string text)
{
    if (DW_GROW(list->entries, list->entry_count, list->entry_capacity))
        return DW_ERR_MEMORY;
    list->entries[list->entry_count++] = (struct dw_line_entry){.number = number, .text = text};
    return 0;
}

/* Adds the line that the row at *at is of, with its callees, and moves *at behind these. */
static int add_measured(struct dw_line_list *list, const struct dw_line_listing *function,
                        const struct dw_source_lines *source, uint32_t *at)
{
    uint32_t number = function->rows[*at]->line;
    int error = add_entry(list, number, dw_source_line_text(source, number));
    if (error)
        return error;
    struct dw_line_entry *entry = &list->entries[list->entry_count - 1];
    if (!function->rows[*at]->callee)
        entry->measured = function->rows[(*at)++];
    entry->callees = &function->rows[*at];
    while (*at < function->row_count && function->rows[*at]->line == number) {
        entry->callee_count++;
        (*at)++;
    }
    return 0;
}

/* The last line to show: the end of the block or the last row, as far as the source goes. */
static uint32_t find_end(const struct dw_line_list *list, const struct dw_line_listing *function,
                         const struct dw_source_lines *source)
{
    uint32_t last_row = function->rows[function->row_count - 1]->line;
    if (list->entry_count > SURROUNDINGS_MAX)
        return 0;
    uint32_t end = dw_source_block_end(source, function->line);
    end = end > last_row ? end : last_row;
    return end < source->count ? end : source->count;
}

static int add_entries(struct dw_line_list *list, struct dw_line_listing *function,
                       const struct dw_source_lines *source)
{
    uint32_t at = 0, end = find_end(list, function, source);
    int error = 0;
    function->first = list->entry_count;
    while (at < function->row_count && !function->rows[at]->line)
        at++;
    while (!error && at < function->row_count && function->rows[at]->line < function->line)
        error = add_measured(list, function, source, &at);
    for (uint32_t line = function->line; !error && line && line <= end; line++) {
        bool measured = at < function->row_count && function->rows[at]->line == line;
        error = measured ? add_measured(list, function, source, &at)
                         : add_entry(list, line, dw_source_line_text(source, line));
    }
    while (!error && at < function->row_count)
        error = add_measured(list, function, source, &at);
    function->count = list->entry_count - function->first;
    return error;
}

/* Of each string the first source of that name, and whether another one differs. */
struct sources {
    const struct dw_source **first;
    bool *are_ambiguous;
    struct dw_room room;
};

static int find_sources(const struct dw_profile *profile, struct sources *sources)
{
    DW_ROOM_GET(&sources->room, sources->first, profile->strings.count);
    DW_ROOM_GET(&sources->room, sources->are_ambiguous, profile->strings.count);
    if (sources->room.failed)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < profile->source_count; i++) {
        const struct dw_source *source = &profile->sources[i],
                               **first = &sources->first[source->file];
        *first = *first || !source->file ? *first : source;
        sources->are_ambiguous[source->file] |= *first && (*first)->text != source->text;
    }
    return 0;
}

static enum dw_line_source judge(const struct dw_line_listing *function,
                                 const struct dw_source *found, bool ambiguous,
                                 const struct dw_source_lines *source)
{
    if (!found)
        return DW_LINE_SOURCE_MISSING;
    if (ambiguous)
        return DW_LINE_SOURCE_AMBIGUOUS;
    bool is_short = function->rows[function->row_count - 1]->line > source->count;
    return is_short ? DW_LINE_SOURCE_SHORT : DW_LINE_SOURCE_FOUND;
}

/* The functions of one file, from index `first` up to the one returned through `next`. */
static int add_file(struct dw_line_list *list, const struct sources *sources, uint32_t first,
                    uint32_t *next)
{
    const struct dw_frame_table *frames = &list->profile->frames;
    dw_string_id file = frames->frames[list->functions[first].frame].file;
    struct dw_source_lines source = {0};
    const struct dw_source *found = sources->first[file];
    int error = 0;
    if (found)
        error = dw_source_lines_init(&source, dw_profile_string(list->profile, found->text));
    uint32_t i = first;
    for (; !error && i < list->count; i++) {
        struct dw_line_listing *function = &list->functions[i];
        if (frames->frames[function->frame].file != file)
            break;
        function->source = judge(function, found, sources->are_ambiguous[file], &source);
        error = add_entries(list, function, &source);
    }
    dw_source_lines_release(&source);
    *next = i;
    return error;
}

static int fill(struct dw_line_list *list, const struct dw_line_options *options, uint32_t *place)
{
    int error = find_functions(list, place);
    if (!error)
        error = sort_rows(list, place);
    if (!error)
        filter(list, options);
    if (!error)
        error = cut_down_all(list, options);
    struct sources sources = {0};
    if (!error)
        error = find_sources(list->profile, &sources);
    for (uint32_t i = 0; !error && i < list->count;)
        error = add_file(list, &sources, i, &i);
    dw_room_release(&sources.room);
    if (!error && options->sort && list->count)
        qsort(list->functions, list->count, sizeof *list->functions, compare_totals);
    return error;
}

int dw_line_list_make(const struct dw_profile *profile, const struct dw_line_options *options,
                      struct dw_line_list *list)
{
    struct dw_line_list made = {.profile = profile};
    if (!dw_lines_are_in(profile))
        return DW_ERR_NO_LINES;
    uint32_t *place = malloc((profile->frames.count + 1u) * sizeof *place);
    int error = place ? fill(&made, options ? options : &dw_line_defaults, place) : DW_ERR_MEMORY;
    free(place);
    if (error)
        dw_line_list_release(&made);
    else
        *list = made;
    return error;
}

void dw_line_list_release(struct dw_line_list *list)
{
    free(list->functions);
    free(list->entries);
    free(list->rows);
    *list = (struct dw_line_list){0};
}
