/* SPDX-License-Identifier: MIT
 * Names by address, in libraries built here: whole, stripped, with their debug files beside
 * them, changed, and damaged. What nm says is the truth. */
#define _GNU_SOURCE
#include "check.h"
#include "objects.h"

#include "base/error.h"
#include "native/elf/debug_file.h"
#include "native/elf/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char source[] =
    "#include <stdlib.h>\n"
    "static __attribute__((noinline)) int hidden(int n) { return n * 3 + 1; }\n"
    "int visible(int n) { return hidden(n) + hidden(n + 1); }\n"
    "int __plain(int n) { return n - 7; }\n"
    "int plain(int n) __attribute__((weak, alias(\"__plain\")));\n"
    "static int one(int n) { return n + 1; }\n"
    "static int (*choose(void))(int) { return one; }\n"
    "int chosen(int n) __attribute__((ifunc(\"choose\")));\n"
    "void *grab(int n) { return malloc((size_t)n); }\n"
    "__asm__(\".text\\n.globl bare\\nbare: nop\\nnop\\nnop\\nret\\n\"\n"
    "        \".type typed, @function\\ntyped: nop\\nlabel: nop\\n.globl inner\\ninner: ret\\n\"\n"
    "        \".size typed, . - typed\\n\");\n";

static void build(const char *name, const char *options)
{
    write_file("source.c", source, strlen(source));
    run("$CC -shared -fPIC -O1 -Wl,-z,lazy -Wl,--build-id %s source.c -o %s", options, name);
}

static int open_symbols(const char *path, const uint8_t *id, size_t id_size,
                        struct dw_symbols **symbols)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    int error = dw_symbols_open(fd, path, id, id_size, symbols);
    close(fd);
    return error;
}

static struct dw_symbols *must_open(const char *path)
{
    struct dw_symbols *symbols;
    assert_int_equal(open_symbols(path, NULL, 0, &symbols), 0);
    return symbols;
}

/* The address by nm, 0 when it has none. */
static uint64_t nm_address(const char *path, const char *name)
{
    char line[256];
    uint64_t address = 0;
    FILE *pipe = read_from("nm %s | awk '$3 == \"%s\" { print $1 }'", path, name);
    if (fgets(line, sizeof line, pipe))
        address = strtoull(line, NULL, 16);
    assert_int_equal(pclose(pipe), 0);
    return address;
}

static void expect(struct dw_symbols *symbols, uint64_t address, const char *name)
{
    struct dw_symbol symbol;
    if (!name) {
        assert_false(dw_symbols_find(symbols, address, &symbol));
        return;
    }
    assert_true(dw_symbols_find(symbols, address, &symbol));
    assert_string_equal(symbol.name, name);
    assert_true(symbol.address <= address && address - symbol.address < symbol.size);
}

static void test_every_function_is_found_as_nm_has_it(void **state)
{
    (void)state;
    build("whole.so", "-g");
    struct dw_symbols *symbols = must_open("whole.so");
    FILE *pipe = read_from("nm -S --defined-only whole.so | awk '$3 ~ /^[tTwWi]$/ && NF == 4'");
    unsigned long start, size;
    char kind, name[128];
    int count = 0;
    for (; fscanf(pipe, "%lx %lx %c %127s", &start, &size, &kind, name) == 4; count++) {
        struct dw_symbol first, last;
        assert_true(dw_symbols_find(symbols, start, &first));
        assert_true(dw_symbols_find(symbols, start + size - 1, &last));
        assert_int_equal(first.address, start);
        assert_int_equal(last.address, start);
        assert_int_equal(first.size, size);
    }
    assert_int_equal(pclose(pipe), 0);
    assert_true(count >= 8);
    expect(symbols, nm_address("whole.so", "hidden") + 1, "hidden");
    expect(symbols, nm_address("whole.so", "choose"), "chosen");
    expect(symbols, 0, NULL);
    expect(symbols, UINT64_MAX, NULL);
    dw_symbols_close(symbols);
}

static void test_name_without_underscores_wins(void **state)
{
    (void)state;
    build("alias.so", "");
    struct dw_symbols *symbols = must_open("alias.so");
    expect(symbols, nm_address("alias.so", "__plain"), "plain");
    dw_symbols_close(symbols);
}

static void test_labels_of_assembler_code(void **state)
{
    (void)state;
    build("label.so", "");
    struct dw_symbols *symbols = must_open("label.so");
    uint64_t bare = nm_address("label.so", "bare");
    uint64_t typed = nm_address("label.so", "typed");
    expect(symbols, bare + 3, "bare");
    expect(symbols, typed, "typed");
    expect(symbols, nm_address("label.so", "label"), "typed");
    expect(symbols, nm_address("label.so", "inner"), "typed");
    dw_symbols_close(symbols);
}

