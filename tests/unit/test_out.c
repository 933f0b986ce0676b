/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/error.h"
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void put(struct dw_out *out, const void *bytes, size_t size);

struct escape {
    const char *in;
    size_t size;
    const char *out;
};

#define CASE(in, out)                                                                              \
    {                                                                                              \
        in, sizeof in - 1, out                                                                     \
    }
#define LOST "\xef\xbf\xbd"

static void check_escapes(put *put_text, const struct escape *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct dw_out out;
        dw_out_init_memory(&out);
        put_text(&out, cases[i].in, cases[i].size);
        dw_out_char(&out, '\0');
        assert_string_equal((char *)out.buffer.data, cases[i].out);
        assert_int_equal(dw_out_close(&out), 0);
    }
}

static void test_json_strings(void **state)
{
    (void)state;
    static const struct escape cases[] = {
        CASE("", "\"\""),
        CASE("plain", "\"plain\""),
        CASE("a\"b\\c", "\"a\\\"b\\\\c\""),
        CASE("\n\r\t", "\"\\n\\r\\t\""),
        CASE("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""),
        CASE("a\0b", "\"a\\u0000b\""),
        CASE("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""),
        CASE("\xff", "\"" LOST "\""),
        CASE("a\xc3", "\"a" LOST "\""),
        CASE("\xc0\xaf", "\"" LOST LOST "\""),
        CASE("\xed\xa0\x80", "\"" LOST LOST LOST "\""),
        CASE("\xf4\x90\x80\x80", "\"" LOST LOST LOST LOST "\""),
        CASE("\xe2\x82x", "\"" LOST LOST "x\""),
    };
    check_escapes(dw_out_json_string, cases, COUNT_OF(cases));
}

static void test_csv_fields(void **state)
{
    (void)state;
    static const struct escape cases[] = {
        CASE("", ""),
        CASE("plain text", "plain text"),
        CASE("a,b", "\"a,b\""),
        CASE("say \"x\"", "\"say \"\"x\"\"\""),
        CASE("two\nlines", "\"two\nlines\""),
        CASE("cr\r", "cr\\r"),
        CASE("\x1b[31m", "\\x1b[31m"),
        CASE("=1+2", "'=1+2"),
        CASE("\t=1", "'\t=1"),
        CASE("\treturn", "\treturn"),
        CASE("@SUM(A1)", "'@SUM(A1)"),
        CASE("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        CASE("-x", "'-x"),
        CASE("=\"a\"", "\"'=\"\"a\"\"\""),
        CASE("\xef\xbc\x9d"
             "1",
             "'\xef\xbc\x9d"
             "1"),
        CASE("-12.5", "-12.5"),
        CASE("+7", "+7"),
        CASE("-", "'-"),
        CASE("a=b", "a=b"),
        CASE("\xfe", LOST),
    };
    check_escapes(dw_out_csv_field, cases, COUNT_OF(cases));
}

static void test_printable_is_one_line(void **state)
{
    (void)state;
    static const struct escape cases[] = {
        CASE("plain", "plain"),
        CASE("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        CASE("\x1b[31m", "\\x1b[31m"),
        CASE("\xc3\xa9", "\xc3\xa9"),
        CASE("a\xe2\x80\xae"
             "b",
             "a\\u202eb"),
        CASE("\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"),
        CASE("\xc2\x9b"
             "2J",
             "\\u009b2J"),
        CASE("\xe2\x80\xa8", "\\u2028"),
        CASE("\x80", LOST),
    };
    check_escapes(dw_out_printable, cases, COUNT_OF(cases));
}

static void test_width_is_what_is_printed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {{"", 0}, {"abc", 3}, {"\xc3\xa9", 1}, {"\n", 2}, {"\x1b", 4}, {"\xff\xff", 2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(dw_text_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
}

static void test_no_bytes_may_be_null(void **state)
{
    (void)state;
    static const struct escape quoted = {NULL, 0, "\"\""}, empty = {NULL, 0, ""};
    check_escapes(dw_out_json_string, &quoted, 1);
    check_escapes(dw_out_csv_field, &empty, 1);
    check_escapes(dw_out_printable, &empty, 1);
    check_escapes(dw_out_xml, &empty, 1);
    assert_int_equal(dw_text_width(NULL, 0), 0);
}

static void test_numbers(void **state)
{
    (void)state;
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_out_u64(&out, UINT64_MAX);
    dw_out_char(&out, ' ');
    dw_out_i64(&out, INT64_MIN);
    dw_out_char(&out, ' ');
    dw_out_decimal(&out, 1234007, 3);
    dw_out_char(&out, ' ');
    dw_out_decimal(&out, 5, 3);
    dw_out_char(&out, '\0');
    assert_string_equal((char *)out.buffer.data,
                        "18446744073709551615 -9223372036854775808 1234.007 0.005");
    dw_out_close(&out);
}

/* Also where a decimal is in the middle between two. */
static void test_fixed_is_what_printf_says(void **state)
{
    (void)state;
    static const double odd[] = {0, 0.5, 1.5, 2.5, 0.125, 0.375, 0.005, 1e9, 1e300, -1, 99.995};
    uint64_t random = 1;
    for (uint32_t i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double value = i < COUNT_OF(odd) ? odd[i] : (double)(random >> 34) / 16384.0;
        unsigned decimals = i % 5;
        char wanted[512];
        struct dw_out out;
        dw_out_init_memory(&out);
        dw_out_fixed(&out, value, decimals);
        dw_out_char(&out, '\0');
        snprintf(wanted, sizeof wanted, "%.*f", (int)decimals, value);
        assert_string_equal((char *)out.buffer.data, wanted);
        dw_out_close(&out);
    }
}

static void test_full_disk_is_told_once(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0)
        skip();
    struct dw_out out;
    dw_out_init_fd(&out, fd);
    dw_out_repeat(&out, 'x', 1000000);
    errno = 0;
    assert_int_equal(dw_out_close(&out), DW_ERR_IO);
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

static void test_output_is_limited(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_WRONLY);
    struct dw_out out;
    dw_out_init_fd(&out, fd);
    dw_out_limit(&out, 1000000);
    dw_out_repeat(&out, 'x', 1000000);
    assert_int_equal(dw_out_close(&out), 0);
    dw_out_init_fd(&out, fd);
    dw_out_limit(&out, 1000000);
    dw_out_repeat(&out, 'x', 1000001);
    assert_int_equal(dw_out_close(&out), DW_ERR_OUTPUT);
    close(fd);
}

static void test_bytes_arrive_in_order(void **state)
{
    (void)state;
    char path[] = "/tmp/dwell-test-out-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    struct dw_out out;
    dw_out_init_fd(&out, fd);
    for (uint64_t i = 0; i < 200000; i++)
        dw_out_u64(&out, i % 10);
    assert_int_equal(dw_out_close(&out), 0);
    static char bytes[200001];
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 200000);
    for (size_t i = 0; i < 200000; i++)
        assert_int_equal(bytes[i], '0' + (int)(i % 10));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_csv_fields),
        cmocka_unit_test(test_printable_is_one_line),
        cmocka_unit_test(test_width_is_what_is_printed),
        cmocka_unit_test(test_no_bytes_may_be_null),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_fixed_is_what_printf_says),
        cmocka_unit_test(test_full_disk_is_told_once),
        cmocka_unit_test(test_output_is_limited),
        cmocka_unit_test(test_bytes_arrive_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
