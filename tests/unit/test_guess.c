/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/guess.h"

static const char *const words[] = {"run",  "report", "export", "diff", "function",
                                    "line", "module", "time",   "name"};

static const char *meant_by(const char *typed)
{
    struct dw_guess guess = {.typed = typed};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        dw_guess_try(&guess, words[i]);
    return guess.meant ? guess.meant : "nothing";
}

static void test_slips_of_the_hand(void **state)
{
    (void)state;
    assert_string_equal(meant_by("rnu"), "run");       /* swapped */
    assert_string_equal(meant_by("ru"), "run");        /* left out */
    assert_string_equal(meant_by("runn"), "run");      /* added */
    assert_string_equal(meant_by("repotr"), "report"); /* not "export" */
    assert_string_equal(meant_by("exprot"), "export");
    assert_string_equal(meant_by("lime"), "line"); /* as near as "time", which stands later */
    assert_string_equal(meant_by("functon"), "function");
}

static void test_a_beginning_is_enough(void **state)
{
    (void)state;
    assert_string_equal(meant_by("func"), "function");
    assert_string_equal(meant_by("mod"), "module");
}

static void test_other_words_mean_nothing(void **state)
{
    (void)state;
    assert_string_equal(meant_by(""), "nothing");
    assert_string_equal(meant_by("f"), "nothing");
    assert_string_equal(meant_by("stop"), "nothing");
    assert_string_equal(meant_by("a word that is longer than any in a list of words"), "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips_of_the_hand),
        cmocka_unit_test(test_a_beginning_is_enough),
        cmocka_unit_test(test_other_words_mean_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
