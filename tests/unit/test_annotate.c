/* SPDX-License-Identifier: MIT
 * Profiles with addresses in libraries built here: lines, inlined functions, names; and files
 * that are no longer those that ran. */
#define _GNU_SOURCE
#include "check.h"
#include "objects.h"

#include "native/debug/annotate.h"
#include "native/elf/elf_file.h"
#include "native/elf/symbols.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] = "static inline int inner(int n)\n" /* 1 */
                             "{\n"
                             "    volatile int v = n;\n" /* 3 */
                             "    return v * v;\n"
                             "}\n"
                             "static inline int middle(int n)\n"
                             "{\n"
                             "    return inner(n) + 1;\n" /* 8 */
                             "}\n"
                             "int outer(int n)\n" /* 10 */
                             "{\n"
                             "    return middle(n) * 3;\n" /* 12 */
                             "}\n"
                             "int alone(int n)\n" /* 14 */
                             "{\n"
                             "    volatile int v = n;\n"
                             "    return v;\n"
                             "}\n";

/* The functions the other way round, and one of them longer. */
static const char reordered[] = "int alone(int n)\n"
                                "{\n"
                                "    volatile int v = n;\n"
                                "    for (int i = 0; i < n; i++)\n"
                                "        v += i;\n"
                                "    return v;\n"
                                "}\n"
                                "int outer(int n)\n"
                                "{\n"
                                "    return alone(n) * 3;\n"
                                "}\n";

static void build(const char *text, const char *options)
{
    write_file("source.c", text, strlen(text));
    run("$CC -shared -fPIC -O2 %s source.c -o lib.so", options);
}

struct recording {
    struct dw_profile *profile;
    struct dw_symbols *symbols;
    uint32_t complaints;
    char module[PATH_MAX], reason[256];
};

static dw_string_id intern(struct dw_profile *profile, const char *text)
{
    dw_string_id id;
    assert_int_equal(dw_string_intern(&profile->strings, text, strlen(text), &id), 0);
    return id;
}

/* A profile whose only module is lib.so as it is now. */
static void record(struct recording *recording)
{
    char path[PATH_MAX];
    struct dw_elf elf;
    *recording = (struct recording){0};
    assert_int_equal(dw_profile_new(&recording->profile), 0);
    assert_non_null(realpath("lib.so", path));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(dw_elf_open(fd, &elf), 0);
    assert_int_equal(dw_symbols_open(fd, path, NULL, 0, &recording->symbols), 0);
    close(fd);
    struct dw_profile *profile = recording->profile;
    profile->modules = calloc(1, sizeof *profile->modules);
    profile->module_count = profile->module_capacity = 1;
    profile->modules[0] =
        (struct dw_module){.path = intern(profile, path), .build_id_size = elf.build_id_size};
    memcpy(profile->modules[0].build_id, elf.build_id, elf.build_id_size);
    profile->processes = calloc(1, sizeof *profile->processes);
    profile->process_count = profile->process_capacity = 1;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    profile->processes[0].first_clock.wall_ns =
        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    dw_elf_release(&elf);
}

static void forget(struct recording *recording)
{
    dw_profile_free(recording->profile);
    dw_symbols_close(recording->symbols);
}

/* A place as a sampler records it: the symbol's name, and the object as the file. */
static dw_place_id add_place(struct recording *recording, uint64_t address)
{
    struct dw_profile *profile = recording->profile;
    struct dw_symbol symbol = {.name = "[lib.so]"};
    dw_symbols_find(recording->symbols, address, &symbol);
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE,
                             .name = intern(profile, symbol.name),
                             .file = profile->modules[0].path};
    struct dw_place place = {.module = 1, .address = address};
    dw_place_id id;
    assert_int_equal(dw_frame_intern(&profile->frames, &frame, &place.frame), 0);
    assert_int_equal(dw_place_intern(&profile->places, &place, &id), 0);
    return id;
}

static uint64_t symbol_address(const char *name)
{
    unsigned long address = 0;
    FILE *pipe = read_from("nm lib.so | awk '$3 == \"%s\" { print $1 }'", name);
    assert_int_equal(fscanf(pipe, "%lx", &address), 1);
    pclose(pipe);
    return address;
}

