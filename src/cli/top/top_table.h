/* SPDX-License-Identifier: MIT
 * The table that `dwell top` shows: times of functions, lines or threads, since the start and
 * of about the last two seconds. */
#ifndef DW_CLI_TOP_TOP_TABLE_H
#define DW_CLI_TOP_TOP_TABLE_H

#include "base/out.h"
#include "record/ledger.h"

enum dw_top_by { DW_TOP_FUNCTIONS, DW_TOP_LINES, DW_TOP_THREADS };

struct dw_top_view {
    enum dw_top_by by;
    bool by_total;     /* sorted by total, not by own time */
    bool only_gil;     /* only while the thread held the GIL */
    bool with_waiting; /* also while the thread waited */
};

/* Seconds as the clock has them, and those of the last seconds, which fade. */
struct dw_top_time {
    double all, recent;
};

struct dw_top_row {
    uint32_t of;   /* a frame or a thread: a row is found by this and its line */
    uint32_t line; /* of lines; else 0 */
    struct dw_top_time own, total;
    uint32_t last_cell; /* 1 + the last cell in its total, so that recursion counts once */
};

struct dw_top_table {
    struct dw_ledger *log;     /* borrowed: what the ids mean */
    struct dw_top_cell *cells; /* owned; one for each thread, stack and state */
    uint32_t cell_count, cell_capacity;
    struct dw_map cell_index;
    struct dw_top_row *rows; /* owned; sorted */
    uint32_t row_count, row_capacity;
    struct dw_map row_index;         /* while rows are added up */
    struct dw_top_time elapsed, gil; /* gil: how long somebody had it */
    uint64_t faded_ns;
    bool failed; /* out of memory */
};

void dw_top_table_init(struct dw_top_table *table, struct dw_ledger *log, uint64_t now_ns);
void dw_top_table_release(struct dw_top_table *table);
/* Forgets all times. */
void dw_top_table_reset(struct dw_top_table *table, uint64_t now_ns);
/* What the sampler calls. */
void dw_top_table_add(void *table, uint32_t thread, dw_path_id stack, uint32_t state,
                      uint64_t weight_ns);
/* Makes the rows. Called some times a second, so that what is recent fades. */
void dw_top_table_update(struct dw_top_table *table, const struct dw_top_view *view,
                         uint64_t now_ns);
/* "function (file:line)", or a thread's name. */
void dw_top_row_put_name(const struct dw_top_table *table, const struct dw_top_view *view,
                         const struct dw_top_row *row, struct dw_out *out);

#endif
