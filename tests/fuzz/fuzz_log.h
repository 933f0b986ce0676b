/* SPDX-License-Identifier: MIT
 * Any bytes as a log. The output may be whatever it likes, but nothing may crash, leak or hang. */
#ifndef DW_TESTS_FUZZ_LOG_H
#define DW_TESTS_FUZZ_LOG_H

#include <stddef.h>
#include <stdint.h>

/* Through one view, or saved or merged, as a hash of the bytes says: what libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
/* Through all of that. */
void fuzz_log_all(const uint8_t *bytes, size_t size);

#endif
