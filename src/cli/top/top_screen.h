/* SPDX-License-Identifier: MIT
 * What `dwell top` writes: a screen, or plain text for pipes. */
#ifndef DW_CLI_TOP_TOP_SCREEN_H
#define DW_CLI_TOP_TOP_SCREEN_H

#include "attach/sampling/recording.h"
#include "cli/top/top_table.h"

struct dw_top_screen {
    struct dw_recording *recording; /* borrowed */
    struct dw_top_table table;
    struct dw_top_view view;
    const char *program; /* borrowed */
    bool is_paused, shows_help;
};

/* Into the terminal that has this size. */
void dw_top_draw(const struct dw_top_screen *screen, unsigned columns, unsigned rows,
                 struct dw_out *out);
/* The same as lines of text, the most important `limit` of them, no longer than so many columns; 0:
 * as long as they are. */
void dw_top_print(const struct dw_top_screen *screen, unsigned columns, uint32_t limit,
                  struct dw_out *out);

#endif
