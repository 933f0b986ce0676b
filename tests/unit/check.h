/* SPDX-License-Identifier: MIT
 * cmocka and the headers that it wants before it. */
#ifndef DW_TESTS_CHECK_H
#define DW_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#endif
