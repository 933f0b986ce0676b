/* SPDX-License-Identifier: MIT
 * Lines of functions that both profiles know are paired by their text when both logs
 * have the source, else by how far they are from the function's first line. */
#include "lens/diff/diff_lines.h"

#include "base/error.h"
#include "base/order.h"
#include "lens/diff/diff.h"
#include "lens/diff/diff_order.h"
#include "lens/view/line_list.h"

#include <stdlib.h>

/* Bytes of sources that are searched for the texts of lines: a log that no program wrote can name
 * very many functions in one long source. The rest is compared by line numbers. */
#define EFFORT_MAX (UINT64_C(1) << 29)

static bool *functions_with_lines(const struct dw_profile *profile)
{
    bool *with = calloc(profile->frames.count, sizeof *with);
    for (uint32_t i = 0; with && i < profile->lines.count; i++)
        if (profile->lines.lines[i].line)
            with[profile->lines.lines[i].function] = true;
    return with;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static int compare_lines(const void *left, const void *right)
{
    const struct dw_diff_line *a = left, *b = right;
    return dw_ascending(a->place, b->place) ?: dw_ascending(a->line, b->line);
}

static void sort(struct dw_diff_lines *lines)
{
    if (lines->count)
        qsort(lines->lines, lines->count, sizeof *lines->lines, compare_lines);
}

static struct dw_diff_line *find_line(const struct dw_diff_lines *lines, uint32_t place,
                                      uint32_t number)
{
    struct dw_diff_line key = {.place = place, .line = number};
    return lines->count
               ? bsearch(&key, lines->lines, lines->count, sizeof *lines->lines, compare_lines)
               : NULL;
}

/* A line's own time is all of it but that of callees whose lines were measured too: time in
 * other callees has no other place to show. Recursion is not in a line's time to begin with. */
static void take_callees_out(struct dw_diff_lines *lines, const struct dw_profile *profile,
                             const uint32_t *place_of, const bool *with_lines)
{
    for (uint32_t i = 0; i < profile->lines.count; i++) {
        const struct dw_line *row = &profile->lines.lines[i];
        if (!row->callee || !with_lines[row->callee] || row->callee == row->function)
            continue;
        struct dw_diff_line *line = find_line(lines, place_of[row->function], row->line);
        if (line)
            line->sums.self = less(line->sums.self, row->values[DW_LINE_TIME]);
    }
}

static void add_lines(struct dw_diff_lines *lines, const struct dw_profile *profile,
                      const uint32_t *place_of)
{
    for (uint32_t i = 0; i < profile->lines.count; i++) {
        const struct dw_line *row = &profile->lines.lines[i];
        uint64_t time = row->values[DW_LINE_TIME];
        if (!row->line || row->callee || place_of[row->function] == DW_DIFF_NONE)
            continue;
        lines->lines[lines->count++] =
            (struct dw_diff_line){.place = place_of[row->function],
                                  .line = row->line,
                                  .sums = {row->values[DW_LINE_HITS], time, time}};
    }
    sort(lines);
}

static int watched_lines_init(struct dw_diff_lines *lines, const struct dw_profile *profile,
                              const uint32_t *place_of)
{
    bool *with_lines = functions_with_lines(profile);
    lines->lines = malloc((profile->lines.count + 1u) * sizeof *lines->lines);
    int error = with_lines && lines->lines ? 0 : DW_ERR_MEMORY;
    if (!error) {
        add_lines(lines, profile, place_of);
        take_callees_out(lines, profile, place_of, with_lines);
    }
    free(with_lines);
    return error;
}

/* Several frames may be one place. */
static void join_equal(struct dw_diff_lines *lines)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lines->count; i++) {
        struct dw_diff_line *line = &lines->lines[i], *last = &lines->lines[kept ? kept - 1 : 0];
        if (!kept || compare_lines(last, line)) {
            lines->lines[kept++] = *line;
            continue;
        }
        last->sums.count += line->sums.count;
        last->sums.self += line->sums.self;
        last->sums.total += line->sums.total;
    }
    lines->count = kept;
}

static int sampled_lines_init(struct dw_diff_lines *lines, const struct dw_profile *profile,
                              const uint32_t *place_of)
{
    int error = dw_diff_lines_of_samples(profile, place_of, lines);
    if (!error) {
        sort(lines);
        join_equal(lines);
    }
    return error;
}

