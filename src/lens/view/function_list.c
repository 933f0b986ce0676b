/* SPDX-License-Identifier: MIT
 * The functions come in order of file, line and name, which decides ties. */
#include "lens/view/function_list.h"

#include "base/error.h"
#include "base/order.h"
#include "lens/view/stack_tree.h"

#include <stdio.h>
#include <stdlib.h>

/* What a word sorts by. Ties are decided by file and line anyway. */
enum order { BY_CALLS, BY_PRIMITIVE, BY_TOTAL, BY_SELF, BY_FILE, BY_LINE, BY_NAME, BY_LABEL };

static int compare_by(const struct dw_function_list *list, enum order order, uint32_t left,
                      uint32_t right)
{
    const struct dw_function *a = &list->functions.functions[left];
    const struct dw_function *b = &list->functions.functions[right];
    switch (order) {
    case BY_CALLS: return dw_ascending(b->sums.count, a->sums.count);
    case BY_PRIMITIVE: return dw_ascending(b->sums.primitive, a->sums.primitive);
    case BY_TOTAL: return dw_ascending(b->sums.total, a->sums.total);
    case BY_SELF: return dw_ascending(b->sums.self, a->sums.self);
    case BY_FILE: return dw_string_compare(a->file, b->file);
    case BY_LINE: return dw_ascending(a->line, b->line);
    case BY_NAME: return dw_string_compare(a->name, b->name);
    case BY_LABEL:
        return strcmp(dw_function_list_label(list, left), dw_function_list_label(list, right));
    }
    return 0;
}

/* The last ones are what the other reports call these columns. */
static const struct {
    const char *word;
    enum order order;
    const char *meaning;
} words[] = {
    {"calls", BY_CALLS, "call count"},        {"ncalls", BY_CALLS, "call count"},
    {"cumtime", BY_TOTAL, "cumulative time"}, {"cumulative", BY_TOTAL, "cumulative time"},
    {"filename", BY_FILE, "file name"},       {"line", BY_LINE, "line number"},
    {"module", BY_FILE, "file name"},         {"name", BY_NAME, "function name"},
    {"nfl", BY_NAME, "name/file/line"},       {"pcalls", BY_PRIMITIVE, "primitive call count"},
    {"stdname", BY_LABEL, "standard name"},   {"time", BY_SELF, "internal time"},
    {"tottime", BY_SELF, "internal time"},    {"count", BY_CALLS, "call count"},
    {"self", BY_SELF, "internal time"},       {"total", BY_TOTAL, "cumulative time"},
    {"samples", BY_PRIMITIVE, "samples"},
};

/* Samples know no calls, and their columns have names of their own. */
static const char *meaning_of(const struct dw_function_list *list, uint8_t word)
{
    static const char *const meanings[] = {[BY_CALLS] = "samples",
                                           [BY_PRIMITIVE] = "samples",
                                           [BY_TOTAL] = "total",
                                           [BY_SELF] = "self"};
    bool has_own = list->are_samples && words[word].order <= BY_SELF;
    return has_own ? meanings[words[word].order] : words[word].meaning;
}
#define WORD_COUNT (sizeof words / sizeof *words)
#define PSTATS_WORD_COUNT 13 /* only these may be shortened */
#define CUMULATIVE 3

const char *dw_function_sort_words(void)
{
    return "calls, ncalls, cumtime, cumulative, filename, line, module, name, nfl, pcalls, "
           "stdname, time, tottime";
}

void dw_function_sort_guess(struct dw_guess *guess)
{
    for (size_t i = 0; i < WORD_COUNT; i++)
        dw_guess_try(guess, words[i].word);
}

/* The index of a word; WORD_COUNT when nothing begins so, or things of several meanings do. */
static size_t find_word(const char *text, size_t size)
{
    size_t found = WORD_COUNT;
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (strlen(words[i].word) == size && !memcmp(words[i].word, text, size))
            return i;
    for (size_t i = 0; size && i < PSTATS_WORD_COUNT; i++) {
        if (strncmp(words[i].word, text, size) != 0)
            continue;
        if (found != WORD_COUNT && strcmp(words[found].meaning, words[i].meaning) != 0)
            return WORD_COUNT;
        found = i;
    }
    return found;
}

int dw_function_sort_parse(const char *text, struct dw_function_sort *sort)
{
    struct dw_function_sort parsed = {0};
    for (;;) {
        size_t size = strcspn(text, ",");
        size_t word = find_word(text, size);
        if (word == WORD_COUNT || parsed.count == DW_SORT_WORDS_MAX)
            return DW_ERR_ARGUMENT;
        parsed.words[parsed.count++] = (uint8_t)word;
        if (!text[size])
            break;
        text += size + 1;
    }
    *sort = parsed;
    return 0;
}

