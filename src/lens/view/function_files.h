/* SPDX-License-Identifier: MIT
 * Names of files as people want to read them: without directories, but for those that it takes to
 * tell functions of one name apart. */
#ifndef DW_LENS_VIEW_FUNCTION_FILES_H
#define DW_LENS_VIEW_FUNCTION_FILES_H

#include "lens/view/functions.h"

/* Shortens the files, "pandas/__init__.py" where there is another "__init__.py" with a function of
 * the same name in the same line. Changes the order of the pointers. */
int dw_functions_strip_dirs(struct dw_function **functions, uint32_t count);

#endif
