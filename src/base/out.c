/* SPDX-License-Identifier: MIT
 * One buffer in front of a descriptor, or of nothing; the first error sticks and silences all that
 * follows. Names are bytes from users, so each format has its own way to escape what could steer a
 * terminal, break the syntax or be run. */
#include "base/out.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#define FLUSH_AT (256 * 1024)

void dw_out_init_fd(struct dw_out *out, int fd)
{
    *out = (struct dw_out){.fd = fd};
}

void dw_out_init_memory(struct dw_out *out)
{
    *out = (struct dw_out){.fd = -1};
}

void dw_out_limit(struct dw_out *out, uint64_t bytes)
{
    out->limit = bytes;
}

static void flush(struct dw_out *out)
{
    size_t done = 0;
    out->written += out->buffer.size;
    if (out->limit && out->written > out->limit && !out->error)
        out->error = DW_ERR_OUTPUT;
    while (!out->error && done < out->buffer.size) {
        ssize_t wrote = write(out->fd, out->buffer.data + done, out->buffer.size - done);
        if (wrote >= 0) {
            done += (size_t)wrote;
        } else if (errno != EINTR) {
            out->error = DW_ERR_IO;
            out->saved_errno = errno;
        }
    }
    dw_buffer_clear(&out->buffer);
}

int dw_out_close(struct dw_out *out)
{
    if (out->fd >= 0)
        flush(out);
    dw_buffer_release(&out->buffer);
    if (out->error == DW_ERR_IO)
        errno = out->saved_errno;
    return out->error;
}

void dw_out_close_into(struct dw_out *scratch, struct dw_out *out)
{
    int error = dw_out_close(scratch);
    if (error && !out->error)
        out->error = error;
}

void dw_out_write(struct dw_out *out, const void *bytes, size_t size)
{
    struct dw_buffer *buffer = &out->buffer;
    if (out->error || !size)
        return;
    if (buffer->capacity - buffer->size >= size) { /* most is a few bytes, and has room */
        memcpy(buffer->data + buffer->size, bytes, size);
        buffer->size += size;
    } else {
        dw_buffer_append(buffer, bytes, size);
    }
    if (out->buffer.failed)
        out->error = DW_ERR_MEMORY;
    else if (out->fd >= 0 && out->buffer.size >= FLUSH_AT)
        flush(out);
    else if (out->fd < 0 && out->limit && out->buffer.size > out->limit)
        out->error = DW_ERR_OUTPUT;
}

void dw_out_char(struct dw_out *out, char c)
{
    dw_out_write(out, &c, 1);
}

void dw_out_repeat(struct dw_out *out, char c, size_t count)
{
    char run[64];
    memset(run, c, count < sizeof run ? count : sizeof run);
    for (; count > sizeof run; count -= sizeof run)
        dw_out_write(out, run, sizeof run);
    dw_out_write(out, run, count);
}

void dw_out_decimal(struct dw_out *out, uint64_t value, unsigned decimals)
{
    char text[48];
    char *at = text + sizeof text;
    for (unsigned i = 0; i < decimals; i++, value /= 10)
        *--at = (char)('0' + value % 10);
    if (decimals)
        *--at = '.';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    dw_out_write(out, at, (size_t)(text + sizeof text - at));
}

/* Where the rest is near one half it takes more digits than a double has to say which way to round.
 */
void dw_out_fixed(struct dw_out *out, double value, unsigned decimals)
{
    static const double powers[] = {1, 10, 100, 1000, 10000};
    double scaled = value * powers[decimals];
    bool is_small = scaled >= 0 && scaled < 1e9;
    uint64_t whole = is_small ? (uint64_t)scaled : 0;
    double rest = scaled - (double)whole;
    if (is_small && (rest < 0.4999 || rest > 0.5001))
        dw_out_decimal(out, whole + (rest > 0.5), decimals);
    else
        dw_out_printf(out, "%.*f", (int)decimals, value);
}