const char *dw_function_list_label(const struct dw_function_list *list, uint32_t function)
{
    return (const char *)list->labels.buffer.data + list->label_start[function];
}

static int make_labels(struct dw_function_list *list)
{
    uint32_t count = list->functions.count;
    DW_ROOM_GET(&list->room, list->order, count);
    DW_ROOM_GET(&list->room, list->label_start, count);
    if (list->room.failed)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        list->order[i] = i;
        list->label_start[i] = list->labels.buffer.size;
        dw_function_put_label(&list->labels, &list->functions.functions[i]);
        dw_out_char(&list->labels, '\0');
    }
    list->count = count;
    return list->labels.error || list->labels.buffer.failed ? DW_ERR_MEMORY : 0;
}

struct sorting {
    const struct dw_function_list *list;
    const struct dw_function_sort *sort;
};

static int compare(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    for (uint32_t i = 0; i < sorting->sort->count; i++) {
        int order = compare_by(sorting->list, words[sorting->sort->words[i]].order, a, b);
        if (order)
            return order;
    }
    return dw_ascending(a, b);
}

static void sort_list(struct dw_function_list *list, const struct dw_function_sort *sort)
{
    static const struct dw_function_sort otherwise = {{CUMULATIVE}, 1};
    struct sorting sorting = {list, sort->count ? sort : &otherwise};
    qsort_r(list->order, list->count, sizeof *list->order, compare, &sorting);
    dw_out_text(&list->message, "   Ordered by: ");
    for (uint32_t i = 0; i < sorting.sort->count; i++) {
        dw_out_text(&list->message, i ? ", " : "");
        dw_out_text(&list->message, meaning_of(list, sorting.sort->words[i]));
    }
    dw_out_char(&list->message, '\n');
}

static void keep_matching(struct dw_function_list *list, const struct dw_restriction *restriction)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (dw_restriction_matches(restriction, dw_function_list_label(list, list->order[i])))
            list->order[kept++] = list->order[i];
    list->count = kept;
}

/* As few digits as give the number again, as Python prints it. */
static void put_fraction(struct dw_out *out, double fraction)
{
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, fraction);
        if (strtod(text, NULL) == fraction)
            break;
    }
    dw_out_text(out, text);
    dw_out_text(out, strpbrk(text, ".e") ? "" : ".0");
}

/* As Python writes a string. */
static void put_quoted(struct dw_out *out, const char *text)
{
    char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    dw_out_char(out, quote);
    for (; *text; text++) {
        if (*text == quote || *text == '\\')
            dw_out_char(out, '\\');
        dw_out_char(out, *text);
    }
    dw_out_char(out, quote);
}

static void put_restriction(struct dw_out *out, const struct dw_restriction *restriction)
{
    switch (restriction->kind) {
    case DW_RESTRICT_COUNT: dw_out_u64(out, restriction->count); break;
    case DW_RESTRICT_FRACTION: put_fraction(out, restriction->fraction); break;
    case DW_RESTRICT_PATTERN: put_quoted(out, restriction->text); break;
    }
}

static void restrict_list(struct dw_function_list *list, const struct dw_restriction *restriction)
{
    uint32_t before = list->count;
    keep_matching(list, restriction);
    list->count = dw_restriction_limit(restriction, list->count);
    if (list->count == before)
        return;
    dw_out_printf(&list->message, "   List reduced from %u to %u due to restriction <", before,
                  list->count);
    put_restriction(&list->message, restriction);
    dw_out_text(&list->message, ">\n");
}

int dw_function_list_make(const struct dw_profile *profile, enum dw_family family,
                          const struct dw_function_options *options, struct dw_function_list *list)
{
    struct dw_function_list made = {.are_samples = dw_shows_samples(profile, family),
                                    .are_counts = dw_samples_are_counts(profile)};
    dw_out_init_memory(&made.labels);
    dw_out_init_memory(&made.message);
    int error = dw_functions_make(profile, family, !options->full_paths,
                                  options->callers || options->callees, &made.functions);
    if (!error)
        error = make_labels(&made);
    if (!error) {
        sort_list(&made, &options->sort);
        for (uint32_t i = 0; i < options->restrictions.count; i++)
            restrict_list(&made, &options->restrictions.list[i]);
        error = made.message.error || made.message.buffer.failed ? DW_ERR_MEMORY : 0;
    }
    if (error)
        dw_function_list_release(&made);
    else
        *list = made;
    return error;
}

void dw_function_list_release(struct dw_function_list *list)
{
    dw_functions_release(&list->functions);
    dw_out_close(&list->labels);
    dw_out_close(&list->message);
    dw_room_release(&list->room);
}