static void check_stubs(const char *path)
{
    char line[256];
    unsigned long address;
    int count = 0;
    struct dw_symbols *symbols = must_open(path);
    FILE *pipe = read_from("objdump -d -j .plt -j .plt.sec %s 2>/dev/null | grep '@plt>:'", path);
    while (fscanf(pipe, "%lx %255s", &address, line) == 2) {
        line[strlen(line) - 2] = 0; /* <malloc@plt>: */
        expect(symbols, address + 6, line + 1);
        count++;
    }
    pclose(pipe);
    assert_true(count >= 1);
    dw_symbols_close(symbols);
}

static void test_stubs_have_the_name_of_what_they_call(void **state)
{
    (void)state;
    build("stubs.so", "-fcf-protection=full -Wl,-z,ibtplt");
    check_stubs("stubs.so");
    build("older.so", "-fcf-protection=none");
    check_stubs("older.so");
}

static void test_stripped_keeps_dynamic_names_only(void **state)
{
    (void)state;
    build("bare.so", "-g");
    uint64_t hidden = nm_address("bare.so", "hidden"), visible = nm_address("bare.so", "visible");
    uint64_t label = nm_address("bare.so", "bare");
    run("strip bare.so");
    struct dw_symbols *symbols = must_open("bare.so");
    expect(symbols, visible, "visible");
    expect(symbols, hidden, NULL);
    expect(symbols, label, NULL);
    dw_symbols_close(symbols);
}

static void test_nothing_is_left_of_labels_when_stripped(void **state)
{
    (void)state;
    static const char label[] = "__asm__(\".text\\n.globl bare\\nbare: nop\\nret\\n\");\n";
    write_file("label.c", label, strlen(label));
    run("$CC -shared -nostdlib label.c -o only.so");
    uint64_t address = nm_address("only.so", "bare");
    struct dw_symbols *symbols = must_open("only.so");
    expect(symbols, address + 1, "bare");
    dw_symbols_close(symbols);
    run("strip only.so");
    symbols = must_open("only.so");
    expect(symbols, address + 1, NULL);
    dw_symbols_close(symbols);
}

/* `place` is where the debug file goes. */
static void check_debug_link(const char *place, const char *change, const char *name)
{
    build("linked.so", "-g -Wl,--build-id=none");
    uint64_t hidden = nm_address("linked.so", "hidden");
    run("mkdir -p .debug && objcopy --only-keep-debug linked.so linked.debug && "
        "strip --strip-all linked.so && objcopy --add-gnu-debuglink=linked.debug linked.so && "
        "mv linked.debug %s && %s",
        place, change);
    struct dw_symbols *symbols = must_open("linked.so");
    expect(symbols, hidden, name);
    dw_symbols_close(symbols);
    run("rm -f linked.debug .debug/linked.debug");
}

static void test_debug_link_is_followed_when_its_checksum_is_right(void **state)
{
    (void)state;
    check_debug_link(".debug/linked.debug", "true", "hidden");
    check_debug_link("./linked.debug.x", "mv linked.debug.x linked.debug", "hidden");
    check_debug_link(".debug/linked.debug", "printf x >>.debug/linked.debug", NULL);
}

static void test_debug_file_is_found_by_build_id(void **state)
{
    (void)state;
    struct dw_elf elf;
    build("ided.so", "-g -Wl,--build-id=0x0123456789abcdef");
    run("mkdir -p tree/.build-id/01 && objcopy --only-keep-debug ided.so "
        "tree/.build-id/01/23456789abcdef.debug && strip ided.so");
    int fd = open("ided.so", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dw_elf_open(fd, &elf), 0);
    assert_int_equal(elf.build_id_size, 8);
    assert_int_equal(dw_debug_file_open(&elf, "ided.so", NULL), -1);
    int debug = dw_debug_file_open(&elf, "ided.so", "/nowhere::tree:");
    assert_true(debug >= 0);
    close(debug);
    elf.build_id[7]++;
    assert_int_equal(dw_debug_file_open(&elf, "ided.so", "tree"), -1);
    elf.build_id[7]--;
    build("other.so", "-g -Wl,--build-id=0x0123456789abcdee");
    run("cp other.so tree/.build-id/01/23456789abcdef.debug");
    assert_int_equal(dw_debug_file_open(&elf, "ided.so", "tree"), -1);
    dw_elf_release(&elf);
    close(fd);
}

static void test_another_build_is_stale(void **state)
{
    (void)state;
    static const uint8_t id[] = {1, 2, 3, 4}, other[] = {1, 2, 3, 5};
    struct dw_symbols *symbols;
    build("mine.so", "-Wl,--build-id=0x01020304");
    assert_int_equal(open_symbols("mine.so", id, 4, &symbols), 0);
    dw_symbols_close(symbols);
    assert_int_equal(open_symbols("mine.so", other, 4, &symbols), DW_ERR_STALE);
    assert_int_equal(open_symbols("mine.so", id, 3, &symbols), DW_ERR_STALE);
    build("none.so", "-Wl,--build-id=none");
    assert_int_equal(open_symbols("none.so", id, 4, &symbols), DW_ERR_STALE);
    assert_int_equal(open_symbols("none.so", NULL, 0, &symbols), 0);
    dw_symbols_close(symbols);
}