void dw_out_i64(struct dw_out *out, int64_t value)
{
    if (value < 0)
        dw_out_char(out, '-');
    dw_out_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void dw_out_printf(struct dw_out *out, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size > 0)
        dw_out_write(out, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

size_t dw_utf8_length(const uint8_t *at, const uint8_t *end)
{
    uint8_t lead = *at;
    size_t length = lead < 0x80   ? 1
                    : lead < 0xc2 ? 0
                    : lead < 0xe0 ? 2
                    : lead < 0xf0 ? 3
                    : lead < 0xf5 ? 4
                                  : 0;
    if (!length || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (lead == 0xe0 && at[1] < 0xa0) || (lead == 0xf0 && at[1] < 0x90);
    bool surrogate = lead == 0xed && at[1] >= 0xa0;
    bool too_high = lead == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || too_high ? 0 : length;
}

/* The bytes of an empty text may be NULL, and adding even 0 to that is undefined. */
static const uint8_t *end_of(const uint8_t *bytes, size_t size)
{
    return size ? bytes + size : bytes;
}

static uint32_t decode(const uint8_t *at, size_t length)
{
    uint32_t code = length == 1 ? *at : *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (at[i] & 0x3fu);
    return code;
}

/* Invisible characters that change what is seen: controls of terminals, line ends, and those that
 * turn the direction of text, so that one name can look like another. */
static bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/* Most of what is written is this. */
static bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7f;
}

#define ALL(byte) ((byte)*UINT64_C(0x0101010101010101))

/* As far as eight of them are together: adding 1 and taking 0x20 away leave their highest bits. */
static const uint8_t *skip_plain(const uint8_t *at, const uint8_t *end)
{
    for (uint64_t eight; end - at >= 8; at += 8) {
        memcpy(&eight, at, sizeof eight);
        if ((eight | (eight + ALL(1)) | (eight - ALL(0x20))) & ALL(0x80))
            break;
    }
    return at;
}

static bool is_among(const char *few, uint8_t byte)
{
    while (*few && (uint8_t)*few != byte)
        few++;
    return *few;
}

/* Writes a hidden or special character; everything else is copied in runs. */
typedef void escape(struct dw_out *out, uint32_t code);

static void write_escaped(struct dw_out *out, const void *bytes, size_t size, const char *special,
                          escape *escape_code)
{
    const uint8_t *run = bytes, *end = end_of(bytes, size);
    const uint8_t *at = *special ? run : skip_plain(run, end);
    while (at < end && !out->error) {
        bool is_special = is_among(special, *at);
        if (is_plain(*at) && !is_special) {
            at++;
            continue;
        }
        size_t length = dw_utf8_length(at, end);
        uint32_t code = length ? decode(at, length) : 0;
        if (length && !is_special && !is_hidden(code)) {
            at += length;
            continue;
        }
        dw_out_write(out, run, (size_t)(at - run));
        if (length)
            escape_code(out, code);
        else
            dw_out_text(out, "\xef\xbf\xbd");
        run = at += length ? length : 1;
    }
    dw_out_write(out, run, (size_t)(at - run));
}

static bool escape_common(struct dw_out *out, uint32_t code)
{
    static const char letters[][2] = {{'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (code == (uint8_t)letters[i][0]) {
            dw_out_char(out, '\\');
            dw_out_char(out, letters[i][1]);
            return true;
        }
    }
    return false;
}

static void escape_json(struct dw_out *out, uint32_t code)
{
    if (code == '"' || code == '\\') {
        dw_out_char(out, '\\');
        dw_out_char(out, (char)code);
    } else if (!escape_common(out, code)) {
        dw_out_printf(out, "\\u%04x", code);
    }
}

static void escape_printable(struct dw_out *out, uint32_t code)
{
    if (!escape_common(out, code))
        dw_out_printf(out, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
}

void dw_out_json_string(struct dw_out *out, const void *bytes, size_t size)
{
    dw_out_char(out, '"');
    write_escaped(out, bytes, size, "\"\\", escape_json);
    dw_out_char(out, '"');
}

void dw_out_printable(struct dw_out *out, const void *bytes, size_t size)
{
    write_escaped(out, bytes, size, "", escape_printable);
}

static void escape_xml(struct dw_out *out, uint32_t code)
{
    switch (code) {
    case '&': dw_out_text(out, "&amp;"); break;
    case '<': dw_out_text(out, "&lt;"); break;
    case '>': dw_out_text(out, "&gt;"); break;
    case '"': dw_out_text(out, "&quot;"); break;
    default: escape_printable(out, code);
    }
}

/* U+FFFE and U+FFFF are valid UTF-8, but XML does not allow them. */
void dw_out_xml(struct dw_out *out, const void *bytes, size_t size)
{
    const uint8_t *run = bytes, *end = end_of(bytes, size);
    for (const uint8_t *at = run; end - at >= 3; at++) {
        if (at[0] != 0xef || at[1] != 0xbf || at[2] < 0xbe)
            continue;
        write_escaped(out, run, (size_t)(at - run), "&<>\"", escape_xml);
        dw_out_text(out, "\xef\xbf\xbd");
        run = at + 3;
        at += 2;
    }
    write_escaped(out, run, (size_t)(end - run), "&<>\"", escape_xml);
}

static void escape_csv(struct dw_out *out, uint32_t code)
{
    if (code == '"')
        dw_out_text(out, "\"\"");
    else if (code == '\t' || code == '\n')
        dw_out_char(out, (char)code);
    else
        escape_printable(out, code);
}

static bool is_number(const char *text, size_t size)
{
    bool has_digit = false;
    for (size_t i = 1; i < size; i++) {
        has_digit |= text[i] >= '0' && text[i] <= '9';
        if (!memchr("0123456789.", text[i], 11))
            return false;
    }
    return has_digit;
}

/* What a spreadsheet would take for a formula, and run. */
static bool is_formula(const char *text, size_t size)
{
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                       "\xef\xbc\xa0"}; /* the same four, of East Asia */
    for (; size && (*text == '\t' || *text == '\n'); size--)
        text++;
    for (size_t i = 0; i < sizeof wide / sizeof *wide && size >= 3; i++)
        if (!memcmp(text, wide[i], 3))
            return true;
    return size && memchr("=+-@", *text, 4) && !(*text < '=' && is_number(text, size));
}

void dw_out_csv_field(struct dw_out *out, const void *bytes, size_t size)
{
    bool quote =
        size && (memchr(bytes, '"', size) || memchr(bytes, ',', size) || memchr(bytes, '\n', size));
    if (quote)
        dw_out_char(out, '"');
    if (is_formula(bytes, size))
        dw_out_char(out, '\'');
    write_escaped(out, bytes, size, "\"", escape_csv);
    if (quote)
        dw_out_char(out, '"');
}

size_t dw_text_width(const void *bytes, size_t size)
{
    const uint8_t *end = end_of(bytes, size), *at = skip_plain(bytes, end);
    size_t width = (size_t)(at - (const uint8_t *)bytes);
    while (at < end) {
        if (is_plain(*at)) {
            at++;
            width++;
            continue;
        }
        size_t length = dw_utf8_length(at, end);
        uint32_t code = length ? decode(at, length) : 0xfffd;
        if (!is_hidden(code))
            width++;
        else
            width += code == '\n' || code == '\t' || code == '\r' ? 2 : code < 0x80 ? 4 : 6;
        at += length ? length : 1;
    }
    return width;
}
