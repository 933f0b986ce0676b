/* SPDX-License-Identifier: MIT
 * What recordings of this process leave out because somebody asked for it. */
#ifndef DW_LOG_REDACTION_H
#define DW_LOG_REDACTION_H

#include <stdbool.h>
#include <stddef.h>

enum dw_redaction {
    DW_REDACT_ARGV = 1,    /* the command line */
    DW_REDACT_SOURCES = 2, /* the text of source files */
};

/* For all that is written from now on. */
void dw_redact(unsigned redactions);
bool dw_redacts(enum dw_redaction redaction);
/* Whether what is said of the process under that key is left out. */
bool dw_redacts_property(const char *key, size_t size);
/* "argv,sources" into redactions; false when a word is another one. */
bool dw_redactions_parse(const char *words, unsigned *redactions);

#endif