static void test_no_elf_file(void **state)
{
    (void)state;
    struct dw_symbols *symbols = NULL;
    assert_int_equal(open_symbols("/dev/null", NULL, 0, &symbols), DW_ERR_DAMAGED);
    write_file("text", source, sizeof source);
    assert_int_equal(open_symbols("text", NULL, 0, &symbols), DW_ERR_DAMAGED);
    assert_null(symbols);
}

static void test_large_names_stay_in_the_file(void **state)
{
    (void)state;
    run("awk 'BEGIN { pad = sprintf(\"%%3000s\", \"\"); gsub(/ /, \"x\", pad); "
        "for (i = 0; i < 2000; i++) printf \"int f%%d_%%s(void) { return %%d; }\\n\", i, pad, i }'"
        " >large.c && $CC -shared -fPIC large.c -o large.so && cp large.so changed.so");
    struct dw_symbols *symbols = must_open("large.so");
    struct dw_symbol symbol, again;
    FILE *pipe = read_from("nm large.so | grep ' T f'");
    unsigned long address;
    char kind, name[4096];
    int count = 0;
    for (; fscanf(pipe, "%lx %c %4095s", &address, &kind, name) == 3; count++) {
        assert_true(dw_symbols_find(symbols, address + 2, &symbol));
        assert_string_equal(symbol.name, name);
    }
    pclose(pipe);
    assert_int_equal(count, 2000);
    assert_true(dw_symbols_find(symbols, address, &again));
    assert_ptr_equal(symbol.name, again.name);
    dw_symbols_close(symbols);
    symbols = must_open("changed.so");
    run("touch -d 2001-01-01 changed.so");
    assert_false(dw_symbols_find(symbols, address, &symbol));
    dw_symbols_close(symbols);
}

/* Opens the bytes and asks for addresses all over. */
static void use(const uint8_t *bytes, size_t size)
{
    struct dw_symbols *symbols;
    struct dw_symbol symbol;
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    if (!dw_symbols_open(fd, "/nowhere/x", NULL, 0, &symbols)) {
        for (uint64_t address = 0; address < 0x5000; address += 13)
            if (dw_symbols_find(symbols, address, &symbol))
                assert_true(strlen(symbol.name) > 0 && address - symbol.address < symbol.size);
        dw_symbols_close(symbols);
    }
    close(fd);
}

struct range {
    size_t from, to;
};

static void damage(uint8_t *bytes, size_t size, struct range range)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0xff};
    for (size_t at = range.from; at < range.to && at < size; at++) {
        uint8_t was = bytes[at];
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            bytes[at] = values[i];
            use(bytes, size);
        }
        bytes[at] = was;
    }
}

static void test_any_changed_byte_of_tables_is_survived(void **state)
{
    (void)state;
    size_t size;
    build("damaged.so", "-nostdlib -s");
    uint8_t *bytes = read_file("damaged.so", &size);
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    damage(bytes, size, (struct range){0, sizeof header + 64 * header.e_phnum});
    damage(bytes, size, (struct range){header.e_shoff, size});
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, bytes + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_RELA ||
            section.sh_type == SHT_NOTE || section.sh_type == SHT_STRTAB)
            damage(bytes, size,
                   (struct range){section.sh_offset, section.sh_offset + section.sh_size});
    }
    free(bytes);
}

static void test_cut_anywhere_is_survived(void **state)
{
    (void)state;
    size_t size;
    build("cut.so", "");
    uint8_t *bytes = read_file("cut.so", &size);
    for (size_t cut = 0; cut < size; cut += cut < 4096 ? 1 : 7)
        use(bytes, cut);
    free(bytes);
}

static void test_own_functions_as_the_dynamic_linker_has_them(void **state)
{
    (void)state;
    Dl_info info;
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "qsort"), &info));
    struct dw_symbols *symbols = must_open(info.dli_fname);
    uint64_t address = (uint64_t)info.dli_saddr - (uint64_t)info.dli_fbase;
    expect(symbols, address, "qsort");
    expect(symbols, address + 5, "qsort");
    dw_symbols_close(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_is_found_as_nm_has_it),
        cmocka_unit_test(test_name_without_underscores_wins),
        cmocka_unit_test(test_labels_of_assembler_code),
        cmocka_unit_test(test_stubs_have_the_name_of_what_they_call),
        cmocka_unit_test(test_stripped_keeps_dynamic_names_only),
        cmocka_unit_test(test_nothing_is_left_of_labels_when_stripped),
        cmocka_unit_test(test_debug_link_is_followed_when_its_checksum_is_right),
        cmocka_unit_test(test_debug_file_is_found_by_build_id),
        cmocka_unit_test(test_another_build_is_stale),
        cmocka_unit_test(test_no_elf_file),
        cmocka_unit_test(test_large_names_stay_in_the_file),
        cmocka_unit_test(test_any_changed_byte_of_tables_is_survived),
        cmocka_unit_test(test_cut_anywhere_is_survived),
        cmocka_unit_test(test_own_functions_as_the_dynamic_linker_has_them),
    };
    return cmocka_run_group_tests(tests, objects_setup, objects_teardown);
}
