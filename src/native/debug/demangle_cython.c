/* SPDX-License-Identifier: MIT
 * Cython makes C functions of Python ones: "__pyx_pw_" (called by Python), "__pyx_pf_" (what it
 * does) or "__pyx_f_" (of cdef), then the parts of the module's name and classes, each behind its
 * length and before a "_", then a number, except for cdef and the first one of a scope, and the
 * name. */
#include "native/debug/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct prefix {
    const char *text;
    bool may_have_number, must_have_number;
};

static const struct prefix prefixes[] = {
    {"__pyx_pw_", true, true},
    {"__pyx_pf_", true, false},
    {"__pyx_f_", false, false},
};

struct part {
    size_t number; /* its length */
    const char *text, *behind;
};

static bool is_part(const char *at, struct part *part)
{
    char *end;
    part->number = *at >= '1' && *at <= '9' ? strtoul(at, &end, 10) : 0;
    if (!part->number || part->number >= strlen(end) || end[part->number] != '_')
        return false;
    part->text = end;
    part->behind = end + part->number + 1;
    return true;
}

static bool has_number(const char *name)
{
    return isdigit((unsigned char)*name);
}

/* Whether a "_" stands where it would if the number were a length: "2ab_cd" is the method cd of ab,
 * or the function ab_cd with the number 2. */
static bool is_doubtful(const struct prefix *prefix, const struct part *part)
{
    return prefix->may_have_number && !prefix->must_have_number && !has_number(part->behind) &&
           part->number % 2 == 0;
}

static char *parse(const struct prefix *prefix, const char *at)
{
    char *made = malloc(strlen(at) + 1), *to = made;
    bool is_good = made;
    for (struct part part; is_good && is_part(at, &part); at = part.behind) {
        bool is_module = to == made;
        if (!is_module && prefix->must_have_number && !has_number(part.behind))
            break; /* the name is here */
        is_good = is_module || !is_doubtful(prefix, &part);
        memcpy(to, part.text, part.number);
        to += part.number;
        *to++ = '.';
    }
    is_good &= to > made && (has_number(at) ? prefix->may_have_number : !prefix->must_have_number);
    const char *name = at + strspn(at, "0123456789");
    if (is_good && *name) {
        strcpy(to, name);
        return made;
    }
    free(made);
    return NULL;
}

/* Cython makes one function for each type of a fused argument. */
static const char *without_types(const char *name)
{
    static const char fused[] = "__pyx_fuse_";
    size_t size = sizeof fused - 1;
    if (strncmp(name, fused, size) != 0)
        return name;
    return name + size + strspn(name + size, "0123456789");
}

char *dw_demangle_cython(const char *name)
{
    name = without_types(name);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t size = strlen(prefixes[i].text);
        if (!strncmp(name, prefixes[i].text, size))
            return parse(&prefixes[i], name + size);
    }
    return NULL;
}
