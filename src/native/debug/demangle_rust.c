/* SPDX-License-Identifier: MIT
 * Rust's first mangling looks like C++'s, with a hash at the end and escapes in the names. */
#include "native/debug/demangle.h"

#include "base/buffer.h"
#include "native/debug/demangle_rust_v0.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HASH_SIZE 17 /* h and 16 hexadecimal digits */

struct part {
    const char *text;
    size_t size;
};

/* The part of the path at *at, which moves on; false at its end. */
static bool next_part(const char **at, struct part *part)
{
    char *end;
    if (**at < '1' || **at > '9')
        return false;
    size_t size = strtoul(*at, &end, 10);
    if (size > strnlen(end, size))
        return false;
    *part = (struct part){end, size};
    *at = end + size;
    return true;
}

static bool is_hash(const struct part *part)
{
    return part->size == HASH_SIZE && part->text[0] == 'h' &&
           strspn(part->text + 1, "0123456789abcdef") >= HASH_SIZE - 1;
}

static void append_text(struct dw_buffer *out, const char *text)
{
    dw_buffer_append(out, text, strlen(text));
}

static void append_utf8(struct dw_buffer *out, unsigned long code)
{
    char bytes[4];
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(heads[size] | code);
    dw_buffer_append(out, bytes, size);
}

/* $LT$ and the like at `text`; returns how long it is, 0 when it is not an escape. */
static size_t append_escape(struct dw_buffer *out, const char *text, size_t size)
{
    static const struct {
        const char *escape, *meaning;
    } escapes[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
                   {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        size_t length = strlen(escapes[i].escape);
        if (length <= size && !memcmp(text, escapes[i].escape, length)) {
            append_text(out, escapes[i].meaning);
            return length;
        }
    }
    if (size < 4 || memcmp(text, "$u", 2) != 0 || !isxdigit((unsigned char)text[2]))
        return 0;
    char *end;
    unsigned long code = strtoul(text + 2, &end, 16);
    if (end >= text + size || *end != '$' || code < 0x20 || code > 0x10ffff)
        return 0;
    append_utf8(out, code);
    return (size_t)(end + 1 - text);
}

/* A part that begins with an escape has an underscore before it. */
static void append_part(struct dw_buffer *out, const struct part *part)
{
    const char *at = part->text, *end = at + part->size;
    if (part->size > 1 && at[0] == '_' && at[1] == '$')
        at++;
    while (at < end) {
        size_t escaped = *at == '$' ? append_escape(out, at, (size_t)(end - at)) : 0;
        bool is_path = end - at >= 2 && !memcmp(at, "..", 2);
        if (is_path)
            append_text(out, "::");
        else if (!escaped)
            dw_buffer_append(out, at, 1);
        at += escaped ? escaped : is_path ? 2 : 1;
    }
}

static bool is_legacy(const char *name)
{
    struct part part = {0};
    const char *at = name + 3;
    while (next_part(&at, &part))
        ;
    return *at == 'E' && is_hash(&part);
}

static char *demangle_legacy(const char *name)
{
    struct dw_buffer out = {0};
    struct part part;
    const char *at = name + 3;
    bool is_first = true;
    while (next_part(&at, &part) && !(is_hash(&part) && *at == 'E')) {
        append_text(&out, is_first ? "" : "::");
        append_part(&out, &part);
        is_first = false;
    }
    dw_buffer_append(&out, "", 1);
    if (out.failed || is_first) {
        dw_buffer_release(&out);
        return NULL;
    }
    return (char *)out.data;
}

char *dw_demangle_rust(const char *name)
{
    if (!strncmp(name, "_ZN", 3) && is_legacy(name))
        return demangle_legacy(name);
    return strncmp(name, "_R", 2) ? NULL : dw_demangle_rust_v0(name);
}
