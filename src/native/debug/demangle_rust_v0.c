/* SPDX-License-Identifier: MIT
 * Rust's second mangling (RFC 2603): a grammar with references back into the name. Hashes of
 * crates are left out. The name may lie: depth, work and length are limited. */
#include "native/debug/demangle_rust_v0.h"

#include "base/buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200
#define MAX_STEPS 20000
#define MAX_OUTPUT 65536

struct reader {
    const char *name; /* after _R; references count from there */
    const char *at, *end;
    struct dw_buffer out;
    uint64_t lifetimes; /* how many are bound here */
    uint32_t depth, steps;
    bool is_silent; /* reads without writing */
    bool failed;
};

struct identifier {
    const char *text;
    uint64_t size;
    bool is_punycode;
};

static void read_path(struct reader *r, bool is_value);
static void read_type(struct reader *r);
static void read_const(struct reader *r);

static void put_bytes(struct reader *r, const char *bytes, size_t size)
{
    if (r->is_silent)
        return;
    if (r->out.size + size > MAX_OUTPUT)
        r->failed = true;
    else
        dw_buffer_append(&r->out, bytes, size);
}

static void put(struct reader *r, const char *text)
{
    put_bytes(r, text, strlen(text));
}

static void put_number(struct reader *r, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    put(r, text);
}

/* Whether to go on one level deeper; then leave(). */
static bool enter(struct reader *r)
{
    if (r->depth >= MAX_DEPTH || ++r->steps > MAX_STEPS)
        r->failed = true;
    r->depth++;
    return !r->failed;
}

static void leave(struct reader *r)
{
    r->depth--;
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : 0;
}

static bool accept(struct reader *r, char c)
{
    if (peek(r) != c || r->failed)
        return false;
    r->at++;
    return true;
}

static char take(struct reader *r)
{
    char c = peek(r);
    if (c)
        r->at++;
    else
        r->failed = true;
    return c;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 36
                                  : -1;
}

/* "_" is 0, "0_" is 1, "1_" is 2. */
static uint64_t read_base62(struct reader *r)
{
    uint64_t value = 0;
    if (accept(r, '_'))
        return 0;
    while (!r->failed && !accept(r, '_')) {
        int digit = digit_of(take(r));
        if (digit < 0 || value > UINT64_MAX / 62 - 1)
            r->failed = true;
        value = value * 62 + (uint64_t)(digit < 0 ? 0 : digit);
    }
    return value + 1;
}

/* An optional letter and number: 0 when it is missing, else the number + 1. */
static uint64_t read_optional(struct reader *r, char letter)
{
    return accept(r, letter) ? read_base62(r) + 1 : 0;
}

static struct identifier read_plain_identifier(struct reader *r)
{
    struct identifier identifier = {.is_punycode = accept(r, 'u')};
    if (peek(r) < '0' || peek(r) > '9')
        r->failed = true;
    if (!accept(r, '0'))
        while (peek(r) >= '0' && peek(r) <= '9' && identifier.size < MAX_OUTPUT)
            identifier.size = identifier.size * 10 + (uint64_t)(take(r) - '0');
    accept(r, '_');
    identifier.text = r->at;
    if (identifier.size > (uint64_t)(r->end - r->at)) {
        identifier.size = 0;
        r->failed = true;
    }
    r->at += identifier.size;
    return identifier;
}

static void put_identifier(struct reader *r, const struct identifier *identifier)
{
    if (identifier->is_punycode)
        put(r, "punycode{");
    put_bytes(r, identifier->text, identifier->size);
    if (identifier->is_punycode)
        put(r, "}");
}

/* Goes to where the name refers back to; the caller comes back to *after. */
static bool follow(struct reader *r, const char **after)
{
    const char *start = r->at - 1;
    uint64_t offset = read_base62(r);
    if (r->failed || offset >= (uint64_t)(start - r->name)) {
        r->failed = true;
        return false;
    }
    *after = r->at;
    r->at = r->name + offset;
    return true;
}

static void put_lifetime(struct reader *r, uint64_t index)
{
    uint64_t depth = r->lifetimes - index;
    if (index > r->lifetimes) {
        r->failed = true;
    } else if (!index) {
        put(r, "'_");
    } else if (depth < 26) {
        put(r, "'");
        put_bytes(r, &"abcdefghijklmnopqrstuvwxyz"[depth], 1);
    } else {
        put(r, "'_");
        put_number(r, depth);
    }
}

