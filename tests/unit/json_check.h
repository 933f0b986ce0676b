/* SPDX-License-Identifier: MIT
 * A strict JSON checker, small enough to trust. */
#ifndef DW_TESTS_JSON_CHECK_H
#define DW_TESTS_JSON_CHECK_H

#include <stdbool.h>

/* True when the text is exactly one JSON value (depth up to 64). */
bool json_is_valid(const char *text);

#endif
