/* SPDX-License-Identifier: MIT
 * Names of extension modules by the path of their file, with real packages on disk. */
#include "check.h"

#include "model/extension_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAG ".cpython-313-x86_64-linux-gnu.so"

static void check_name(const char *path, const char *expected)
{
    char name[DW_EXTENSION_NAME_MAX] = "";
    assert_int_equal(dw_extension_name(path, name), expected != NULL);
    assert_string_equal(name, expected ? expected : "");
    if (expected)
        assert_true(dw_extension_has_name(path, name));
}

static void test_directories_that_python_imports_from(void **state)
{
    (void)state;
    check_name("/venv/lib/python3.13/site-packages/pandas/_libs/lib" TAG, "pandas._libs.lib");
    check_name("/usr/lib/python3/dist-packages/_cffi_backend" TAG, "_cffi_backend");
    check_name("/usr/lib/python3.13/lib-dynload/_json" TAG, "_json");
    check_name("/a/site-packages/b/site-packages/c/d" TAG, "c.d");
    check_name("/v/site-packages/cryptography/_rust.abi3.so", "cryptography._rust");
}

static void test_libraries_keep_their_file(void **state)
{
    (void)state;
    check_name("/v/site-packages/numpy.libs/libopenblas.so", NULL);
    check_name("/usr/lib/libz.so.1", NULL);
    check_name("/v/site-packages/.cpython-313.so", NULL);
    check_name("[vdso]", NULL);
    check_name("", NULL);
    assert_false(dw_extension_has_name("/usr/lib/libz.so.1", "libz"));
    assert_false(dw_extension_has_name("/v/lib" TAG, "calib"));
}

static void make(const char *directory, const char *entry, bool is_package)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, entry);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/__init__.py", directory, entry);
    FILE *file = is_package ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}

/* project/outer and outer/inner are packages, project/plain is none. */
static void test_packages_elsewhere(void **state)
{
    (void)state;
    char root[] = "/tmp/dwell-extension-XXXXXX", path[512];
    assert_non_null(mkdtemp(root));
    make(root, "outer", true);
    make(root, "outer/inner", true);
    make(root, "plain", false);
    snprintf(path, sizeof path, "%s/outer/inner/fast" TAG, root);
    check_name(path, "outer.inner.fast");
    snprintf(path, sizeof path, "%s/plain/fast" TAG, root);
    check_name(path, "fast");
    snprintf(path, sizeof path, "rm -r %s", root);
    assert_int_equal(system(path), 0);
}

static void test_names_that_are_too_long(void **state)
{
    (void)state;
    char path[2 * DW_EXTENSION_NAME_MAX];
    int size = snprintf(path, sizeof path, "/v/site-packages/");
    memset(path + size, 'a', DW_EXTENSION_NAME_MAX);
    strcpy(path + size + DW_EXTENSION_NAME_MAX, ".abi3.so");
    check_name(path, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directories_that_python_imports_from),
        cmocka_unit_test(test_libraries_keep_their_file),
        cmocka_unit_test(test_packages_elsewhere),
        cmocka_unit_test(test_names_that_are_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
