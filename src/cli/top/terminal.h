/* SPDX-License-Identifier: MIT
 * The terminal as a screen: the other screen, keys as they are pressed, and everything as it
 * was afterwards, however the program ends. */
#ifndef DW_CLI_TOP_TERMINAL_H
#define DW_CLI_TOP_TERMINAL_H

#include <stdbool.h>

/* False when standard input and output are not a terminal. */
bool dw_terminal_enter(void);
void dw_terminal_leave(void);
/* The next key that was pressed; 0 when there is none. */
char dw_terminal_key(void);
void dw_terminal_size(unsigned *columns, unsigned *rows);
/* Whether the screen has to be drawn again: it has another size, or was left for a while. */
bool dw_terminal_has_changed(void);

#endif