static struct dw_string trimmed(const char *start, const char *end)
{
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (start < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    return (struct dw_string){start, (size_t)(end - start)};
}

static struct dw_string source_of(const struct dw_profile *profile, dw_string_id file)
{
    for (uint32_t i = 0; i < profile->source_count; i++)
        if (profile->sources[i].file == file)
            return dw_profile_string(profile, profile->sources[i].text);
    return (struct dw_string){NULL, 0};
}

/* Gives lines in ascending order their text. Those beyond the end of the source stay without; what
 * is not a line has an empty one. Looking for it takes from *effort. */
static void find_texts(struct dw_diff_line *lines, uint32_t count, struct dw_string source,
                       uint64_t *effort)
{
    const char *at = source.size <= *effort ? source.bytes : NULL;
    const char *end = at ? at + source.size : NULL;
    uint32_t number = 1;
    *effort -= at ? source.size : 0;
    for (uint32_t i = 0; i < count && at; i++) {
        if (!lines[i].line) {
            lines[i].text = (struct dw_string){"", 0};
            continue;
        }
        while (at && number < lines[i].line) {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            at = newline ? newline + 1 : NULL;
            number++;
        }
        if (!at)
            return;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        lines[i].text = trimmed(at, newline ? newline : end);
    }
}

/* The lines of one function on both sides. */
struct body {
    struct dw_diff_line *lines[DW_SIDES];
    uint32_t counts[DW_SIDES];
    uint32_t first_line[DW_SIDES];
};

static bool all_texts(const struct body *body)
{
    for (enum dw_side side = 0; side < DW_SIDES; side++)
        for (uint32_t i = 0; i < body->counts[side]; i++)
            if (!body->lines[side][i].text.bytes)
                return false;
    return true;
}

static int pair_by_text(const struct body *body, uint32_t *mates)
{
    uint32_t counts = body->counts[DW_OLD] + body->counts[DW_NEW];
    struct dw_string *texts = malloc((counts + 1u) * sizeof *texts);
    if (!texts)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < counts; i++)
        texts[i] = i < body->counts[DW_OLD] ? body->lines[DW_OLD][i].text
                                            : body->lines[DW_NEW][i - body->counts[DW_OLD]].text;
    int error = dw_diff_pair_texts(texts, body->counts[DW_OLD], texts + body->counts[DW_OLD],
                                   body->counts[DW_NEW], mates);
    free(texts);
    return error;
}

static void pair_by_offset(const struct body *body, uint32_t *mates)
{
    uint32_t j = 0;
    for (uint32_t i = 0; i < body->counts[DW_OLD]; i++) {
        int64_t offset = (int64_t)body->lines[DW_OLD][i].line - body->first_line[DW_OLD];
        int64_t wanted = offset + body->first_line[DW_NEW];
        while (j < body->counts[DW_NEW] && body->lines[DW_NEW][j].line < wanted)
            j++;
        bool found = j < body->counts[DW_NEW] && body->lines[DW_NEW][j].line == wanted;
        mates[i] = found ? j : DW_DIFF_NONE;
    }
}

static void fill(struct dw_diff *diff, struct dw_diff_row *row, enum dw_side side,
                 const struct dw_diff_line *line)
{
    row->lines[side] = line->line;
    row->texts[side] = line->text;
    row->at[side] = line->sums;
    row->is_in[side] = true;
    diff->totals[side] += line->sums.self;
}

static int add_rows(struct dw_diff *diff, uint32_t place, const struct body *body,
                    const uint32_t *mates)
{
    bool *paired = calloc(body->counts[DW_NEW] + 1u, sizeof *paired);
    int error = paired ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 0; i < body->counts[DW_OLD] && !error; i++) {
        struct dw_diff_row *row = dw_diff_add_row(diff, place, DW_DIFF_NONE);
        error = row ? 0 : DW_ERR_MEMORY;
        if (row)
            fill(diff, row, DW_OLD, &body->lines[DW_OLD][i]);
        if (row && mates[i] != DW_DIFF_NONE) {
            fill(diff, row, DW_NEW, &body->lines[DW_NEW][mates[i]]);
            paired[mates[i]] = true;
        }
    }
    for (uint32_t i = 0; i < body->counts[DW_NEW] && !error; i++) {
        struct dw_diff_row *row = paired[i] ? NULL : dw_diff_add_row(diff, place, DW_DIFF_NONE);
        error = row || paired[i] ? 0 : DW_ERR_MEMORY;
        if (row)
            fill(diff, row, DW_NEW, &body->lines[DW_NEW][i]);
    }
    free(paired);
    return error;
}

static int add_body(struct dw_diff *diff, uint32_t place, struct body *body, uint64_t *effort)
{
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        const struct dw_profile *profile = diff->profiles[side];
        if (!body->counts[side])
            continue;
        const struct dw_frame *frame =
            &profile->frames.frames[diff->places.places[place].frames[side]];
        body->first_line[side] = frame->line;
        find_texts(body->lines[side], body->counts[side], source_of(profile, frame->file), effort);
    }
    uint32_t *mates = malloc((body->counts[DW_OLD] + 1u) * sizeof *mates);
    int error = mates ? 0 : DW_ERR_MEMORY;
    if (!error && all_texts(body))
        error = pair_by_text(body, mates);
    else if (!error)
        pair_by_offset(body, mates);
    if (!error)
        error = add_rows(diff, place, body, mates);
    free(mates);
    return error;
}

static void take_body(struct dw_diff_lines *lines, uint32_t *at, uint32_t place, enum dw_side side,
                      struct body *body)
{
    body->lines[side] = lines->lines + *at;
    while (*at < lines->count && lines->lines[*at].place == place)
        ++*at, body->counts[side]++;
}

int dw_diff_add_lines(struct dw_diff *diff)
{
    struct dw_diff_lines lines[DW_SIDES] = {0};
    uint32_t at[DW_SIDES] = {0};
    uint64_t effort = EFFORT_MAX;
    int error = 0;
    for (enum dw_side side = 0; side < DW_SIDES && !error; side++)
        error = (diff->are_samples ? sampled_lines_init : watched_lines_init)(
            &lines[side], diff->profiles[side], diff->places.of_frame[side]);
    for (uint32_t place = 0; place < diff->places.count && !error; place++) {
        struct body body = {0};
        for (enum dw_side side = 0; side < DW_SIDES; side++)
            take_body(&lines[side], &at[side], place, side, &body);
        if (body.counts[DW_OLD] || body.counts[DW_NEW])
            error = add_body(diff, place, &body, &effort);
    }
    for (enum dw_side side = 0; side < DW_SIDES; side++)
        free(lines[side].lines);
    return error;
}
