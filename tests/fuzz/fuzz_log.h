/* SPDX-License-Identifier: MIT
 * The entry that libFuzzer calls, and the replay driver too. */
#ifndef DW_TESTS_FUZZ_LOG_H
#define DW_TESTS_FUZZ_LOG_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
