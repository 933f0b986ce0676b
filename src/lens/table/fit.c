/* SPDX-License-Identifier: MIT
 * One third of the room is for the start of a name and two thirds are for its end. No character is
 * cut in two. */
#include "lens/table/fit.h"

#define MARK "…"

/* A byte that goes on with the character before it. */
static bool goes_on(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The longest start of the text that fits. */
static size_t head_size(const char *text, size_t size, size_t width)
{
    size_t kept = width < size ? width : size;
    while (kept < size && goes_on(text[kept]))
        kept++;
    while (kept && dw_text_width(text, kept) > width)
        kept--;
    while (kept && kept < size && goes_on(text[kept]))
        kept--;
    return kept;
}

/* The longest end of it. */
static size_t tail_size(const char *text, size_t size, size_t width)
{
    size_t start = width < size ? size - width : 0;
    while (start && dw_text_width(text + start, size - start) < width)
        start--;
    while (start < size &&
           (goes_on(text[start]) || dw_text_width(text + start, size - start) > width))
        start++;
    return size - start;
}

size_t dw_fit_put(struct dw_out *out, const void *bytes, size_t size, size_t width)
{
    const char *text = bytes;
    size_t whole = dw_text_width(text, size);
    if (!width || whole <= width) {
        dw_out_printable(out, text, size);
        return whole;
    }
    size_t head = head_size(text, size, (width - 1) / 3);
    size_t used = dw_text_width(text, head) + 1;
    size_t tail = tail_size(text, size, width - used);
    dw_out_printable(out, text, head);
    dw_out_text(out, MARK);
    dw_out_printable(out, text + size - tail, tail);
    return used + dw_text_width(text + size - tail, tail);
}
