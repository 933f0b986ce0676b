/* SPDX-License-Identifier: MIT
 * A scan over strings, brackets and comments finds where statements begin. A block ends before the
 * first statement that is indented no further than its header. */
#include "lens/view/source_lines.h"

#include "base/error.h"
#include "base/grow.h"

#include <string.h>

#define TAB_WIDTH 8

/* What carries over from one line to the next. */
struct scan {
    const char *at, *end;
    uint32_t depth; /* of brackets */
    char triple;    /* the quote of the string that we are in, 0 outside */
    bool after_backslash;
};

static bool is_line_end(const struct scan *scan)
{
    return scan->at >= scan->end || *scan->at == '\n' || *scan->at == '\r';
}

static bool is_triple(const struct scan *scan, char quote)
{
    return scan->end - scan->at >= 3 && scan->at[0] == quote && scan->at[1] == quote &&
           scan->at[2] == quote;
}

static void skip_to_line_end(struct scan *scan)
{
    while (!is_line_end(scan))
        scan->at++;
}

static void skip_triple(struct scan *scan)
{
    while (!is_line_end(scan)) {
        if (is_triple(scan, scan->triple)) {
            scan->at += 3;
            scan->triple = 0;
            return;
        }
        scan->at += *scan->at == '\\' && scan->end - scan->at > 1 && scan->at[1] != '\n' &&
                            scan->at[1] != '\r'
                        ? 2
                        : 1;
    }
}

/* A string of one line; a backslash at its end takes it to the next, where the rest of it
 * is read as code: that can only matter to brackets in it. */
static void skip_string(struct scan *scan)
{
    char quote = *scan->at++;
    while (!is_line_end(scan) && *scan->at != quote) {
        if (*scan->at == '\\') {
            scan->at++;
            scan->after_backslash = is_line_end(scan);
        }
        if (!is_line_end(scan))
            scan->at++;
    }
    if (!is_line_end(scan))
        scan->at++;
}

static void open_string(struct scan *scan)
{
    char quote = *scan->at;
    if (!is_triple(scan, quote)) {
        skip_string(scan);
        return;
    }
    scan->at += 3;
    scan->triple = quote;
}

static void scan_code(struct scan *scan)
{
    switch (*scan->at) {
    case '#': skip_to_line_end(scan); return;
    case '\'':
    case '"': open_string(scan); return;
    case '(':
    case '[':
    case '{': scan->depth++; break;
    case ')':
    case ']':
    case '}': scan->depth -= scan->depth > 0; break;
    case '\\': scan->after_backslash = true; break;
    default: scan->after_backslash = false; break;
    }
    scan->at++;
}

static uint32_t skip_indent(struct scan *scan)
{
    uint32_t indent = 0;
    for (; !is_line_end(scan) && memchr(" \t\f", *scan->at, 3); scan->at++)
        indent = *scan->at == '\t'   ? (indent / TAB_WIDTH + 1) * TAB_WIDTH
                 : *scan->at == '\f' ? 0
                                     : indent + 1;
    return indent;
}

static bool starts_with(const char *at, const char *end, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(end - at) >= size && !memcmp(at, word, size);
}

static bool is_header(const char *at, const char *end)
{
    return starts_with(at, end, "def ") || starts_with(at, end, "class ") ||
           starts_with(at, end, "async def ");
}

static enum dw_source_line_kind scan_kind(struct scan *scan)
{
    if (scan->triple)
        return DW_SOURCE_CONTINUED;
    if (is_header(scan->at, scan->end))
        scan->depth = 0; /* neither can stand in brackets: some bracket was misread */
    else if (scan->depth || scan->after_backslash)
        return is_line_end(scan) && !scan->depth ? DW_SOURCE_BLANK : DW_SOURCE_CONTINUED;
    return is_line_end(scan)  ? DW_SOURCE_BLANK
           : *scan->at == '#' ? DW_SOURCE_COMMENT
                              : DW_SOURCE_STATEMENT;
}

static void skip_newline(struct scan *scan)
{
    if (scan->at < scan->end && *scan->at == '\r')
        scan->at++;
    if (scan->at < scan->end && *scan->at == '\n')
        scan->at++;
}

static void scan_line(struct scan *scan, const char *text, struct dw_source_line *line)
{
    const char *start = scan->at;
    line->start = (uint32_t)(start - text);
    line->indent = skip_indent(scan);
    line->kind = scan_kind(scan);
    scan->after_backslash = false;
    while (!is_line_end(scan)) {
        if (scan->triple)
            skip_triple(scan);
        else
            scan_code(scan);
    }
    line->size = (uint32_t)(scan->at - start);
    skip_newline(scan);
}

int dw_source_lines_init(struct dw_source_lines *source, struct dw_string text)
{
    struct dw_source_lines made = {.text = text};
    struct scan scan = {.at = text.bytes, .end = text.bytes + text.size};
    if (text.size > UINT32_MAX)
        return DW_ERR_TOO_LARGE;
    while (scan.at < scan.end) {
        if (DW_GROW(made.lines, made.count, made.capacity)) {
            dw_source_lines_release(&made);
            return DW_ERR_MEMORY;
        }
        scan_line(&scan, text.bytes, &made.lines[made.count++]);
    }
    *source = made;
    return 0;
}

void dw_source_lines_release(struct dw_source_lines *source)
{
    free(source->lines);
    *source = (struct dw_source_lines){0};
}

struct dw_string dw_source_line_text(const struct dw_source_lines *source, uint32_t number)
{
    if (!number || number > source->count)
        return (struct dw_string){NULL, 0};
    const struct dw_source_line *line = &source->lines[number - 1];
    return (struct dw_string){source->text.bytes + line->start, line->size};
}

static const char *code_of(const struct dw_source_lines *source, const struct dw_source_line *line)
{
    const char *at = source->text.bytes + line->start, *end = at + line->size;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\f'))
        at++;
    return at;
}

/* The line of the `def` or `class` under the decorators that begin at the index. */
static uint32_t find_header(const struct dw_source_lines *source, uint32_t index)
{
    while (index < source->count) {
        const struct dw_source_line *line = &source->lines[index];
        bool passed = line->kind != DW_SOURCE_STATEMENT || *code_of(source, line) == '@';
        if (!passed)
            break;
        index++;
    }
    return index;
}

uint32_t dw_source_block_end(const struct dw_source_lines *source, uint32_t first)
{
    if (!first || first > source->count || source->lines[first - 1].kind != DW_SOURCE_STATEMENT)
        return first;
    uint32_t header = find_header(source, first - 1), last = header;
    const char *end = source->text.bytes + source->text.size;
    if (header >= source->count || !is_header(code_of(source, &source->lines[header]), end))
        return first;
    uint32_t outside = source->lines[header].indent, body = UINT32_MAX;
    for (uint32_t i = header + 1; i < source->count; i++) {
        const struct dw_source_line *line = &source->lines[i];
        bool begins = line->kind == DW_SOURCE_STATEMENT;
        if (begins && line->indent <= outside)
            break;
        if (begins && body == UINT32_MAX)
            body = line->indent;
        bool is_comment_inside = line->kind == DW_SOURCE_COMMENT && line->indent >= body;
        if (begins || line->kind == DW_SOURCE_CONTINUED || is_comment_inside)
            last = i;
    }
    return last + 1;
}
