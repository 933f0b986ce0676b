/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "record/labels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dw_label_text label(const char *key, const char *value)
{
    return (struct dw_label_text){{key, strlen(key)}, {value, strlen(value)}};
}

static dw_labels_id extend(dw_labels_id parent, const char *key, const char *value)
{
    dw_labels_id id;
    struct dw_label_text one = label(key, value);
    assert_int_equal(dw_labels_extend(parent, &one, 1, &id), 0);
    return id;
}

static void check_label(dw_labels_id id, uint32_t at, const char *key, const char *value)
{
    const struct dw_labels *set = dw_labels_get(id);
    assert_true(id < dw_labels_count());
    assert_true(at < set->count);
    assert_string_equal(set->labels[at].key.bytes, key);
    assert_int_equal(set->labels[at].key.size, strlen(key));
    assert_string_equal(set->labels[at].value.bytes, value);
    assert_int_equal(set->labels[at].value.size, strlen(value));
}

static void test_the_empty_set_is_0(void **state)
{
    (void)state;
    dw_labels_id id = 7;
    assert_int_equal(dw_labels_extend(0, NULL, 0, &id), 0);
    assert_int_equal(id, 0);
    assert_int_equal(dw_labels_get(0)->count, 0);
}

static void test_equal_sets_have_one_id_however_they_were_made(void **state)
{
    (void)state;
    struct dw_label_text both[] = {label("b", "2"), label("a", "1")};
    dw_labels_id id;
    dw_labels_id ab = extend(extend(0, "a", "1"), "b", "2");
    assert_int_equal(ab, extend(extend(0, "b", "2"), "a", "1"));
    assert_int_equal(dw_labels_extend(0, both, 2, &id), 0);
    assert_int_equal(id, ab);
    assert_int_equal(extend(ab, "a", "1"), ab);
    assert_int_equal(dw_labels_get(ab)->count, 2);
    check_label(ab, 0, "a", "1");
    check_label(ab, 1, "b", "2");
}

static void test_the_later_value_of_a_key_wins(void **state)
{
    (void)state;
    struct dw_label_text twice[] = {label("k", "old"), label("k", "new")};
    dw_labels_id id;
    assert_int_equal(dw_labels_extend(extend(0, "k", "oldest"), twice, 2, &id), 0);
    assert_int_equal(dw_labels_get(id)->count, 1);
    check_label(id, 0, "k", "new");
    assert_int_not_equal(extend(0, "k", "n"), id);
    assert_int_not_equal(extend(0, "kn", "ew"), id);
}

static void test_texts_are_copied_and_may_hold_any_bytes(void **state)
{
    (void)state;
    char text[] = "v\0w";
    struct dw_label_text one = {{"bytes", 5}, {text, 3}};
    dw_labels_id id, other;
    assert_int_equal(dw_labels_extend(0, &one, 1, &id), 0);
    text[2] = 'x';
    assert_memory_equal(dw_labels_get(id)->labels[0].value.bytes, "v\0w", 4);
    assert_int_equal(dw_labels_extend(0, &one, 1, &other), 0);
    assert_int_not_equal(id, other);
}

static void test_long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    char long_text[DW_LABELS_BYTES_MAX + 100];
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text + DW_LABELS_BYTES_MAX - 1, "\xe2\x82\xac", 3);
    struct dw_label_text one = {{"long", 4}, {long_text, sizeof long_text}};
    dw_labels_id id;
    assert_int_equal(dw_labels_extend(0, &one, 1, &id), 0);
    assert_int_equal(dw_labels_get(id)->labels[0].value.size, DW_LABELS_BYTES_MAX - 1);
}

static void test_a_set_of_too_many_keys_says_so(void **state)
{
    (void)state;
    dw_labels_id id = 0;
    char key[16];
    for (unsigned i = 0; i < DW_LABELS_KEYS_MAX; i++) {
        snprintf(key, sizeof key, "key%u", i);
        id = extend(id, key, "");
        assert_int_equal(dw_labels_get(id)->count, i + 1);
    }
    assert_int_equal(dw_labels_get(extend(id, "key0", "again"))->count, DW_LABELS_KEYS_MAX);
    dw_labels_id more = extend(id, "one", "more");
    check_label(more, 0, "labels", "(more labels)");
    assert_int_equal(dw_labels_get(more)->count, 1);
}

#define THREADS 4
#define SETS 2000

static void *extend_many(void *ids)
{
    char value[16];
    for (unsigned i = 0; i < SETS; i++) {
        snprintf(value, sizeof value, "%u", i);
        struct dw_label_text one = label("thread", value);
        if (dw_labels_extend(0, &one, 1, &((dw_labels_id *)ids)[i]))
            return "out of memory";
        const struct dw_labels *set = dw_labels_get(dw_labels_count() - 1);
        if (!set || !set->count)
            return "a set that is not there";
    }
    return NULL;
}

static void test_threads_get_one_id_for_one_set(void **state)
{
    (void)state;
    static dw_labels_id ids[THREADS][SETS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, extend_many, ids[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
        assert_memory_equal(ids[i], ids[0], sizeof ids[i]);
    }
    check_label(ids[0][SETS - 1], 0, "thread", "1999");
}

static void test_a_forked_child_has_the_sets_and_makes_more(void **state)
{
    (void)state;
    dw_labels_id known = extend(0, "parent", "1");
    dw_labels_before_fork();
    pid_t child = fork();
    dw_labels_forked();
    if (child == 0)
        _exit(extend(0, "parent", "1") == known && extend(known, "child", "1") > known ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Last: the table is full then. */
static void test_a_full_table_has_one_set_for_the_rest(void **state)
{
    (void)state;
    dw_labels_id known = extend(0, "known", "1"), more = extend(0, "labels", "(more labels)");
    char value[16];
    for (unsigned i = 0; dw_labels_count() < DW_LABEL_SETS_MAX - 1; i++) {
        snprintf(value, sizeof value, "%u", i);
        extend(0, "full", value);
    }
    assert_int_equal(extend(0, "full", "not yet"), more);
    assert_int_equal(extend(more, "full", "still not"), more);
    assert_int_equal(extend(known, "full", "not either"), more);
    assert_int_equal(extend(0, "known", "1"), known);
    assert_int_equal(dw_labels_count(), DW_LABEL_SETS_MAX - 1);
    check_label(more, 0, "labels", "(more labels)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_empty_set_is_0),
        cmocka_unit_test(test_equal_sets_have_one_id_however_they_were_made),
        cmocka_unit_test(test_the_later_value_of_a_key_wins),
        cmocka_unit_test(test_texts_are_copied_and_may_hold_any_bytes),
        cmocka_unit_test(test_long_texts_are_cut_between_characters),
        cmocka_unit_test(test_a_set_of_too_many_keys_says_so),
        cmocka_unit_test(test_threads_get_one_id_for_one_set),
        cmocka_unit_test(test_a_forked_child_has_the_sets_and_makes_more),
        cmocka_unit_test(test_a_full_table_has_one_set_for_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
