/* SPDX-License-Identifier: MIT
 * Programs and libraries that a test builds for itself, in a directory of its own. */
#ifndef DW_TESTS_OBJECTS_H
#define DW_TESTS_OBJECTS_H

#include <stdint.h>
#include <stdio.h>

/* Makes the directory and works in it; and away with it. */
int objects_setup(void **state);
int objects_teardown(void **state);

void write_file(const char *path, const void *bytes, size_t size);
/* The bytes, on the heap. */
uint8_t *read_file(const char *path, size_t *size);
/* Runs it in a shell and fails the test when it fails. "CC" and "CXX" are set. */
void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, to read what it prints. Close with pclose. */
FILE *read_from(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
