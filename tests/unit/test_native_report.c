/* SPDX-License-Identifier: MIT
 * The dwell command on a recording of native samples: names, lines, inlined functions, and a
 * library that was built again meanwhile. The command is the first argument. */
#define _GNU_SOURCE
#include "check.h"
#include "objects.h"

#include "native/elf/elf_file.h"
#include "record/samples.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dwell;

static const char source[] = "namespace shape {\n"
                             "template <class T> static inline T twice(T n)\n"
                             "{\n"
                             "    volatile T v = n;\n" /* 4 */
                             "    return v + v;\n"
                             "}\n"
                             "int fill(int n)\n" /* 7 */
                             "{\n"
                             "    return twice(n) + 1;\n" /* 9 */
                             "}\n"
                             "}\n";

static void build(const char *more)
{
    write_file("shape.cc", source, strlen(source));
    write_file("more.cc", more, strlen(more));
    run("$CXX -shared -fPIC -g -O2 more.cc shape.cc -o libshape.so");
}

static uint64_t address_of(const char *symbol)
{
    unsigned long address = 0;
    FILE *pipe = read_from("nm libshape.so | awk '$3 == \"%s\" { print $1 }'", symbol);
    assert_int_equal(fscanf(pipe, "%lx", &address), 1);
    pclose(pipe);
    return address;
}

static void describe_module(struct dw_ledger *log, struct dw_module *module, uint32_t *id)
{
    char path[PATH_MAX];
    struct dw_elf elf;
    assert_non_null(realpath("libshape.so", path));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(dw_elf_open(fd, &elf), 0);
    close(fd);
    *module = (struct dw_module){.build_id_size = elf.build_id_size};
    memcpy(module->build_id, elf.build_id, elf.build_id_size);
    assert_true(elf.build_id_size > 0);
    assert_int_equal(dw_ledger_string(log, path, strlen(path), &module->path), 0);
    assert_int_equal(dw_ledger_module(log, module, id), 0);
    dw_elf_release(&elf);
}

/* Ten milliseconds in each instruction of shape::fill. */
static void record(const char *path)
{
    static const char name[] = "_ZN5shape4fillEi";
    struct dw_ledger *log;
    struct dw_module module;
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE};
    struct dw_place place = {0};
    uint32_t thread;
    assert_int_equal(dw_ledger_open(&(struct dw_ledger_options){.path = path}, &log), 0);
    describe_module(log, &module, &place.module);
    frame.file = module.path;
    assert_int_equal(dw_ledger_string(log, name, strlen(name), &frame.name), 0);
    assert_int_equal(dw_ledger_frame(log, &frame, &place.frame), 0);
    assert_int_equal(dw_ledger_thread(log, 1, 1, &thread), 0);
    FILE *pipe = read_from("objdump -d --no-show-raw-insn --disassemble=%s libshape.so | "
                           "sed -nE 's/^ +([0-9a-f]+):.*/\\1/p'",
                           name);
    for (unsigned long address; fscanf(pipe, "%lx", &address) == 1;) {
        dw_place_id id;
        dw_path_id stack;
        place.address = address;
        assert_int_equal(dw_ledger_place(log, &place, &id), 0);
        assert_int_equal(dw_ledger_path(log, DW_PATH_ROOT, id, &stack), 0);
        assert_int_equal(dw_samples_add(log, thread, stack, DW_SAMPLE_NATIVE, DW_LABELS_NONE,
                                        1000000000, 10000000),
                         0);
    }
    pclose(pipe);
    assert_int_equal(dw_ledger_flush_end(log, dw_samples_collect, NULL), 0);
    dw_ledger_release(log);
}

/* What the command prints, with its complaints at the end. */
static const char *output_of(const char *arguments)
{
    static char text[1 << 18];
    FILE *pipe = read_from("{ %s %s; } 2>complaints; cat complaints", dwell, arguments);
    size_t size = fread(text, 1, sizeof text - 1, pipe);
    text[size] = 0;
    assert_int_equal(pclose(pipe), 0);
    return text;
}

static void expect(const char *arguments, const char *word)
{
    const char *text = output_of(arguments);
    if (!strstr(text, word))
        fail_msg("dwell %s has no %s:\n%s", arguments, word, text);
}

static void expect_not(const char *arguments, const char *word)
{
    const char *text = output_of(arguments);
    if (strstr(text, word))
        fail_msg("dwell %s has %s:\n%s", arguments, word, text);
}

static void test_names(void **state)
{
    (void)state;
    build("");
    record("x.dwell");
    expect("export x.dwell --to collapsed", "shape::fill ");
    expect("export x.dwell --to collapsed --names full", "shape::fill(int) ");
    expect("export x.dwell --to collapsed --names raw", "_ZN5shape4fillEi ");
    expect_not("export x.dwell --to collapsed", "twice");
    run("! %s report x.dwell --names long 2>complaints", dwell);
    run("grep -qx \"dwell: --names is short, full or raw, not 'long'\" complaints");
}

static void test_lines_and_inlined_functions(void **state)
{
    (void)state;
    build("");
    record("x.dwell");
    expect("report x.dwell --by line", "shape.cc:4 (shape::twice)");
    expect("report x.dwell --by line", "shape.cc:9 (shape::fill)");
    expect("export x.dwell --to pprof | gunzip | strings", "shape::twice");
    expect("export x.dwell --to pprof | gunzip | strings", "shape.cc");
    expect_not("report x.dwell --by line", "has changed");
}

static void test_a_library_built_again_is_named_and_its_lines_left_out(void **state)
{
    (void)state;
    build("");
    record("x.dwell");
    uint64_t was = address_of("_ZN5shape4fillEi");
    build("int before(int n) { volatile int v = n; return v / 3; }\n");
    assert_int_not_equal(address_of("_ZN5shape4fillEi"), was);
    expect("export x.dwell --to pprof | gunzip | strings", "shape::fill");
    expect("export x.dwell --to pprof | gunzip | strings",
           "/libshape.so: has changed since it was recorded; "
           "its functions are shown without lines\n");
    expect_not("export x.dwell --to pprof | gunzip | strings", "twice");
    expect_not("export x.dwell --to pprof | gunzip | strings", "before");
    expect_not("export x.dwell --to pprof | gunzip | strings", "shape.cc");
    expect_not("export x.dwell --to collapsed", "has changed"); /* shows no lines anyway */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lines_and_inlined_functions),
        cmocka_unit_test(test_a_library_built_again_is_named_and_its_lines_left_out),
    };
    dwell = argc > 1 ? realpath(argv[1], NULL) : NULL;
    return dwell ? cmocka_run_group_tests(tests, objects_setup, objects_teardown) : 2;
}
