/* SPDX-License-Identifier: MIT
 * The table of columns of lines, and how the number of a cell is found and shown. A column is shown
 * for a function only where something fills it. */
#include "lens/view/line_column.h"

#include <inttypes.h>
#include <stdio.h>

static bool has_callees(const struct dw_line_listing *function)
{
    uint64_t self = function->totals[DW_LINE_SELF];
    return function->has_callees || (self && self != function->totals[DW_LINE_TIME]);
}

/* What a column needs: these of a function, or some of what it adds up. */
enum { WATCHED = 1u << 31, RECURSIVE = 1u << 30, CALLEES = 1u << 29 };
#define SOME(metric) (1u << DW_LINE_##metric)
#define SPLIT (SOME(PYTHON) | SOME(NATIVE) | SOME(WAITING))

static const struct dw_line_column columns[] = {
    {"hits", "Hits", 9, DW_LINE_HITS, DW_LINE_FORM_COUNT, WATCHED, false,
     "times that the line began"},
    {"time", "Time", 12, DW_LINE_TIME, DW_LINE_FORM_TIME, WATCHED, false,
     "time while it was the innermost line of its function"},
    {"per_hit", "Per Hit", 8, DW_LINE_TIME, DW_LINE_FORM_PER_HIT, WATCHED, false,
     "time of one hit"},
    {"percent_time", "% Time", 8, DW_LINE_TIME, DW_LINE_FORM_SHARE, WATCHED, false,
     "share of the function's time"},
    {"samples", "Samples", 9, DW_LINE_SAMPLES, DW_LINE_FORM_COUNT, SOME(SAMPLES), false,
     "samples with the line on the stack"},
    {"total", "Total", 12, DW_LINE_TOTAL, DW_LINE_FORM_TIME, SOME(SAMPLES), false,
     "time that these samples stand for"},
    {"percent_total", "% Total", 8, DW_LINE_TOTAL, DW_LINE_FORM_SHARE, SOME(SAMPLES), false,
     "share of that of the function's lines"},
    {"python", "Python", 12, DW_LINE_PYTHON, DW_LINE_FORM_TIME, SPLIT, true,
     "the part in which the interpreter ran this line"},
    {"native", "Native", 12, DW_LINE_NATIVE, DW_LINE_FORM_TIME, SPLIT, true,
     "the part in which native code or the kernel worked for it"},
    {"waiting", "Waiting", 12, DW_LINE_WAITING, DW_LINE_FORM_TIME, SPLIT, true,
     "the part in which the thread did not run"},
    {"inclusive", "Inclusive", 12, DW_LINE_INCLUSIVE, DW_LINE_FORM_TIME, RECURSIVE, true,
     "time from its begin to its end, with what it recurses into"},
    {"self", "Self", 12, DW_LINE_SELF, DW_LINE_FORM_TIME, CALLEES, true,
     "time in none of the callees that were measured"},
    {"suspended", "Suspended", 12, DW_LINE_SUSPENDED, DW_LINE_FORM_TIME, SOME(SUSPENDED), true,
     "time in which a generator or task slept on it"},
    {"memory", "Mem usage", 13, DW_LINE_MEMORY, DW_LINE_FORM_BYTES, SOME(MEMORY), false,
     "the most resident memory after it"},
    {"increment", "Increment", 13, DW_LINE_GROWTH, DW_LINE_FORM_INCREMENT, SOME(MEMORY), false,
     "what its hits added to that, less what they gave back"},
    {"allocated", "Allocated", 12, DW_LINE_ALLOCATED, DW_LINE_FORM_BYTES, SOME(ALLOCATED), true,
     "what it and its callees allocated"},
    {"freed", "Freed", 12, DW_LINE_FREED, DW_LINE_FORM_BYTES, SOME(ALLOCATED), true,
     "what of that was freed since"},
    {"kept", "Net", 12, DW_LINE_KEPT, DW_LINE_FORM_BYTES, SOME(ALLOCATED), true,
     "what of that was there at the end"},
    {"line_peak", "Line peak", 12, DW_LINE_RISE, DW_LINE_FORM_BYTES, SOME(ALLOCATED), true,
     "by how much live memory rose at most while it ran, temporaries included"},
    {"peak", "At peak", 12, DW_LINE_PEAK, DW_LINE_FORM_BYTES, SOME(ALLOCATED), true,
     "what of that was there when the process had most"},
};

const struct dw_line_column *dw_line_column_at(size_t index)
{
    return index < sizeof columns / sizeof *columns ? &columns[index] : NULL;
}

bool dw_line_column_is_present(const struct dw_line_column *column,
                               const struct dw_line_listing *function)
{
    bool is_present = (column->needs & WATCHED && function->is_watched) ||
                      (column->needs & RECURSIVE && function->recursive) ||
                      (column->needs & CALLEES && has_callees(function));
    for (size_t i = 0; i < DW_LINE_METRICS && !is_present; i++)
        is_present = column->needs >> i & 1 && function->totals[i];
    return is_present;
}

bool dw_line_column_is_data(const struct dw_line_column *column, const struct dw_line_list *list)
{
    return column->metric < DW_LINE_SAMPLES ||
           (column->metric < DW_LINE_MEMORY ? list->is_sampled : list->has_memory);
}

static bool has_run(const struct dw_line *line)
{
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        if (line->values[i])
            return true;
    return false;
}

bool dw_line_column_number(const struct dw_line_column *column,
                           const struct dw_line_listing *function, const struct dw_line *line,
                           double *number)
{
    double value = (double)line->values[column->metric], divisor = 1;
    if (column->form == DW_LINE_FORM_SHARE && line->callee)
        return false; /* with what it recurses into it may be more than the whole */
    if (column->form == DW_LINE_FORM_INCREMENT)
        value -= (double)line->values[DW_LINE_SHRINKING];
    if (column->form == DW_LINE_FORM_PER_HIT)
        divisor = (double)line->values[DW_LINE_HITS];
    if (column->form == DW_LINE_FORM_SHARE)
        divisor = (double)function->totals[column->metric] / 100;
    *number = divisor > 0 ? value / divisor : 0;
    return divisor > 0;
}

/* One decimal; three digits and a power of ten when that is wider than the column. */
static void show_decimal(double value, size_t width, char cell[DW_LINE_CELL_MAX])
{
    int size = snprintf(cell, DW_LINE_CELL_MAX, "%.1f", value);
    if (size > (int)width)
        snprintf(cell, DW_LINE_CELL_MAX, "%.3g", value);
}

/* A line that did not run has hits, 0, and nothing else; sparse columns leave out zeros. */
void dw_line_column_show(const struct dw_line_column *column,
                         const struct dw_line_listing *function, const struct dw_line *line,
                         double unit_s, char cell[DW_LINE_CELL_MAX])
{
    double number;
    *cell = '\0';
    if (column->form == DW_LINE_FORM_COUNT) {
        snprintf(cell, DW_LINE_CELL_MAX, "%" PRIu64, line->values[column->metric]);
        return;
    }
    bool is_shown = has_run(line) && (!column->sparse || line->values[column->metric]);
    if (!is_shown || !dw_line_column_number(column, function, line, &number))
        return;
    if (column->form == DW_LINE_FORM_BYTES || column->form == DW_LINE_FORM_INCREMENT)
        snprintf(cell, DW_LINE_CELL_MAX, "%.1f MiB", number / (1 << 20));
    else if (column->form == DW_LINE_FORM_SHARE)
        show_decimal(number, column->width, cell);
    else
        show_decimal(number * 1e-9 / unit_s, column->width, cell);
}
