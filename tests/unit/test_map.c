/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/intern.h"

#include <stdlib.h>

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
        assert_int_equal(dw_map_put(&map, hash(entries, i), i), 0);
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

/* Keys of eight bytes are one number, others are bytes. */
static void check_interning(size_t key_size)
{
    struct entry {
        uint32_t key[3], payload;
    } *entries = NULL;
    uint32_t count = 0, capacity = 0, id;
    struct dw_map index = {0};
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 300; i++) {
            struct entry entry = {{i % 10, i / 10, 0}, round};
            assert_int_equal(DW_INTERN(entries, count, capacity, index, key_size, &entry, &id), 0);
            assert_int_equal(id, i);
            assert_int_equal(entries[id].payload, 0);
        }
    assert_int_equal(count, 300);
    uint32_t known[3] = {7, 29, 0}, absent[3] = {10, 0, 0};
    assert_int_equal(DW_INTERN_FIND(entries, index, key_size, known), 297);
    assert_int_equal(DW_INTERN_FIND(entries, index, key_size, absent), DW_MAP_NONE);
    free(entries);
    dw_map_release(&index);
}

static void test_each_key_is_interned_once_with_its_first_entry(void **state)
{
    (void)state;
    check_interning(8);
    check_interning(12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_was_added),
        cmocka_unit_test(test_survives_equal_hashes),
        cmocka_unit_test(test_hash_sees_every_byte),
        cmocka_unit_test(test_each_key_is_interned_once_with_its_first_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