/* for<'a, 'b>; the caller sets r->lifetimes back. */
static void read_binder(struct reader *r)
{
    uint64_t count = read_optional(r, 'G');
    if (!count)
        return;
    put(r, "for<");
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        put(r, i ? ", " : "");
        r->lifetimes++;
        put_lifetime(r, 1);
        r->failed |= ++r->steps > MAX_STEPS;
    }
    put(r, "> ");
}

static void read_generic_argument(struct reader *r)
{
    if (accept(r, 'L'))
        put_lifetime(r, read_base62(r));
    else if (accept(r, 'K'))
        read_const(r);
    else
        read_type(r);
}

/* Reads items up to the E; returns how many there are. */
static uint32_t read_list(struct reader *r, void (*read)(struct reader *))
{
    uint32_t count = 0;
    for (; !r->failed && !accept(r, 'E'); count++) {
        put(r, count ? ", " : "");
        read(r);
    }
    return count;
}

/* {closure#0}, {shim:name#0}: namespaces in lower case are implementation details of the
 * compiler. */
static void read_nested(struct reader *r, bool is_value)
{
    char kind = take(r);
    read_path(r, is_value);
    uint64_t number = read_optional(r, 's');
    struct identifier name = read_plain_identifier(r);
    bool is_special = kind >= 'A' && kind <= 'Z';
    if (is_special) {
        put(r, "::{");
        if (kind == 'C')
            put(r, "closure");
        else if (kind == 'S')
            put(r, "shim");
        else
            put_bytes(r, &kind, 1);
        put(r, name.size ? ":" : "");
        put_identifier(r, &name);
        put(r, "#");
        put_number(r, number);
        put(r, "}");
    } else if (name.size) {
        put(r, "::");
        put_identifier(r, &name);
    }
}

/* Where an impl is written does not matter to people. */
static void skip_impl_path(struct reader *r)
{
    bool was_silent = r->is_silent;
    r->is_silent = true;
    read_optional(r, 's');
    read_path(r, false);
    r->is_silent = was_silent;
}

static void read_qualified(struct reader *r, char kind)
{
    if (kind != 'Y')
        skip_impl_path(r);
    put(r, "<");
    read_type(r);
    if (kind != 'M') {
        put(r, " as ");
        read_path(r, false);
    }
    put(r, ">");
}

static void read_crate(struct reader *r)
{
    read_optional(r, 's');
    struct identifier name = read_plain_identifier(r);
    put_identifier(r, &name);
}

static void read_path(struct reader *r, bool is_value)
{
    const char *after;
    if (enter(r)) {
        char kind = take(r);
        switch (kind) {
        case 'C': read_crate(r); break;
        case 'N': read_nested(r, is_value); break;
        case 'M':
        case 'X':
        case 'Y': read_qualified(r, kind); break;
        case 'I':
            read_path(r, is_value);
            put(r, is_value ? "::<" : "<");
            read_list(r, read_generic_argument);
            put(r, ">");
            break;
        case 'B':
            if (follow(r, &after)) {
                read_path(r, is_value);
                r->at = after;
            }
            break;
        default: r->failed = true;
        }
    }
    leave(r);
}

/* Whether the path has generic arguments whose list is still open. */
static bool read_open_path(struct reader *r)
{
    bool is_open = false;
    const char *after;
    if (!enter(r)) {
        leave(r);
        return false;
    }
    if (accept(r, 'B')) {
        if (follow(r, &after)) {
            is_open = read_open_path(r);
            r->at = after;
        }
    } else if (accept(r, 'I')) {
        read_path(r, false);
        put(r, "<");
        read_list(r, read_generic_argument);
        is_open = true;
    } else {
        read_path(r, false);
    }
    leave(r);
    return is_open;
}

/* Iterator<Item = u8> */
static void read_trait(struct reader *r)
{
    bool is_open = read_open_path(r);
    while (accept(r, 'p')) {
        put(r, is_open ? ", " : "<");
        is_open = true;
        struct identifier name = read_plain_identifier(r);
        put_identifier(r, &name);
        put(r, " = ");
        read_type(r);
    }
    put(r, is_open ? ">" : "");
}

static void read_dyn(struct reader *r)
{
    uint64_t lifetimes = r->lifetimes;
    put(r, "dyn ");
    read_binder(r);
    for (uint32_t i = 0; !r->failed && !accept(r, 'E'); i++) {
        put(r, i ? " + " : "");
        read_trait(r);
    }
    r->lifetimes = lifetimes;
    uint64_t lifetime = accept(r, 'L') ? read_base62(r) : 0;
    if (lifetime) {
        put(r, " + ");
        put_lifetime(r, lifetime);
    }
}

