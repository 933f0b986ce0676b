/* SPDX-License-Identifier: MIT */
#include "probe/memory/block_shadow.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define BASE ((uintptr_t)0x7f0000000000)
#define GRAINS 64u
#define ROUNDS 200000u

static void put_alone(uintptr_t block, uint32_t site, uint64_t size)
{
    struct dw_shadowed stale;
    assert_true(dw_shadow_put(block, site, size, &stale));
    assert_int_equal(stale.site, 0);
}

static void expect_taken(uintptr_t block, uint32_t site, uint64_t size)
{
    struct dw_shadowed found = dw_shadow_take(block);
    assert_int_equal(found.site, site);
    assert_int_equal(found.size, size);
}

static void test_sizes_are_kept(void **state)
{
    (void)state;
    const uint64_t sizes[] = {
        0, 1, 16, 17, 100, 1u << 20, (1u << 27) - 1, 1u << 27, UINT32_MAX, UINT64_C(5) << 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put_alone(BASE, (uint32_t)i + 1, sizes[i]);
        assert_int_equal(dw_shadow_site(BASE), i + 1);
        assert_int_equal(dw_shadow_site(BASE + 16), 0);
        assert_int_equal(dw_shadow_take(BASE + 16).site, 0);
        expect_taken(BASE, (uint32_t)i + 1, sizes[i]);
        expect_taken(BASE, 0, 0);
    }
    dw_shadow_clear();
}

/* At the end of a leaf a size has words that are nobody else's. */
static void test_sizes_are_kept_at_the_end_of_a_leaf(void **state)
{
    (void)state;
    uintptr_t next = BASE + ((uintptr_t)1 << (DW_SHADOW_GRAIN + DW_SHADOW_LEAF));
    put_alone(next - 16, 3, 4000);
    put_alone(next, 4, 8);
    expect_taken(next, 4, 8);
    expect_taken(next - 16, 3, 4000);
}

/* What was known in a piece of memory by its grains: the block that begins there, its site and
 * size. */
struct known {
    uint32_t site;
    uint64_t size;
};

static uint32_t grains_of(uint64_t size)
{
    return size ? (uint32_t)((size + 15) / 16) : 1;
}

static bool overlaps(uint32_t a, uint64_t a_size, uint32_t b, uint64_t b_size)
{
    return a < b + grains_of(b_size) && b < a + grains_of(a_size);
}

/* Removes the block that was in the way, which has to be one that is known and is in the way. */
static void remove_stale(struct known *known, const struct dw_shadowed *stale, uint32_t at,
                         uint64_t size)
{
    for (uint32_t i = 0; i < GRAINS; i++)
        if (known[i].site == stale->site) {
            assert_int_equal(known[i].size, stale->size);
            assert_true(overlaps(i, stale->size, at, size));
            known[i].site = 0;
            return;
        }
    fail_msg("a block that is not there was removed");
}

/* Blocks are put over others that were given back without a word, and some are taken. Each that
 * was put is removed once at most, with its own size. */
static void test_blocks_that_are_in_the_way_go_as_they_came(void **state)
{
    (void)state;
    struct known known[GRAINS] = {0};
    uint32_t sites = 0;
    srand(1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t at = (uint32_t)rand() % GRAINS;
        uint64_t size = (uint64_t)rand() % (rand() % 2 ? 24 : 400);
        if (rand() % 3 == 0) {
            expect_taken(BASE + at * 16, known[at].site, known[at].site ? known[at].size : 0);
            known[at].site = 0;
            continue;
        }
        struct dw_shadowed stale;
        uint32_t site = ++sites;
        while (assert_true(dw_shadow_put(BASE + at * 16, site, size, &stale)), stale.site)
            remove_stale(known, &stale, at, size);
        assert_int_equal(known[at].site, 0);
        known[at] = (struct known){site, size};
    }
    for (uint32_t i = 0; i < GRAINS; i++)
        expect_taken(BASE + i * 16, known[i].site, known[i].site ? known[i].size : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_kept),
        cmocka_unit_test(test_sizes_are_kept_at_the_end_of_a_leaf),
        cmocka_unit_test(test_blocks_that_are_in_the_way_go_as_they_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
