/* SPDX-License-Identifier: MIT */
#include "json_check.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define DEPTH_MAX 64

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\n\r");
}

/* Each returns the end of what it read, or NULL. */
static const char *read_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u')
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++at))
                    return NULL;
        if (!*at || (*at != 'u' && !isxdigit((unsigned char)*at) && !strchr("\"\\/bfnrt", *at)))
            return NULL;
    }
    return at + 1;
}

static const char *read_digits(const char *at)
{
    size_t count = strspn(at, "0123456789");
    return count ? at + count : NULL;
}

static const char *read_number(const char *at)
{
    at += *at == '-';
    at = read_digits(at);
    if (at && *at == '.')
        at = read_digits(at + 1);
    if (!at || (*at != 'e' && *at != 'E'))
        return at;
    at++;
    return read_digits(at + (*at == '-' || *at == '+'));
}

static const char *read_word(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncmp(at, words[i], strlen(words[i])))
            return at + strlen(words[i]);
    return NULL;
}

static const char *read_value(const char *at, int depth);

/* The members of an object or the entries of an array, up to `close`. */
static const char *read_members(const char *at, char close, int depth)
{
    at = skip_space(at);
    if (*at == close)
        return at + 1;
    for (;;) {
        if (close == '}') {
            at = read_string(skip_space(at));
            at = at ? skip_space(at) : NULL;
            if (!at || *at++ != ':')
                return NULL;
        }
        at = read_value(at, depth);
        at = at ? skip_space(at) : NULL;
        if (!at || (*at != ',' && *at != close))
            return NULL;
        if (*at++ == close)
            return at;
    }
}

static const char *read_value(const char *at, int depth)
{
    at = skip_space(at);
    if (depth > DEPTH_MAX)
        return NULL;
    switch (*at) {
    case '{': return read_members(at + 1, '}', depth + 1);
    case '[': return read_members(at + 1, ']', depth + 1);
    case '"': return read_string(at);
    case 't':
    case 'f':
    case 'n': return read_word(at);
    default: return read_number(at);
    }
}

bool json_is_valid(const char *text)
{
    const char *end = read_value(text, 0);
    return end && !*skip_space(end);
}
