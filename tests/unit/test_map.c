/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/map.h"

/* Entries are numbers; the hash is chosen per test. */
static uint64_t bad_hash(const void *entries, uint32_t id)
{
    (void)entries, (void)id;
    return 42;
}

static uint64_t good_hash(const void *entries, uint32_t id)
{
    return dw_hash_mix(((const uint64_t *)entries)[id]);
}

static bool equal(const void *entries, uint32_t id, const void *key)
{
    return ((const uint64_t *)entries)[id] == *(const uint64_t *)key;
}

static void check_all(dw_map_hash *hash, uint32_t count)
{
    static uint64_t entries[5000];
    struct dw_map map = {0};
    uint64_t absent = 7;
    assert_int_equal(dw_map_find(&map, 0, equal, entries, &absent), DW_MAP_NONE);
    for (uint32_t i = 0; i < count; i++) {
        entries[i] = 1000 + i * 3ull;
        assert_int_equal(dw_map_add(&map, hash(entries, i), i, hash, entries), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(dw_map_find(&map, hash(entries, i), equal, entries, &entries[i]), i);
    assert_int_equal(dw_map_find(&map, hash(entries, 0), equal, entries, &absent), DW_MAP_NONE);
    assert_int_equal(map.count, count);
    dw_map_release(&map);
}

static void test_finds_what_was_added(void **state)
{
    (void)state;
    check_all(good_hash, 5000);
}

static void test_survives_equal_hashes(void **state)
{
    (void)state;
    check_all(bad_hash, 300);
}

static void test_hash_sees_every_byte(void **state)
{
    (void)state;
    uint8_t bytes[40] = {0};
    for (size_t size = 1; size <= sizeof bytes; size++) {
        uint64_t plain = dw_hash_bytes(bytes, size);
        assert_true(plain != dw_hash_bytes(bytes, size - 1));
        for (size_t i = 0; i < size; i++) {
            bytes[i] = 1;
            assert_true(dw_hash_bytes(bytes, size) != plain);
            bytes[i] = 0;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_was_added),
        cmocka_unit_test(test_survives_equal_hashes),
        cmocka_unit_test(test_hash_sees_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