/* The last instruction that belongs to the line, by objdump. */
static uint64_t line_address(uint32_t line)
{
    unsigned long address = 0;
    FILE *pipe = read_from("objdump -d -l --no-show-raw-insn lib.so | awk -F '[: ]+' "
                           "'/^\\// { line = $2 } /^ +[0-9a-f]+:/ && line == %u { last = $2 } "
                           "END { print last }'",
                           line);
    assert_int_equal(fscanf(pipe, "%lx", &address), 1);
    pclose(pipe);
    return address;
}

static void complain(void *context, const char *module, const char *reason)
{
    struct recording *recording = context;
    recording->complaints++;
    strcpy(recording->module, module);
    strcpy(recording->reason, reason);
}

static void annotate(struct recording *recording, bool lines, enum dw_demangle names)
{
    struct dw_annotate_options options = {
        .lines = lines, .names = names, .complain = complain, .context = recording};
    assert_int_equal(dw_annotate(recording->profile, &options), 0);
}

static const struct dw_place *expect(const struct recording *recording, dw_place_id id,
                                     const char *name, const char *file, uint32_t line,
                                     uint32_t first_line)
{
    const struct dw_profile *profile = recording->profile;
    const struct dw_place *place = &profile->places.places[id];
    const struct dw_frame *frame = &profile->frames.frames[place->frame];
    const char *path = dw_profile_string(profile, frame->file).bytes;
    const char *slash = strrchr(path, '/');
    assert_int_equal(frame->kind, DW_FRAME_NATIVE);
    assert_string_equal(dw_profile_string(profile, frame->name).bytes, name);
    assert_string_equal(slash ? slash + 1 : path, file);
    assert_int_equal(place->line, line);
    assert_int_equal(frame->line, first_line);
    assert_int_equal(place->module, 1);
    return place;
}

static void test_inlined_functions_are_outside_of_each_other(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "-g");
    record(&recording);
    dw_place_id inner = add_place(&recording, line_address(4));
    dw_place_id alone = add_place(&recording, symbol_address("alone"));
    uint64_t address = recording.profile->places.places[inner].address;
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    const struct dw_place *place = expect(&recording, inner, "inner", "source.c", 4, 1);
    assert_int_equal(place->address, address);
    place = expect(&recording, place->outer, "middle", "source.c", 8, 6);
    place = expect(&recording, place->outer, "outer", "source.c", 12, 10);
    assert_int_equal(place->address, address);
    assert_int_equal(place->outer, 0);
    place = expect(&recording, alone, "alone", "source.c",
                   recording.profile->places.places[alone].line, 14);
    assert_in_range(place->line, 15, 17);
    assert_int_equal(place->outer, 0);
    assert_int_equal(recording.complaints, 0);
    forget(&recording);
}

static void test_without_lines_only_names_change(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "-g");
    record(&recording);
    dw_place_id id = add_place(&recording, line_address(4));
    annotate(&recording, false, DW_DEMANGLE_SHORT);
    assert_int_equal(expect(&recording, id, "outer", "lib.so", 0, 0)->outer, 0);
    forget(&recording);
}

static void test_without_debug_information_the_file_is_the_object(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "");
    record(&recording);
    dw_place_id id = add_place(&recording, symbol_address("outer") + 3);
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    assert_int_equal(expect(&recording, id, "outer", "lib.so", 0, 0)->outer, 0);
    assert_int_equal(recording.complaints, 0);
    forget(&recording);
}

static void test_a_library_built_again_keeps_the_names_that_ran(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "-g");
    record(&recording);
    dw_place_id outer = add_place(&recording, line_address(4));
    dw_place_id alone = add_place(&recording, symbol_address("alone"));
    uint64_t was = symbol_address("alone");
    build(reordered, "-g");
    assert_int_not_equal(symbol_address("alone"), was);
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    assert_int_equal(expect(&recording, outer, "outer", "lib.so", 0, 0)->outer, 0);
    assert_int_equal(expect(&recording, alone, "alone", "lib.so", 0, 0)->outer, 0);
    assert_int_equal(recording.complaints, 1);
    assert_non_null(strstr(recording.module, "/lib.so"));
    assert_string_equal(recording.reason,
                        "has changed since it was recorded; its functions are shown without lines");
    forget(&recording);
}