static void read_abi(struct reader *r)
{
    if (accept(r, 'C')) {
        put(r, "extern \"C\" ");
        return;
    }
    struct identifier abi = read_plain_identifier(r);
    put(r, "extern \"");
    for (uint64_t i = 0; i < abi.size; i++)
        put_bytes(r, abi.text[i] == '_' ? "-" : &abi.text[i], 1);
    put(r, "\" ");
}

static void read_function(struct reader *r)
{
    uint64_t lifetimes = r->lifetimes;
    read_binder(r);
    if (accept(r, 'U'))
        put(r, "unsafe ");
    if (accept(r, 'K'))
        read_abi(r);
    put(r, "fn(");
    read_list(r, read_type);
    put(r, ")");
    if (!accept(r, 'u')) {
        put(r, " -> ");
        read_type(r);
    }
    r->lifetimes = lifetimes;
}

static const char *basic_type(char letter)
{
    static const char *const types[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!"};
    return letter >= 'a' && letter <= 'z' ? types[letter - 'a'] : NULL;
}

static void read_reference(struct reader *r, bool is_mutable)
{
    uint64_t lifetime = accept(r, 'L') ? read_base62(r) : 0;
    put(r, "&");
    if (lifetime) {
        put_lifetime(r, lifetime);
        put(r, " ");
    }
    put(r, is_mutable ? "mut " : "");
    read_type(r);
}

static void read_array(struct reader *r, bool has_size)
{
    put(r, "[");
    read_type(r);
    if (has_size) {
        put(r, "; ");
        read_const(r);
    }
    put(r, "]");
}

static void read_tuple(struct reader *r)
{
    put(r, "(");
    put(r, read_list(r, read_type) == 1 ? ",)" : ")");
}

static void read_pointer(struct reader *r, const char *kind)
{
    put(r, kind);
    read_type(r);
}

static void read_type_of(struct reader *r, char kind)
{
    const char *after;
    switch (kind) {
    case 'A':
    case 'S': read_array(r, kind == 'A'); break;
    case 'T': read_tuple(r); break;
    case 'R':
    case 'Q': read_reference(r, kind == 'Q'); break;
    case 'P':
    case 'O': read_pointer(r, kind == 'P' ? "*const " : "*mut "); break;
    case 'F': read_function(r); break;
    case 'D': read_dyn(r); break;
    case 'B':
        if (follow(r, &after)) {
            read_type(r);
            r->at = after;
        }
        break;
    default: /* the name of a type */ r->at--; read_path(r, false);
    }
}

static void read_type(struct reader *r)
{
    if (enter(r)) {
        char kind = take(r);
        const char *basic = basic_type(kind);
        if (basic)
            put(r, basic);
        else if (!r->failed)
            read_type_of(r, kind);
    }
    leave(r);
}

/* Hexadecimal digits up to an underscore. Those that do not fit stay as they are. */
static void read_integer(struct reader *r, char type)
{
    bool is_negative = accept(r, 'n');
    const char *digits = r->at;
    uint64_t value = 0;
    while (!r->failed && peek(r) != '_') {
        int digit = digit_of(take(r));
        r->failed |= digit < 0 || digit > 15;
        value = value << 4 | (uint64_t)(digit & 15);
    }
    size_t size = (size_t)(r->at - digits);
    accept(r, '_');
    put(r, is_negative ? "-" : "");
    if (type == 'b') {
        put(r, value ? "true" : "false");
    } else if (size > 16) {
        put(r, "0x");
        put_bytes(r, digits, size);
    } else if (type == 'c' && value >= 0x20 && value < 0x7f) {
        put_bytes(r, (char[]){'\'', (char)value, '\''}, 3);
    } else {
        put_number(r, value);
    }
}

static void read_const(struct reader *r)
{
    const char *after;
    if (enter(r)) {
        char type = take(r);
        if (type == 'p')
            put(r, "_");
        else if (type && strchr("bcahijlmnostxy", type))
            read_integer(r, type);
        else if (type == 'B' && follow(r, &after)) {
            read_const(r);
            r->at = after;
        } else {
            r->failed = true; /* strings and structs: rare enough */
        }
    }
    leave(r);
}

char *dw_demangle_rust_v0(const char *name)
{
    const char *start = name + strlen("_R");
    struct reader r = {.name = start, .at = start, .end = start + strcspn(start, ".")};
    read_path(&r, true);
    r.is_silent = true;
    if (!r.failed && r.at < r.end) /* a suffix: the crate that instantiated it */
        read_path(&r, false);
    dw_buffer_append(&r.out, "", 1);
    if (r.failed || r.at < r.end || r.out.failed) {
        dw_buffer_release(&r.out);
        return NULL;
    }
    return (char *)r.out.data;
}
