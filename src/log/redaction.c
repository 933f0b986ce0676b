/* SPDX-License-Identifier: MIT
 * Set once for the process, and asked by whoever writes. */
#include "log/redaction.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic unsigned wanted;

void dw_redact(unsigned redactions)
{
    atomic_store(&wanted, redactions);
}

bool dw_redacts(enum dw_redaction redaction)
{
    return atomic_load(&wanted) & redaction;
}

bool dw_redacts_property(const char *key, size_t size)
{
    return size == 4 && !memcmp(key, "argv", size) && dw_redacts(DW_REDACT_ARGV);
}

static unsigned redaction_of(const char *word, size_t size)
{
    return size == 4 && !memcmp(word, "argv", size)      ? DW_REDACT_ARGV
           : size == 7 && !memcmp(word, "sources", size) ? DW_REDACT_SOURCES
                                                         : 0;
}

bool dw_redactions_parse(const char *words, unsigned *redactions)
{
    unsigned found = 0;
    for (size_t size; *words; words += size + (words[size] == ',')) {
        size = strcspn(words, ",");
        unsigned redaction = redaction_of(words, size);
        if (!redaction)
            return false;
        found |= redaction;
    }
    *redactions = found;
    return found != 0;
}
