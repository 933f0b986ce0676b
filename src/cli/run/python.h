/* SPDX-License-Identifier: MIT
 * The interpreter, and the words of its command line. */
#ifndef DW_CLI_RUN_PYTHON_H
#define DW_CLI_RUN_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

/* The interpreter that dwell is installed beside, in `path`, else the first on PATH. */
const char *dw_python_find(char *path, size_t size);

/* How many words an option of Python takes; 0: the program begins with this word; -1: Python has no
 * such option, or runs no program with it. */
int dw_python_option(const char *word);
/* Whether the word has this letter among its options, as -uIm has I. */
bool dw_python_has_letter(const char *word, char letter);
/* "dir/name.py" is "name"; "-m pkg.mod" is "pkg.mod"; "-c ..." and "-" are "python". */
void dw_python_program_name(char *const *program, char *name, size_t size);
/* The text of the program, as far as it is known without running it: that of a script or of -c.
 * NULL when it is not; the caller frees it. */
char *dw_python_source(char *const *program);

#endif
