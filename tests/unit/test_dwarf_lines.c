/* SPDX-License-Identifier: MIT
 * Lines and inlined functions of C, C++ and Rust, at every few instructions: what addr2line says
 * is the truth. */
#define _GNU_SOURCE
#include "check.h"
#include "objects.h"

#include "base/error.h"
#include "native/debug/demangle.h"
#include "native/debug/dwarf_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char c_source[] =
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "static inline int square(int n)\n"
    "{\n"
    "    return n * n;\n"
    "}\n"
    "static inline int sum_of_squares(const int *numbers, int count)\n"
    "{\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < count; i++)\n"
    "        sum += square(numbers[i]) ^ square(i);\n"
    "    return sum;\n"
    "}\n"
    "__attribute__((cold)) static void fail(const char *why)\n"
    "{\n"
    "    if (strlen(why) > 3)\n"
    "        abort();\n"
    "}\n"
    "int first(const int *numbers, int count)\n"
    "{\n"
    "    if (count < 0)\n"
    "        fail(\"negative\");\n"
    "    return sum_of_squares(numbers, count) + 1;\n"
    "}\n"
    "int second(int *numbers, int count)\n"
    "{\n"
    "    for (int i = 0; i < count; i++) {\n"
    "        int copy[16];\n"
    "        memcpy(copy, numbers, sizeof copy);\n"
    "        numbers[i] = sum_of_squares(copy, i) + sum_of_squares(numbers, i & 7);\n"
    "    }\n"
    "    return first(numbers, count);\n"
    "}\n";

