/* SPDX-License-Identifier: MIT
 * The list of mapped objects, as the dynamic linker has it and as the kernel has it. */
#define _GNU_SOURCE
#include "check.h"

#include "base/error.h"
#include "native/elf/memory.h"
#include "native/elf/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t address_of(const char *symbol)
{
    void *address = dlsym(RTLD_DEFAULT, symbol);
    assert_non_null(address);
    return (uint64_t)(uintptr_t)address;
}

static void assert_same(const struct dw_native_module *a, const struct dw_native_module *b)
{
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->file_offset, b->file_offset);
    assert_int_equal(a->bias, b->bias);
    assert_int_equal(a->hdr, b->hdr);
    assert_int_equal(a->hdr_size, b->hdr_size);
    assert_int_equal(a->info_start, b->info_start);
    assert_int_equal(a->info_end, b->info_end);
    assert_string_equal(a->path, b->path);
    assert_int_equal(a->build_id_size, b->build_id_size);
    assert_memory_equal(a->build_id, b->build_id, sizeof a->build_id);
}

/* Brings the linker's list up to date and compares it with the kernel's. */
static void check_own(struct dw_native_modules *own)
{
    struct dw_native_modules by_maps, before = *own;
    assert_int_equal(dw_native_modules_own(&before, own), 0);
    dw_native_modules_release(&before);
    assert_int_equal(dw_native_modules_of(getpid(), &dw_memory_own_checked, &by_maps), 0);
    assert_int_equal(own->count, by_maps.count);
    for (uint32_t i = 0; i < own->count; i++) {
        assert_same(&own->modules[i], &by_maps.modules[i]);
        assert_true(!i || own->modules[i - 1].end <= own->modules[i].start);
    }
    dw_native_modules_release(&by_maps);
}

static void test_linker_and_kernel_agree(void **state)
{
    (void)state;
    struct dw_native_modules own = {0};
    check_own(&own);
    uint32_t count = own.count;
    for (int round = 0; round < 3; round++) {
        void *plugin = dlopen(UNWIND_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(plugin);
        check_own(&own);
        assert_int_equal(own.count, count + 1);
        check_own(&own);
        dlclose(plugin);
        check_own(&own);
        assert_int_equal(own.count, count);
    }
    dw_native_modules_release(&own);
}

static void test_objects_are_found_by_address(void **state)
{
    (void)state;
    struct dw_native_modules own = {0};
    char program[PATH_MAX] = "";
    assert_int_equal(dw_native_modules_own(&(struct dw_native_modules){0}, &own), 0);
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    const struct dw_native_module *module =
        dw_native_modules_find(&own, (uint64_t)(uintptr_t)assert_same);
    assert_non_null(module);
    assert_string_equal(module->path, program);
    assert_true(module->hdr > module->info_start && module->hdr < module->info_end);
    module = dw_native_modules_find(&own, address_of("qsort_r"));
    assert_non_null(module);
    assert_int_equal(module->build_id_size, 20);
    for (uint32_t i = 0; i < own.count; i++) {
        module = &own.modules[i];
        assert_ptr_equal(dw_native_modules_find(&own, module->start), module);
        assert_ptr_equal(dw_native_modules_find(&own, module->end - 1), module);
        assert_true(dw_native_modules_find(&own, module->end) != module);
    }
    assert_null(dw_native_modules_find(&own, 0));
    assert_null(dw_native_modules_find(&own, UINT64_MAX));
    dw_native_modules_release(&own);
}

static void test_object_of_the_kernel_is_there(void **state)
{
    (void)state;
    struct dw_native_modules own = {0};
    uint32_t count = 0;
    assert_int_equal(dw_native_modules_own(&(struct dw_native_modules){0}, &own), 0);
    for (uint32_t i = 0; i < own.count; i++) {
        if (strcmp(own.modules[i].path, "[vdso]") != 0)
            continue;
        count++;
        assert_true(own.modules[i].hdr_size > 0);
    }
    assert_int_equal(count, 1);
    dw_native_modules_release(&own);
}

static void copy_file(const char *from, const char *to)
{
    struct stat status;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(in >= 0 && out >= 0 && !fstat(in, &status));
    assert_int_equal(sendfile(out, in, NULL, (size_t)status.st_size), status.st_size);
    close(in);
    close(out);
}

/* As when a library is rebuilt under a running program. */
static void test_object_without_a_file_keeps_its_name_and_tables(void **state)
{
    (void)state;
    char directory[] = "/tmp/dwell-modules-XXXXXX", path[64];
    struct dw_native_modules by_maps;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/plugin.so", directory);
    copy_file(UNWIND_PLUGIN, path);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(plugin);
    unlink(path);
    rmdir(directory);
    assert_int_equal(dw_native_modules_of(getpid(), &dw_memory_own_checked, &by_maps), 0);
    uint64_t address = (uint64_t)(uintptr_t)dlsym(plugin, "dw_chain_sort");
    const struct dw_native_module *module = dw_native_modules_find(&by_maps, address);
    assert_non_null(module);
    assert_string_equal(module->path, path);
    assert_true(module->hdr_size > 0);
    assert_int_equal(module->build_id_size, 20);
    dw_native_modules_release(&by_maps);
    dlclose(plugin);
}

static bool read_nothing(void *context, uint64_t address, void *to, size_t size)
{
    (void)context, (void)address, (void)to, (void)size;
    return false;
}

static bool read_noise(void *context, uint64_t address, void *to, size_t size)
{
    (void)context;
    if (address % 4096 == 0)
        return dw_memory_own_checked.read(NULL, address, to, size);
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)(address * 7 + i * 13);
    return true;
}

static void test_memory_that_cannot_be_read_costs_the_tables_only(void **state)
{
    (void)state;
    struct dw_native_modules by_maps;
    struct dw_memory nothing = {read_nothing, NULL}, noise = {read_noise, NULL};
    assert_int_equal(dw_native_modules_of(getpid(), &nothing, &by_maps), 0);
    assert_true(by_maps.count > 2);
    for (uint32_t i = 0; i < by_maps.count; i++)
        assert_int_equal(by_maps.modules[i].hdr, 0);
    dw_native_modules_release(&by_maps);
    assert_int_equal(dw_native_modules_of(getpid(), &noise, &by_maps), 0);
    dw_native_modules_release(&by_maps);
}

static void test_process_that_is_gone(void **state)
{
    (void)state;
    struct dw_native_modules by_maps = {0};
    pid_t child = fork();
    if (!child)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(dw_native_modules_of(child, &dw_memory_own_checked, &by_maps), DW_ERR_ENDED);
    assert_null(by_maps.modules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linker_and_kernel_agree),
        cmocka_unit_test(test_objects_are_found_by_address),
        cmocka_unit_test(test_object_of_the_kernel_is_there),
        cmocka_unit_test(test_object_without_a_file_keeps_its_name_and_tables),
        cmocka_unit_test(test_memory_that_cannot_be_read_costs_the_tables_only),
        cmocka_unit_test(test_process_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
