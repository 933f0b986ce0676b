/* SPDX-License-Identifier: MIT
 * Reading a process, this one, and the tables that processes state about themselves. */
#include "check.h"

#include "attach/python/python_offsets.h"
#include "attach/python/python_runtime.h"
#include "attach/python/stack.h"
#include "attach/target/target.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void test_lines_of_maps(void **state)
{
    (void)state;
    struct dw_mapping mapping;
    assert_true(
        dw_mapping_parse("7f00-8000 rw-p 00001000 fe:00 326591    /a b/libpython.so\n", &mapping));
    assert_int_equal(mapping.start, 0x7f00);
    assert_int_equal(mapping.end, 0x8000);
    assert_int_equal(mapping.file_offset, 0x1000);
    assert_true(mapping.writable);
    assert_string_equal(mapping.path, "/a b/libpython.so");
    free(mapping.path);
    assert_true(dw_mapping_parse("10-20 r--p 00000000 00:00 0 \n", &mapping));
    assert_string_equal(mapping.path, "");
    assert_false(mapping.writable);
    free(mapping.path);
    static const char *const bad[] = {"", "\n", "x-y", "20-10 r--p 0 00:00 0 /a", "10-20 r--p"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(dw_mapping_parse(bad[i], &mapping));
}

static void test_versions_in_names(void **state)
{
    (void)state;
    assert_int_equal(dw_python_version_in("/usr/lib/libpython3.12.so.1.0"), 0x030c0000);
    assert_int_equal(dw_python_version_in("/usr/bin/python2.7"), 0x02070000);
    assert_int_equal(dw_python_version_in("/opt/python/bin/python3.9"), 0x03090000);
    assert_int_equal(dw_python_version_in("/usr/bin/python3"), 0);
    assert_int_equal(dw_python_version_in("python3."), 0);
    assert_int_equal(dw_python_version_in("/bin/sleep"), 0);
}

static void test_reads_stop_where_memory_does(void **state)
{
    (void)state;
    struct dw_target target;
    assert_int_equal(dw_target_open(getpid(), &target), 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 7, page);
    assert_int_equal(munmap(memory + page, page), 0);
    uint8_t *copy = malloc(2 * page);
    uint64_t at = (uint64_t)(uintptr_t)memory, word = 1;
    assert_int_equal(dw_target_read(&target, at, copy, page), 0);
    assert_int_equal(dw_target_read(&target, at, copy, 2 * page), DW_ERR_UNREADABLE);
    assert_int_equal(dw_target_read_most(&target, at + 100, copy, 2 * page), page - 100);
    assert_int_equal(copy[page - 101], 7);
    assert_int_equal(dw_target_read_u64(&target, 0, &word), DW_ERR_UNREADABLE);
    assert_int_equal(word, 1);
    assert_true(dw_target_is_alive(&target));
    free(copy);
    munmap(memory, page);
    dw_target_release(&target);
}

/* Frames as 3.12 has them, in memory of this process. */
struct frame {
    uint64_t code, previous, unused[5], instruction;
    uint8_t padding[6], owner, more;
    uint64_t local;
};

struct thread {
    uint64_t cframe, words[64];
};

static void read_chain(struct frame *innermost, uint32_t capacity, struct dw_raw_stack *stack)
{
    struct dw_target target;
    struct dw_python python = {.target = &target};
    struct dw_stack_reader *reader = malloc(sizeof *reader);
    uint64_t cframe = (uint64_t)(uintptr_t)innermost;
    struct thread thread = {.words = {0}};
    assert_non_null(reader);
    assert_int_equal(dw_target_open(getpid(), &target), 0);
    assert_int_equal(dw_py_offsets_init(12, NULL, &python.offsets), 0);
    memcpy((char *)&thread + python.offsets.thread_frame, &(uint64_t){(uint64_t)(uintptr_t)&cframe},
           8);
    assert_int_equal(dw_stack_reader_init(reader, &python, capacity), 0);
    assert_int_equal(dw_raw_stack_init(stack, capacity), 0);
    dw_stack_read(reader, (uint64_t)(uintptr_t)&thread, stack);
    dw_stack_reader_release(reader);
    free(reader);
    dw_target_release(&target);
}

static struct frame *make_chain(size_t count)
{
    struct frame *frames = calloc(count, sizeof *frames);
    assert_non_null(frames);
    for (size_t i = 0; i < count; i++) {
        frames[i].code = 0x1000 + 16 * i;
        frames[i].previous = i ? (uint64_t)(uintptr_t)&frames[i - 1] : 0;
    }
    return frames;
}

static void test_chain_is_read_to_its_end(void **state)
{
    (void)state;
    struct dw_raw_stack stack;
    struct frame *frames = make_chain(3000);
    frames[1500].owner = 3; /* the interpreter's own */
    read_chain(&frames[2999], 4000, &stack);
    assert_int_equal(stack.state, DW_STACK_WHOLE);
    assert_int_equal(stack.count, 2999);
    assert_int_equal(stack.frames[0].code, frames[2999].code);
    assert_int_equal(stack.frames[2998].code, frames[0].code);
    dw_raw_stack_release(&stack);
    read_chain(&frames[2999], 100, &stack);
    assert_int_equal(stack.state, DW_STACK_CUT);
    assert_int_equal(stack.count, 100);
    dw_raw_stack_release(&stack);
    free(frames);
}

static void test_chains_that_cannot_be_are_broken(void **state)
{
    (void)state;
    struct dw_raw_stack stack;
    static const uint64_t nowhere[] = {8, 0x123456789abcdef0, UINT64_MAX, UINT64_MAX - 7, 12345};
    for (size_t i = 0; i < COUNT_OF(nowhere); i++) {
        struct frame *frames = make_chain(10);
        frames[4].previous = nowhere[i];
        read_chain(&frames[9], 100, &stack);
        assert_int_equal(stack.state, DW_STACK_BROKEN);
        dw_raw_stack_release(&stack);
        free(frames);
    }
    for (size_t back = 0; back < 1000; back += 111) {
        struct frame *frames = make_chain(1000);
        frames[0].previous = (uint64_t)(uintptr_t)&frames[back];
        read_chain(&frames[999], 1u << 20, &stack);
        assert_int_equal(stack.state, DW_STACK_BROKEN);
        assert_true(stack.count < 5000);
        dw_raw_stack_release(&stack);
        free(frames);
    }
}

static void test_stated_offsets_are_checked(void **state)
{
    (void)state;
    uint8_t table[DW_PY_DEBUG_MAX_BYTES] = {0};
    struct dw_py_offsets offsets;
    bool free_threaded;
    assert_int_equal(dw_py_offsets_init(10, table, &offsets), DW_ERR_PYTHON_VERSION);
    assert_int_equal(dw_py_offsets_init(16, table, &offsets), DW_ERR_PYTHON_VERSION);
    for (unsigned minor = 13; minor <= 15; minor++) {
        assert_int_equal(dw_py_offsets_init(minor, table, &offsets), DW_ERR_DAMAGED);
        memset(table, 0xff, sizeof table);
        assert_int_equal(dw_py_offsets_init(minor, table, &offsets), DW_ERR_DAMAGED);
        memset(table, 0, sizeof table);
    }
    assert_int_equal(dw_py_debug_version(table, &free_threaded), 0);
    memcpy(table, "xdebugpy\xf0\0\x0d\x03\0\0\0\0\1", 17);
    assert_int_equal(dw_py_debug_version(table, &free_threaded), 0x030d00f0);
    assert_true(free_threaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_maps),
        cmocka_unit_test(test_versions_in_names),
        cmocka_unit_test(test_reads_stop_where_memory_does),
        cmocka_unit_test(test_chain_is_read_to_its_end),
        cmocka_unit_test(test_chains_that_cannot_be_are_broken),
        cmocka_unit_test(test_stated_offsets_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
