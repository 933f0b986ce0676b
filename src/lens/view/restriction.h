/* SPDX-License-Identifier: MIT
 * What cuts a list down: patterns and limits, applied one after the other, as pstats applies
 * them. */
#ifndef DW_LENS_VIEW_RESTRICTION_H
#define DW_LENS_VIEW_RESTRICTION_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dw_restriction_kind {
    DW_RESTRICT_COUNT,    /* to the first so many */
    DW_RESTRICT_FRACTION, /* to the first part of them */
    DW_RESTRICT_PATTERN,  /* to those whose name matches */
};

struct dw_restriction {
    enum dw_restriction_kind kind;
    uint64_t count;
    double fraction;  /* 0 to 1 */
    regex_t pattern;  /* compiled by who made the restriction */
    const char *text; /* of the pattern */
};

struct dw_restrictions {
    const struct dw_restriction *list;
    uint32_t count;
};

/* How many of the first rows stay, of those that match. */
static inline uint32_t dw_restriction_limit(const struct dw_restriction *restriction,
                                            uint32_t count)
{
    if (restriction->kind == DW_RESTRICT_FRACTION)
        return (uint32_t)(count * restriction->fraction + 0.5);
    return restriction->kind == DW_RESTRICT_COUNT && restriction->count < count
               ? (uint32_t)restriction->count
               : count;
}

/* Whether a name stays, as far as patterns go. */
static inline bool dw_restriction_matches(const struct dw_restriction *restriction,
                                          const char *name)
{
    return restriction->kind != DW_RESTRICT_PATTERN ||
           !regexec(&restriction->pattern, name, 0, NULL, 0);
}

#endif
