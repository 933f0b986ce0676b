/* SPDX-License-Identifier: MIT
 * perftools.profiles.Profile in gzip, message by message. The tables that samples refer to follow
 * them. */
#ifndef DW_LENS_EXPORT_PPROF_WRITER_H
#define DW_LENS_EXPORT_PPROF_WRITER_H

#include "base/gzip.h"
#include "base/pprof_fields.h"
#include "base/protobuf.h"
#include "model/profile.h"

struct dw_pprof {
    bool are_samples; /* else paths of calls or regions */
    const struct dw_profile *profile;
    struct dw_gzip gzip;
    struct dw_string_table strings;
    struct dw_buffer message, part; /* being built */
    struct dw_buffer labels;        /* of a row, first those of all rows of the thread */
    size_t thread_labels;           /* bytes that these take */
    struct dw_out text;             /* of a string, while it is looked up */
    int error;
};

int dw_pprof_init(struct dw_pprof *pprof, const struct dw_profile *profile, bool are_samples,
                  struct dw_out *out);
/* Writes the strings and ends the stream. The first error of all. */
int dw_pprof_close(struct dw_pprof *pprof);

/* Writes the message that was built, and makes room for the next. */
void dw_pprof_put_message(struct dw_pprof *pprof, uint32_t field);
/* The id of what is in pprof->text. */
uint64_t dw_pprof_text(struct dw_pprof *pprof);
/* Strings must be UTF-8, and are shown on a line. */
uint64_t dw_pprof_string(struct dw_pprof *pprof, struct dw_string string);
uint64_t dw_pprof_literal(struct dw_pprof *pprof, const char *text);
/* Numbers are signed there. */
static inline uint64_t dw_pprof_number(uint64_t value)
{
    return value < INT64_MAX ? value : INT64_MAX;
}

void dw_pprof_put_type(struct dw_pprof *pprof, uint32_t field, const char *name, const char *unit);
/* The plain fields of the profile itself. */
void dw_pprof_put_facts(struct dw_pprof *pprof, const char *default_type, uint64_t period);
/* Starts the labels with those of the thread. */
void dw_pprof_label_thread(struct dw_pprof *pprof, uint32_t thread);
/* Adds what a row is labelled with, in place of those of the row before: what the thread did, when
 * rows are samples, and what the program said. */
void dw_pprof_label_row(struct dw_pprof *pprof, dw_labels_id labels);
/* Ends a sample whose locations are in the message. */
void dw_pprof_put_sample(struct dw_pprof *pprof, const uint64_t *values, size_t count);
/* A function, its name and file by id. */
void dw_pprof_put_function(struct dw_pprof *pprof, uint64_t id, uint64_t name, uint64_t file,
                           uint32_t line);
/* Adds a line to the location in the message; the innermost of those inlined comes first. */
void dw_pprof_add_line(struct dw_pprof *pprof, uint64_t function, uint32_t line, uint32_t column);

#endif
