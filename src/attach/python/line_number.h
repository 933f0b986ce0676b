/* SPDX-License-Identifier: MIT
 * Line and columns of an instruction, from the location table of a code object (3.11 and later). */
#ifndef DW_ATTACH_PYTHON_LINE_NUMBER_H
#define DW_ATTACH_PYTHON_LINE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* `unit` counts code units, two bytes each, from the first instruction; -1, before it, gives
 * the first line. Nothing is known when the instruction has no line, or the table does
 * not hold together. Reads nothing outside the table, whatever it holds. */
struct dw_location {
    uint32_t line, end_line;     /* 0: none */
    uint32_t column, end_column; /* in bytes, from 1 on; 0: none */
};
struct dw_location dw_location_find(const uint8_t *table, size_t size, uint32_t first_line,
                                    int64_t unit);
/* The line alone. */
uint32_t dw_line_number(const uint8_t *table, size_t size, uint32_t first_line, int64_t unit);

#endif
