/* SPDX-License-Identifier: MIT
 * Where functions end, for sources of all kinds; tests/python compares with inspect. */
#include "check.h"

#include "lens/view/source_lines.h"

#include <string.h>

static uint32_t block_end(const char *text, uint32_t first)
{
    struct dw_source_lines source;
    struct dw_string string = {text, strlen(text)};
    assert_int_equal(dw_source_lines_init(&source, string), 0);
    uint32_t end = dw_source_block_end(&source, first);
    dw_source_lines_release(&source);
    return end;
}

static void test_block_ends(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t first, end;
    } cases[] = {
        {"def f():\n    return 1\nx = 1\n", 1, 2},
        {"def f(): return 1\nx = 1\n", 1, 1},
        {"def f():\n\n    x = 1\n\n\n    return x\n\n\n# about g\ndef g():\n    pass\n", 1, 6},
        {"def f():\n    return 1\n    # inside\n# outside\n", 1, 3},
        {"def f(\n    a,\n    b,\n) -> int:\n    return a\nx = 1\n", 1, 5},
        {"def f():\n    '''\nnot the end\n    '''\n    return 1\nx = 1\n", 1, 5},
        {"def f():\n    s = '''a\\'''\ndef g():\n'''\n    return s\nx = 1\n", 1, 5},
        {"def f():\n    x = [  # ] not closed\n1,\n]\n    return x\nx = 1\n", 1, 5},
        {"def f():\n    x = 1 + \\\n2\n    return x\nx = 1\n", 1, 4},
        {"def f():\n    x = 'a\\\nb'\n    return x\nx = 1\n", 1, 4},
        {"def f():\n    x = \"(\" + '[' + r'\\'\n    return x\nx = 1\n", 1, 3},
        {"@a\n@b(1,\n   2)\n# why\ndef f():\n    return 1\nx = 1\n", 1, 6},
        {"class A:\n    def f(self):\n        if self:\n            pass\n        return 1\n\n"
         "    def g(self):\n        pass\n",
         2, 5},
        {"async def f():\n\tawait g()\n\treturn 1\nx = 1\n", 1, 3},
        {"def f():\r\n    x = 1\r\n\r\n    return x\r\nx = 1\r\n", 1, 4},
        {"def f():\r    return 1\rx = 1\r", 1, 2},
        {"def f():\n    return 1", 1, 2},
        {"x = (\n    lambda: 1,\n)\n", 2, 2},
        {"x = 1\ny = 2\n", 1, 1},
        {"x = f\"{d[\"(\"]}\"\ndef f():\n    return 1\n\n# g\ndef g():\n    return 2\n", 2, 3},
        {"@a\n", 1, 1},
        {"def f():\n    '''never closed\n    return 1\n", 1, 3},
        {"", 1, 1},
        {"x\n", 7, 7},
        {"x\n", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (block_end(cases[i].text, cases[i].first) != cases[i].end)
            fail_msg("%s\nends at %u, not %u", cases[i].text,
                     block_end(cases[i].text, cases[i].first), cases[i].end);
}

static void test_text_of_lines(void **state)
{
    (void)state;
    struct dw_source_lines source;
    struct dw_string text = {"a\r\n\n  b\\\rc", 10};
    assert_int_equal(dw_source_lines_init(&source, text), 0);
    assert_int_equal(source.count, 4);
    static const char *const expected[] = {"a", "", "  b\\", "c"};
    for (uint32_t i = 0; i < 4; i++) {
        struct dw_string line = dw_source_line_text(&source, i + 1);
        assert_int_equal(line.size, strlen(expected[i]));
        assert_memory_equal(line.bytes, expected[i], line.size);
    }
    assert_null(dw_source_line_text(&source, 0).bytes);
    assert_null(dw_source_line_text(&source, 5).bytes);
    dw_source_lines_release(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_ends),
        cmocka_unit_test(test_text_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
