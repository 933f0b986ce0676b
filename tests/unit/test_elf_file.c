/* SPDX-License-Identifier: MIT
 * ELF files: this very program, a small one made by hand, and that one damaged everywhere. */
#define _GNU_SOURCE
#include "check.h"

#include "base/error.h"
#include "native/elf/elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char names[] = "\0_PyRuntime\0elsewhere";
static const char section_names[] = "\0.PyRuntime\0.dynsym\0.dynstr\0.shstrtab";

struct small {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Sym symbols[3];
    char names[sizeof names], section_names[sizeof section_names];
    Elf64_Shdr sections[5];
};

static void make_small(struct small *elf)
{
    *elf = (struct small){
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                   .e_phoff = offsetof(struct small, segments),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 2,
                   .e_shoff = offsetof(struct small, sections),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 5,
                   .e_shstrndx = 4},
        .segments = {{.p_type = PT_LOAD, .p_vaddr = 0x403000},
                     {.p_type = PT_LOAD, .p_vaddr = 0x400040}},
        .symbols = {{0},
                    {.st_name = 12, .st_shndx = SHN_UNDEF, .st_value = 1},
                    {.st_name = 1, .st_shndx = 1, .st_value = 0x404100}},
        .sections = {{0},
                     {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = 0x404000},
                     {.sh_name = 12,
                      .sh_type = SHT_DYNSYM,
                      .sh_link = 3,
                      .sh_offset = offsetof(struct small, symbols),
                      .sh_size = sizeof elf->symbols},
                     {.sh_name = 20,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct small, names),
                      .sh_size = sizeof names},
                     {.sh_name = 28,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct small, section_names),
                      .sh_size = sizeof section_names}},
    };
    memcpy(elf->names, names, sizeof names);
    memcpy(elf->section_names, section_names, sizeof section_names);
}

static int make_file(const void *bytes, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    return fd;
}

/* Opens and looks everything up; the first error, if any. */
static int use(const void *bytes, size_t size, struct dw_elf *found, uint64_t addresses[2])
{
    struct dw_elf elf;
    int fd = make_file(bytes, size);
    int error = dw_elf_open(fd, &elf);
    if (!error) {
        error = dw_elf_find_symbol(&elf, "_PyRuntime", &addresses[0]);
        int section_error = dw_elf_find_section(&elf, ".PyRuntime", &addresses[1]);
        error = error ? error : section_error;
        *found = elf;
        dw_elf_release(&elf);
    }
    close(fd);
    return error;
}

static void test_symbol_and_section_are_found(void **state)
{
    (void)state;
    struct small small;
    struct dw_elf elf;
    uint64_t addresses[2] = {0};
    make_small(&small);
    assert_int_equal(use(&small, sizeof small, &elf, addresses), 0);
    assert_int_equal(addresses[0], 0x404100);
    assert_int_equal(addresses[1], 0x404000);
    assert_int_equal(elf.base_address, 0x400000);
}

static void test_symbols_of_others_do_not_count(void **state)
{
    (void)state;
    struct small small;
    struct dw_elf elf;
    uint64_t address = 0;
    make_small(&small);
    int fd = make_file(&small, sizeof small);
    assert_int_equal(dw_elf_open(fd, &elf), 0);
    assert_int_equal(dw_elf_find_symbol(&elf, "elsewhere", &address), DW_ERR_EMPTY);
    assert_int_equal(dw_elf_find_symbol(&elf, "", &address), DW_ERR_EMPTY);
    assert_int_equal(dw_elf_find_section(&elf, ".nothing", &address), DW_ERR_EMPTY);
    assert_int_equal(address, 0);
    dw_elf_release(&elf);
    close(fd);
}

static void test_own_program_has_its_main(void **state)
{
    (void)state;
    struct dw_elf elf;
    uint64_t address;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(dw_elf_open(fd, &elf), 0);
    assert_int_equal(dw_elf_find_symbol(&elf, "main", &address), 0);
    assert_true(address > elf.base_address);
    dw_elf_release(&elf);
    close(fd);
}

static void test_cut_anywhere_is_damaged(void **state)
{
    (void)state;
    struct small small;
    struct dw_elf elf;
    uint64_t addresses[2];
    make_small(&small);
    for (size_t size = 0; size < sizeof small; size++)
        assert_int_equal(use(&small, size, &elf, addresses), DW_ERR_DAMAGED);
}

static void test_any_changed_byte_is_survived(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct small small;
    struct dw_elf elf;
    uint64_t addresses[2];
    for (size_t at = 0; at < sizeof small; at++) {
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            make_small(&small);
            ((uint8_t *)&small)[at] = values[i];
            use(&small, sizeof small, &elf, addresses);
        }
    }
}

static void test_huge_counts_are_damaged(void **state)
{
    (void)state;
    struct small small;
    struct dw_elf elf;
    uint64_t addresses[2];
    make_small(&small);
    small.sections[2].sh_size = UINT64_MAX - 3;
    assert_int_equal(use(&small, sizeof small, &elf, addresses), DW_ERR_DAMAGED);
    make_small(&small);
    small.sections[2].sh_offset = UINT64_MAX - 3;
    assert_int_equal(use(&small, sizeof small, &elf, addresses), DW_ERR_DAMAGED);
    make_small(&small);
    small.sections[2].sh_link = 5;
    assert_int_equal(use(&small, sizeof small, &elf, addresses), DW_ERR_DAMAGED);
    make_small(&small);
    small.header.e_shnum = UINT16_MAX;
    assert_int_equal(use(&small, sizeof small, &elf, addresses), DW_ERR_DAMAGED);
    make_small(&small);
    small.symbols[2].st_name = UINT32_MAX;
    assert_int_equal(use(&small, sizeof small, &elf, addresses), DW_ERR_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbol_and_section_are_found),
        cmocka_unit_test(test_symbols_of_others_do_not_count),
        cmocka_unit_test(test_own_program_has_its_main),
        cmocka_unit_test(test_cut_anywhere_is_damaged),
        cmocka_unit_test(test_any_changed_byte_is_survived),
        cmocka_unit_test(test_huge_counts_are_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
