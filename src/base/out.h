/* SPDX-License-Identifier: MIT
 * Buffered output to a descriptor or to memory. Errors are sticky: write all
 * you like and look at the result of dw_out_close once. */
#ifndef DW_BASE_OUT_H
#define DW_BASE_OUT_H

#include "base/buffer.h"

#include <stdarg.h>
#include <string.h>

struct dw_out {
    struct dw_buffer buffer;
    int fd;    /* -1: everything stays in the buffer */
    int error; /* 0, DW_ERR_MEMORY, DW_ERR_IO or DW_ERR_OUTPUT */
    int saved_errno;
    uint64_t written, limit; /* bytes; 0: no limit */
};

void dw_out_init_fd(struct dw_out *out, int fd);
void dw_out_init_memory(struct dw_out *out);
/* More than that fails with DW_ERR_OUTPUT. */
void dw_out_limit(struct dw_out *out, uint64_t bytes);
/* Flushes, releases, and returns the first error (errno restored for DW_ERR_IO). The fd stays open.
 */
int dw_out_close(struct dw_out *out);
/* Closes an output to memory whose text went into another one, which then has its error. */
void dw_out_close_into(struct dw_out *scratch, struct dw_out *out);

void dw_out_write(struct dw_out *out, const void *bytes, size_t size);
static inline void dw_out_text(struct dw_out *out, const char *text)
{
    dw_out_write(out, text, strlen(text));
}
void dw_out_char(struct dw_out *out, char c);
void dw_out_repeat(struct dw_out *out, char c, size_t count);
/* value / 10^decimals, exactly: with three of them, nanoseconds as microseconds. */
void dw_out_decimal(struct dw_out *out, uint64_t value, unsigned decimals);
static inline void dw_out_u64(struct dw_out *out, uint64_t value)
{
    dw_out_decimal(out, value, 0);
}
void dw_out_i64(struct dw_out *out, int64_t value);
/* As printf's "%.*f" does, with at most four decimals, and sooner. */
void dw_out_fixed(struct dw_out *out, double value, unsigned decimals);
void dw_out_printf(struct dw_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A quoted JSON string of any bytes: invalid UTF-8 becomes U+FFFD. */
void dw_out_json_string(struct dw_out *out, const void *bytes, size_t size);
/* An RFC 4180 field, quoted only where it must be. It holds no control characters but tabs and
 * quoted line ends, and what a spreadsheet would run as a formula has a ' before it; numbers stay
 * numbers. */
void dw_out_csv_field(struct dw_out *out, const void *bytes, size_t size);
/* One printable line of valid UTF-8: control characters become \xNN, \n and so on, those that turn
 * the direction of text \uNNNN. */
void dw_out_printable(struct dw_out *out, const void *bytes, size_t size);
/* The same, as text or an attribute of XML. */
void dw_out_xml(struct dw_out *out, const void *bytes, size_t size);

/* Columns that the text takes up in a terminal once printed by dw_out_printable. */
size_t dw_text_width(const void *bytes, size_t size);
/* Bytes of the valid UTF-8 sequence at `at` (1 to 4), or 0 when it is not valid. */
size_t dw_utf8_length(const uint8_t *at, const uint8_t *end);

#endif
