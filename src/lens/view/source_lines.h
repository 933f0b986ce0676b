/* SPDX-License-Identifier: MIT
 * The lines of a Python source and how they hang together: enough of the language to
 * find the end of a function, and never wrong by more than its extent. */
#ifndef DW_LENS_VIEW_SOURCE_LINES_H
#define DW_LENS_VIEW_SOURCE_LINES_H

#include "model/string_table.h"

enum dw_source_line_kind {
    DW_SOURCE_BLANK,
    DW_SOURCE_COMMENT,
    DW_SOURCE_STATEMENT, /* a statement begins on it */
    DW_SOURCE_CONTINUED, /* inside brackets or a string, or after a backslash */
};

struct dw_source_line {
    uint32_t start, size; /* in the text, without the line's end */
    uint32_t indent;      /* columns, a tab up to the next multiple of 8 */
    enum dw_source_line_kind kind;
};

struct dw_source_lines {
    struct dw_string text;
    struct dw_source_line *lines; /* line n of the file is lines[n - 1] */
    uint32_t count, capacity;
};

/* The text is borrowed. */
int dw_source_lines_init(struct dw_source_lines *source, struct dw_string text);
void dw_source_lines_release(struct dw_source_lines *source);

/* The text of line `number`; its bytes are NULL when the source has no such line. */
struct dw_string dw_source_line_text(const struct dw_source_lines *source, uint32_t number);
/* The last line of the function or class whose first line, a decorator or the header, is `first`;
 * `first` itself when neither begins there. */
uint32_t dw_source_block_end(const struct dw_source_lines *source, uint32_t first);

#endif
