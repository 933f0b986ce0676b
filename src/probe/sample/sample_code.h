/* SPDX-License-Identifier: MIT
 * Code objects as handlers see them. A handler gives each a number and describes it in its
 * ring until the sampler's thread has read a description: the object is alive now, and may be
 * gone when the ring is read. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_CODE_H
#define DW_PROBE_SAMPLE_SAMPLE_CODE_H

#include "probe/number_set.h"
#include "probe/sample/sample_ring.h"

#include <Python.h>

#include <stdbool.h>

#define DW_CODE_COMMON (1u << 15) /* few, since all of their memory is soon in use */
#define DW_CODE_RARE (1u << 20)   /* of programs that make code all the time */

/* A text as Python keeps it: `width` bytes a character. */
struct dw_code_text {
    uint32_t length, width;
};

/* Followed by the bytes of name, file and location table, each padded to 8. */
struct dw_code_record {
    struct dw_ring_record head;
    uint32_t id, first_line;
    struct dw_code_text name, file;
    uint64_t table_size;
};

/* Those of the sampler; another probe has a set of its own. Known is what was described. */
extern struct dw_number_set dw_sample_codes;
/* From 1 on; 0 when there are too many. The address may be used again for other code, which
 * has another number. [signal-safe] */
uint32_t dw_code_number(struct dw_number_set *codes, const PyCodeObject *code);

/* How large a record of it is, with or without its location table. [signal-safe] */
size_t dw_code_record_size(const PyCodeObject *code, bool with_table);
/* [signal-safe] */
void dw_code_describe(const PyCodeObject *code, uint32_t id, bool with_table,
                      struct dw_code_record *record);

/* The parts of a record. */
const uint8_t *dw_code_record_name(const struct dw_code_record *record);
const uint8_t *dw_code_record_file(const struct dw_code_record *record);
const uint8_t *dw_code_record_table(const struct dw_code_record *record);

#endif
