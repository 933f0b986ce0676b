/* SPDX-License-Identifier: MIT
 * Profiles of other tools, as the tests of their readers want them. */
#ifndef DW_TESTS_FIXTURE_IMPORT_H
#define DW_TESTS_FIXTURE_IMPORT_H

#include "check.h"
#include "fixture.h"
#include "import/import.h"

#define NOW_NS UINT64_C(1700000000000000000)

/* Must be good; it is prepared. */
static inline struct dw_profile *fixture_import(const void *bytes, size_t size)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_import(bytes, size, "x.prof", NOW_NS, profile), 0);
    fixture_prepare(profile);
    return profile;
}

#endif
