/* SPDX-License-Identifier: MIT
 * Reports as data: the one shape of CSV and JSON (docs/json.md). A report says what its rows are
 * told apart by and what they carry, then the cells of each row, each with its name; the cells of
 * all rows have the same names. CSV has those as its first line. */
#ifndef DW_LENS_TABLE_DATA_H
#define DW_LENS_TABLE_DATA_H

#include "base/out.h"
#include "lens/lens.h"
#include "model/profile.h"

struct dw_data {
    struct dw_out *out;
    bool is_csv;
    bool has_no_rows;      /* of CSV: the row that follows gives the names and is not shown */
    uint32_t rows, cells;  /* begun so far; cells of the row at hand */
    struct dw_out heading; /* of CSV: the names of the cells of the first row */
    struct dw_out line;    /* of CSV: the first row, which is written behind its heading */
};

/* CSV does not show what dw_data_keys and dw_data_measures are told. */
void dw_data_begin(struct dw_data *data, struct dw_out *out, bool is_csv);
void dw_data_keys(struct dw_data *data, const char *const *keys, uint32_t count);
/* What rows carry; `all` is the sum over everything, or NULL when it is not known. */
struct dw_data_measure {
    const char *name, *meaning;
    enum dw_unit unit;
    const uint64_t *all;
};
void dw_data_measures(struct dw_data *data, const struct dw_data_measure *measures, uint32_t count);

void dw_data_row(struct dw_data *data);
void dw_data_text(struct dw_data *data, const char *name, struct dw_string text);
void dw_data_number(struct dw_data *data, const char *name, uint64_t number);
/* Four decimals; when the number is not known, nothing or null. */
void dw_data_real(struct dw_data *data, const char *name, double number, bool is_known);
/* With and without what is under the key: an object, or the columns NAME and NAME_self. */
void dw_data_pair(struct dw_data *data, const char *name, uint64_t total, uint64_t self);

/* Begins a cell of another form, which is of JSON only; returns where its value goes. */
struct dw_out *dw_data_cell(struct dw_data *data, const char *name);

/* Defines the lenses PREFIX_csv and PREFIX_json of a report that `write` makes, which is told in
 * its last argument whether CSV is wanted. */
#define DW_DATA_LENSES(prefix, write_data)                                                         \
    static int prefix##_write_csv(const struct dw_profile *profile,                                \
                                  const struct dw_lens_options *options, struct dw_out *out)       \
    {                                                                                              \
        return write_data(profile, options, out, true);                                            \
    }                                                                                              \
    static int prefix##_write_json(const struct dw_profile *profile,                               \
                                   const struct dw_lens_options *options, struct dw_out *out)      \
    {                                                                                              \
        return write_data(profile, options, out, false);                                           \
    }                                                                                              \
    const struct dw_lens prefix##_csv = {                                                          \
        .name = "csv", .lacks_notes = true, .write = prefix##_write_csv};                          \
    const struct dw_lens prefix##_json = {.name = "json", .write = prefix##_write_json}

/* The rows of reports of lines, which those of everything have too: one for each function, each of
 * its lines and, when asked for, each callee of those. */
struct dw_line_list;
void dw_line_data_put_rows(struct dw_data *data, const struct dw_line_list *list, bool callees);

/* An array of rows inside of other JSON, in place of begin and end. */
void dw_data_begin_rows(struct dw_data *data, struct dw_out *out);
void dw_data_end_rows(struct dw_data *data);

/* After all rows: what could not be kept, how samples were taken when they are shown. */
void dw_data_end(struct dw_data *data, const struct dw_profile *profile, uint32_t left_out,
                 bool of_samples);

#endif