static const char cpp_source[] =
    "#include <algorithm>\n"
    "#include <functional>\n"
    "#include <map>\n"
    "#include <numeric>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "namespace shapes {\n"
    "template <typename T, int N> struct Grid {\n"
    "    std::vector<T> cells = std::vector<T>(N * N);\n"
    "    T &at(int x, int y) { return cells[static_cast<size_t>(x * N + y)]; }\n"
    "    T total() const { return std::accumulate(cells.begin(), cells.end(), T()); }\n"
    "};\n"
    "namespace {\n"
    "struct Hidden {\n"
    "    int operator()(int n) const { return n * 7 + 1; }\n"
    "};\n"
    "}\n"
    "static int thirds(const std::vector<int> &cells)\n"
    "{\n"
    "    return std::count_if(cells.begin(), cells.end(), [](int n) { return n % 3 == 1; });\n"
    "}\n"
    "int fill(int seed)\n"
    "{\n"
    "    Grid<int, 9> grid;\n"
    "    std::function<int(int)> step = Hidden();\n"
    "    for (int i = 0; i < 9; i++)\n"
    "        for (int j = 0; j < 9; j++)\n"
    "            grid.at(i, j) = seed = step(seed);\n"
    "    std::sort(grid.cells.begin(), grid.cells.end(), [](int a, int b) { return a % 9 < b % 9; "
    "});\n"
    "    return grid.total() + thirds(grid.cells);\n"
    "}\n"
    "}\n"
    "std::string words(const std::map<std::string, std::vector<int>> &lists)\n"
    "{\n"
    "    std::string all;\n"
    "    for (const auto &[name, list] : lists)\n"
    "        for (int n : list)\n"
    "            all += name + \"=\" + std::to_string(n + shapes::fill(n));\n"
    "    return all;\n"
    "}\n";

static const char rust_source[] =
    "use std::collections::HashMap;\n"
    "pub trait Area { fn area(&self) -> f64; }\n"
    "pub struct Square(pub f64);\n"
    "impl Area for Square { fn area(&self) -> f64 { self.0 * self.0 } }\n"
    "pub fn total(shapes: &[Square]) -> f64 { shapes.iter().map(|s| s.area()).sum() }\n"
    "#[no_mangle]\n"
    "pub extern \"C\" fn count(n: u32) -> u64 {\n"
    "    let mut seen: HashMap<u32, Vec<u8>> = HashMap::new();\n"
    "    for i in 0..n { seen.entry(i % 7).or_default().push(i as u8); }\n"
    "    let squares: Vec<Square> = (0..n).map(|i| Square(i as f64)).collect();\n"
    "    seen.values().map(|v| v.len() as u64).sum::<u64>() + total(&squares) as u64\n"
    "}\n";

#define MAX_ADDRESSES 4000

/* Where instructions begin, every `step`-th of them, for addr2line too in a file. */
static uint32_t list_addresses(const char *object, int step, uint64_t *addresses)
{
    uint32_t count = 0;
    FILE *list = fopen("addresses", "w");
    FILE *pipe = read_from("objdump -d --no-show-raw-insn -j .text %s | "
                           "sed -nE 's/^ +([0-9a-f]+):.*/\\1/p' | awk 'NR %% %d == 0'",
                           object, step);
    for (char line[64]; count < MAX_ADDRESSES && fgets(line, sizeof line, pipe); count++) {
        addresses[count] = strtoull(line, NULL, 16);
        fputs(line, list);
    }
    fclose(list);
    pclose(pipe);
    return count;
}

/* "file:line (discriminator 2)": the last part of the path, and the number. */
static uint32_t split_line(char *text, const char **file)
{
    char *colon = strchr(text, ':');
    for (char *next; colon && (next = strchr(colon + 1, ':'));)
        colon = next;
    assert_non_null(colon);
    *colon = 0;
    char *slash = strrchr(text, '/');
    *file = slash ? slash + 1 : text;
    return (uint32_t)strtoul(colon + 1, NULL, 10);
}

/* How many lines a source of the test has; UINT32_MAX for files of others. */
static uint32_t count_lines(const char *file)
{
    uint32_t count = 0;
    FILE *source = fopen(file, "r");
    if (!source)
        return UINT32_MAX;
    for (int c; (c = fgetc(source)) != EOF;)
        count += c == '\n';
    fclose(source);
    return count;
}

/* Of functions that have no name for the linker it leaves out what they are declared in. */
static bool is_same_function(const char *mine, const char *theirs)
{
    char *my_short = dw_demangle(mine, DW_DEMANGLE_SHORT), *their_short = strdup(theirs);
    char *rust = dw_demangle_rust(mine);
    if (rust)
        dw_shorten_rust(their_short);
    else
        dw_shorten_cpp(their_short);
    free(rust);
    const char *name = my_short ? my_short : mine;
    size_t size = strlen(name), their_size = strlen(their_short);
    bool is_same = size >= their_size && !strcmp(name + size - their_size, their_short) &&
                   (size == their_size || name[size - their_size - 1] == ':');
    free(my_short);
    free(their_short);
    return is_same;
}

/* Compares with the two lines of addr2line for one function. It may name a line that the file
 * does not have, which is then no truth; and of functions that have no name for the linker, and
 * are inlined, it gives that of the symbol. */
static bool agrees(const struct dw_source_line *line, const struct dw_source_line *outermost,
                   const char *function, char *place)
{
    const char *file;
    uint32_t number = split_line(place, &file);
    const char *mine = line->function ? line->function : "nothing";
    const char *my_file = line->file ? line->file : "??";
    my_file = strrchr(my_file, '/') ? strrchr(my_file, '/') + 1 : my_file;
    bool same_place = number == line->line && (!number || !strcmp(file, my_file));
    bool same_name = !line->function || is_same_function(mine, function) ||
                     (strncmp(mine, "_Z", 2) != 0 && outermost->function &&
                      is_same_function(outermost->function, function));
    bool is_right = (same_place || number > count_lines(file)) && same_name;
    if (!is_right)
        print_message("%s %s:%u, by addr2line %s %s:%u\n", mine, my_file, line->line, function,
                      file, number);
    return is_right;
}

static struct dw_dwarf *open_lines(const char *path, const char *directories)
{
    struct dw_elf elf;
    struct dw_dwarf *dwarf = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(dw_elf_open(fd, &elf), 0);
    int error = dw_dwarf_open(&elf, path, directories, &dwarf);
    assert_true(error == 0 || error == DW_ERR_EMPTY);
    dw_elf_release(&elf);
    close(fd);
    return dwarf;
}

static void trim(char *line)
{
    line[strcspn(line, "\n")] = 0;
}

/* Reads the block of one address, which begins with the address; the next one is in `line`. */
static uint32_t check_address(FILE *truth, struct dw_dwarf *dwarf, uint64_t address, char *line,
                              uint32_t *wrong)
{
    struct dw_source_line found[DW_INLINED_MAX];
    char function[65536];
    uint32_t expected = 0, count = dw_dwarf_find(dwarf, address, found);
    bool is_right = true;
    assert_int_equal(strtoull(line, NULL, 16), address);
    while (fgets(function, sizeof function, truth) && strncmp(function, "0x", 2) != 0) {
        assert_non_null(fgets(line, 65536, truth));
        trim(function);
        trim(line);
        bool is_unknown = !count && strstr(line, ":?"); /* whatever symbol there is */
        if (expected < count)
            is_right &= agrees(&found[expected], &found[count - 1], function, line);
        expected += !is_unknown;
    }
    strcpy(line, function);
    if (expected != count)
        print_message("%lx: %u functions, by addr2line %u\n", (unsigned long)address, count,
                      expected);
    *wrong += expected != count || !is_right;
    return count;
}

/* At least so many addresses must have so many inlined functions, or the test tests nothing. */
static void compare_with_addr2line(const char *object, const char *directories, int step,
                                   uint32_t least, uint32_t least_inlined)
{
    static uint64_t addresses[MAX_ADDRESSES];
    static char line[65536];
    uint32_t count = list_addresses(object, step, addresses), wrong = 0, inlined = 0;
    struct dw_dwarf *dwarf = open_lines(object, directories);
    assert_non_null(dwarf);
    FILE *truth = read_from("addr2line -a -i -f -C -e %s <addresses", object);
    assert_non_null(fgets(line, sizeof line, truth));
    for (uint32_t i = 0; i < count; i++)
        inlined += check_address(truth, dwarf, addresses[i], line, &wrong) > 1;
    pclose(truth);
    dw_dwarf_close(dwarf);
    print_message("%s: %u addresses, %u with inlined functions, %u differ\n", object, count,
                  inlined, wrong);
    assert_true(count >= least);
    assert_true(inlined >= least_inlined);
    assert_int_equal(wrong, 0);
}

static void test_c(void **state)
{
    (void)state;
    write_file("c.c", c_source, strlen(c_source));
    run("$CC -shared -fPIC -g -O2 c.c -o c.so");
    compare_with_addr2line("c.so", NULL, 1, 100, 40);
    run("$CC -shared -fPIC -g -O0 c.c -o c0.so");
    compare_with_addr2line("c0.so", NULL, 1, 100, 0);
}

static void test_cpp(void **state)
{
    (void)state;
    write_file("cpp.cc", cpp_source, strlen(cpp_source));
    run("$CXX -std=c++17 -shared -fPIC -g -O2 cpp.cc -o cpp.so");
    compare_with_addr2line("cpp.so", NULL, 1, 500, 400);
}

/* Whether a function of that short name is at one of the addresses. */
static bool is_anywhere(const char *object, const char *name)
{
    static uint64_t addresses[MAX_ADDRESSES];
    struct dw_source_line lines[DW_INLINED_MAX];
    struct dw_dwarf *dwarf = open_lines(object, NULL);
    bool is_found = false;
    for (uint32_t i = list_addresses(object, 1, addresses); i-- > 0;) {
        for (uint32_t j = dw_dwarf_find(dwarf, addresses[i], lines); j-- > 0;) {
            char *brief =
                dw_demangle(lines[j].function ? lines[j].function : "", DW_DEMANGLE_SHORT);
            is_found |= brief && !strcmp(brief, name);
            free(brief);
        }
    }
    dw_dwarf_close(dwarf);
    return is_found;
}

static void test_functions_without_a_name_for_the_linker(void **state)
{
    (void)state;
    write_file("cpp.cc", cpp_source, strlen(cpp_source));
    run("$CXX -std=c++17 -shared -fPIC -g -O2 cpp.cc -o cpp.so");
    assert_true(is_anywhere("cpp.so", "shapes::fill::{lambda}::operator()"));
    assert_true(is_anywhere("cpp.so", "shapes::thirds::{lambda}::operator()"));
    assert_true(is_anywhere("cpp.so", "shapes::(anonymous namespace)::Hidden::operator()"));
    assert_false(is_anywhere("cpp.so", "operator()"));
}

static void test_unit_ranges_without_a_table_of_them(void **state)
{
    (void)state;
    write_file("c.c", c_source, strlen(c_source));
    run("$CC -shared -fPIC -g -O2 c.c -o c.so && objcopy -R .debug_aranges c.so bare.so");
    compare_with_addr2line("bare.so", NULL, 1, 100, 40);
}

static void test_compressed(void **state)
{
    (void)state;
    write_file("c.c", c_source, strlen(c_source));
    run("$CC -shared -fPIC -g -gz -O2 c.c -o gz.so");
    compare_with_addr2line("gz.so", NULL, 1, 100, 40);
}

static void test_separate_debug_file(void **state)
{
    (void)state;
    write_file("c.c", c_source, strlen(c_source));
    run("mkdir -p apart && $CC -shared -fPIC -g -O2 -Wl,--build-id=0xabcdef c.c -o apart.so && "
        "objcopy --only-keep-debug apart.so apart/apart.debug && strip apart.so && "
        "objcopy --add-gnu-debuglink=apart/apart.debug apart.so");
    assert_null(open_lines("apart.so", NULL));
    struct dw_dwarf *dwarf = open_lines("apart.so", "apart");
    assert_non_null(dwarf);
    dw_dwarf_close(dwarf);
    run("ln apart/apart.debug apart.debug");
    compare_with_addr2line("apart.so", NULL, 1, 100, 40);
}

static void test_none_at_all(void **state)
{
    (void)state;
    write_file("c.c", c_source, strlen(c_source));
    run("$CC -shared -fPIC -O2 c.c -o none.so");
    assert_null(open_lines("none.so", NULL));
}

static void test_rust(void **state)
{
    (void)state;
    if (system("rustc --version >/dev/null 2>&1"))
        skip();
    write_file("shapes.rs", rust_source, strlen(rust_source));
    run("rustc --crate-type cdylib -C debuginfo=2 -O shapes.rs "
        "-o rust.so 2>/dev/null");
    compare_with_addr2line("rust.so", NULL, 50, 500, 300);
}

static void test_damaged_debug_information_is_survived(void **state)
{
    (void)state;
    static uint64_t addresses[MAX_ADDRESSES];
    struct dw_source_line found[DW_INLINED_MAX];
    size_t size;
    write_file("c.c", c_source, strlen(c_source));
    run("$CC -shared -fPIC -g -O2 c.c -o whole.so");
    uint32_t count = list_addresses("whole.so", 9, addresses);
    uint8_t *bytes = read_file("whole.so", &size);
    for (unsigned seed = 1; seed <= 300; seed++) {
        uint8_t *copy = malloc(size);
        memcpy(copy, bytes, size);
        srand(seed);
        for (int i = 0; i < 20; i++)
            copy[4096 + (size_t)rand() % (size - 8192)] = (uint8_t)rand();
        write_file("damaged.so", copy, size);
        struct dw_dwarf *dwarf = open_lines("damaged.so", NULL);
        for (uint32_t i = 0; dwarf && i < count; i++)
            dw_dwarf_find(dwarf, addresses[i], found);
        dw_dwarf_close(dwarf);
        free(copy);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),
        cmocka_unit_test(test_cpp),
        cmocka_unit_test(test_functions_without_a_name_for_the_linker),
        cmocka_unit_test(test_unit_ranges_without_a_table_of_them),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_separate_debug_file),
        cmocka_unit_test(test_none_at_all),
        cmocka_unit_test(test_rust),
        cmocka_unit_test(test_damaged_debug_information_is_survived),
    };
    return cmocka_run_group_tests(tests, objects_setup, objects_teardown);
}