static void test_a_library_without_build_id_is_judged_by_its_time(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "-g -Wl,--build-id=none");
    record(&recording);
    dw_place_id id = add_place(&recording, line_address(4));
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    expect(&recording, id, "inner", "source.c", 4, 1);
    assert_int_equal(recording.complaints, 1);
    assert_non_null(strstr(recording.reason, "has no build id; its lines are right only if"));
    forget(&recording);
    record(&recording);
    id = add_place(&recording, line_address(4));
    run("touch -d tomorrow lib.so");
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    expect(&recording, id, "outer", "lib.so", 0, 0);
    assert_non_null(strstr(recording.reason, "has changed since it was recorded"));
    forget(&recording);
}

static void test_a_library_that_is_gone_is_named(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "-g");
    record(&recording);
    dw_place_id id = add_place(&recording, line_address(4));
    run("rm lib.so");
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    expect(&recording, id, "outer", "lib.so", 0, 0);
    assert_int_equal(recording.complaints, 1);
    assert_string_equal(recording.reason,
                        "No such file or directory; its functions are shown without lines");
    forget(&recording);
}

static void test_debug_files_of_stripped_libraries_give_names_too(void **state)
{
    (void)state;
    struct recording recording;
    build("static __attribute__((noinline)) int hidden(int n) { return n * 5; }\n"
          "int (*choose(int n))(int) { return n ? hidden : 0; }\n",
          "-g -Wl,--build-id=0x11223344");
    uint64_t address = symbol_address("hidden");
    run("mkdir -p debug/.build-id/11 && objcopy --only-keep-debug lib.so "
        "debug/.build-id/11/223344.debug && strip lib.so");
    record(&recording);
    dw_place_id id = add_place(&recording, address);
    expect(&recording, id, "[lib.so]", "lib.so", 0, 0);
    setenv("DWELL_DEBUG_PATH", "/nowhere:debug", 1);
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    unsetenv("DWELL_DEBUG_PATH");
    expect(&recording, id, "hidden", "source.c", 1, 1);
    forget(&recording);
}

static void test_names_short_full_and_raw(void **state)
{
    (void)state;
    static const char *const expected[] = {[DW_DEMANGLE_SHORT] = "shape::fill",
                                           [DW_DEMANGLE_FULL] = "int shape::fill<int>(int)",
                                           [DW_DEMANGLE_NONE] = "_ZN5shape4fillIiEET_S1_"};
    static const char template[] =
        "namespace shape { template <class T> T fill(T n) { return n; } }"
        "\ntemplate int shape::fill<int>(int);\n";
    write_file("source.cc", template, strlen(template));
    run("$CXX -shared -fPIC -O2 source.cc -o lib.so");
    for (int i = 0; i < 3; i++) {
        struct recording recording;
        record(&recording);
        dw_place_id id = add_place(&recording, symbol_address(expected[DW_DEMANGLE_NONE]));
        annotate(&recording, true, (enum dw_demangle)i);
        expect(&recording, id, expected[i], "lib.so", 0, 0);
        forget(&recording);
    }
}

static void test_python_places_stay(void **state)
{
    (void)state;
    struct recording recording;
    build(source, "-g");
    record(&recording);
    struct dw_profile *profile = recording.profile;
    struct dw_frame frame = {
        .kind = DW_FRAME_FUNCTION, .line = 3, .name = intern(profile, "_ZN5shape4fillEi")};
    struct dw_place place = {.line = 5}, was;
    dw_place_id id;
    assert_int_equal(dw_frame_intern(&profile->frames, &frame, &place.frame), 0);
    assert_int_equal(dw_place_intern(&profile->places, &place, &id), 0);
    was = profile->places.places[id];
    annotate(&recording, true, DW_DEMANGLE_SHORT);
    assert_memory_equal(&was, &profile->places.places[id], sizeof was);
    forget(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inlined_functions_are_outside_of_each_other),
        cmocka_unit_test(test_without_lines_only_names_change),
        cmocka_unit_test(test_without_debug_information_the_file_is_the_object),
        cmocka_unit_test(test_a_library_built_again_keeps_the_names_that_ran),
        cmocka_unit_test(test_a_library_without_build_id_is_judged_by_its_time),
        cmocka_unit_test(test_a_library_that_is_gone_is_named),
        cmocka_unit_test(test_debug_files_of_stripped_libraries_give_names_too),
        cmocka_unit_test(test_names_short_full_and_raw),
        cmocka_unit_test(test_python_places_stay),
    };
    return cmocka_run_group_tests(tests, objects_setup, objects_teardown);
}
