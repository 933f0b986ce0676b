/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/crc32c.h"

#include <string.h>

/* RFC 3720, appendix B.4, and the check value of the CRC catalogue. */
static void test_known_values(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], rising[32];
    memset(ones, 0xff, sizeof ones);
    for (uint8_t i = 0; i < 32; i++)
        rising[i] = i;
    const struct {
        const void *bytes;
        size_t size;
        uint32_t crc;
    } cases[] = {{"", 0, 0},
                 {"123456789", 9, 0xe3069283},
                 {zeros, 32, 0x8a9136aa},
                 {ones, 32, 0x62a8ab43},
                 {rising, 32, 0x46dd794e}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(dw_crc32c(0, cases[i].bytes, cases[i].size), cases[i].crc);
}

static void test_continues_anywhere(void **state)
{
    (void)state;
    const char text[] = "the quick brown fox jumps over the lazy dog";
    size_t size = sizeof text - 1;
    uint32_t whole = dw_crc32c(0, text, size);
    for (size_t cut = 0; cut <= size; cut++)
        assert_int_equal(dw_crc32c(dw_crc32c(0, text, cut), text + cut, size - cut), whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_continues_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
