/* SPDX-License-Identifier: MIT
 * Rules that are made from instructions, against those that compilers wrote down for the same
 * functions: of the C library, and of Python, NumPy and OpenBLAS where they are there. Objects that
 * are named as arguments are compared as a whole, and the figures printed. */
#define _GNU_SOURCE
#include "check.h"

#include "base/error.h"
#include "native/elf/elf_image.h"
#include "native/elf/memory.h"
#include "native/unwind/call_site_x86_64.h"
#include "native/unwind/cfi.h"
#include "native/unwind/cfi_x86_64.h"
#include "native/unwind/code_flow_x86_64.h"
#include "native/unwind/code_rules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FUNCTIONS 3000 /* of an object, but for one that is named as an argument */
#define PAGE_BYTES 4096u

struct object {
    uint8_t *bytes; /* its segments as they lie in memory */
    uint64_t size;
    struct dw_unwind_module module;
};

struct counts {
    uint64_t functions, refused_functions;
    uint64_t agreed, refused, wrong;
    bool is_told; /* the first wrong ones are */
};

static bool read_segments(int fd, Elf64_Ehdr *head, Elf64_Phdr *segments)
{
    return pread(fd, head, sizeof *head, 0) == sizeof *head &&
           !memcmp(head->e_ident, ELFMAG, SELFMAG) && head->e_phnum <= DW_ELF_MAX_SEGMENTS &&
           pread(fd, segments, head->e_phnum * sizeof *segments, (off_t)head->e_phoff) ==
               (ssize_t)(head->e_phnum * sizeof *segments);
}

/* Neither linked nor run: unwind information has no need of that. */
static bool load_object(const char *path, struct object *object)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[DW_ELF_MAX_SEGMENTS];
    struct dw_elf_image image;
    *object = (struct object){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !read_segments(fd, &head, segments)) {
        close(fd);
        return false;
    }
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < head.e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        first = segments[i].p_vaddr < first ? segments[i].p_vaddr : first;
        object->size = segments[i].p_vaddr + segments[i].p_memsz;
    }
    first &= ~(uint64_t)(PAGE_BYTES - 1);
    object->size = (object->size - first + 2 * PAGE_BYTES) & ~(uint64_t)(PAGE_BYTES - 1);
    object->bytes =
        mmap(NULL, object->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(object->bytes != MAP_FAILED);
    uint64_t bias = (uint64_t)(uintptr_t)object->bytes - first;
    for (int i = 0; i < head.e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type == PT_LOAD)
            assert_int_equal(pread(fd, object->bytes + (segment->p_vaddr - first),
                                   segment->p_filesz, (off_t)segment->p_offset),
                             segment->p_filesz);
    }
    close(fd);
    dw_elf_image_read(&dw_memory_own, segments, head.e_phnum, bias, &image);
    object->module =
        (struct dw_unwind_module){.start = (uint64_t)(uintptr_t)object->bytes,
                                  .end = (uint64_t)(uintptr_t)object->bytes + object->size,
                                  .hdr = image.hdr,
                                  .hdr_size = image.hdr_size,
                                  .info_start = image.info_start,
                                  .info_end = image.info_end};
    return image.hdr;
}

/* A function that compilers have described. */
struct described {
    const struct object *object;
    const struct dw_cfi_source *source;
    uint64_t fde, start;
    struct counts *counts;
};

static bool described_rule(const struct described *described, uint64_t address,
                           struct dw_cfi_rule *rule)
{
    struct dw_eh_record record;
    return dw_eh_read(described->source, &described->object->module, described->fde, address,
                      &record) &&
           dw_cfi_run(&record, address, rule);
}

static uint8_t register_of(uint8_t dwarf_number)
{
    static const uint8_t registers[] = {DW_RAX, DW_RDX, DW_RCX, DW_RBX,
                                        DW_RSI, DW_RDI, DW_RBP, DW_RSP};
    return dwarf_number < 8 ? registers[dwarf_number] : dwarf_number;
}

/* Compilers do not say when an epilogue has restored a register. */
static bool slot_agrees(const struct dw_code_state *state, uint32_t reg, struct dw_cfi_slot slot)
{
    bool is_there = state->values[reg] == DW_VALUE_AT_ENTRY(reg);
    return is_there || (slot.where == DW_CFI_AT_CFA ? state->saved[reg] == slot.offset
                                                    : slot.where != DW_CFI_SAME);
}

static bool agrees(const struct dw_code_state *state, const struct dw_cfi_rule *rule)
{
    return state->values[register_of(rule->base)] == -rule->offset && !rule->is_indirect &&
           slot_agrees(state, DW_RBP, rule->fp) && slot_agrees(state, DW_RBX, rule->rbx);
}

static bool has_rule(const struct dw_code_state *state)
{
    for (int i = 0; state && i < DW_REGISTERS; i++)
        if (dw_value_is_place(state->values[i]))
            return true;
    return false;
}

static int compare(void *context, uint32_t offset, const struct dw_code_state *state)
{
    const struct described *described = context;
    struct counts *counts = described->counts;
    struct dw_cfi_rule rule;
    if (!described_rule(described, described->start + offset, &rule))
        return 0;
    if (!has_rule(state)) {
        counts->refused++;
    } else if (agrees(state, &rule)) {
        counts->agreed++;
    } else {
        counts->wrong++;
        if (counts->is_told && counts->wrong < 40)
            printf("  at %#lx + %#x: base %u offset %d, known %d, rbp %d %d saved %d, rbx %d %d "
                   "saved %d\n",
                   (unsigned long)(described->start - described->object->module.start), offset,
                   rule.base, rule.offset, state->values[register_of(rule.base)], rule.fp.where,
                   rule.fp.offset, state->saved[DW_RBP], rule.rbx.where, rule.rbx.offset,
                   state->saved[DW_RBX]);
    }
    return 0;
}

/* Parts of functions that lie elsewhere begin with the frame that the function made. */
static bool begins_as_function(const struct described *described)
{
    struct dw_cfi_rule rule;
    return described_rule(described, described->start, &rule) && !rule.is_end && !rule.is_signal &&
           rule.base == DW_REGISTER_SP && rule.offset == DW_WORD_BYTES;
}

static void compare_function(struct described *described)
{
    struct dw_eh_record record;
    bool is_understood;
    if (!begins_as_function(described) || !dw_eh_read(described->source, &described->object->module,
                                                      described->fde, described->start, &record))
        return;
    const uint8_t *code = (const uint8_t *)(uintptr_t)described->start;
    described->counts->functions++;
    assert_int_equal(
        dw_code_flow(code, record.end - record.start, compare, described, &is_understood), 0);
    described->counts->refused_functions += !is_understood;
}

/* The sorted table of .eh_frame_hdr: 12 bytes, then pairs of distances from its start. */
static void compare_object(const struct object *object, uint32_t most, struct counts *counts)
{
    const uint8_t *hdr = (const uint8_t *)(uintptr_t)object->module.hdr;
    struct dw_cfi_source source = {&dw_memory_own, &dw_memory_own_checked,
                                   object->module.info_start, object->module.info_end};
    uint32_t count;
    memcpy(&count, hdr + 8, sizeof count);
    assert_int_equal(hdr[3], DW_POINTER_I32_FROM_HDR);
    uint32_t stride = count / most + 1;
    for (uint32_t i = 0; i < count; i += stride) {
        int32_t pair[2];
        memcpy(pair, hdr + 12 + (size_t)i * sizeof pair, sizeof pair);
        struct described described = {.object = object,
                                      .source = &source,
                                      .start = object->module.hdr + (uint64_t)(int64_t)pair[0],
                                      .fde = object->module.hdr + (uint64_t)(int64_t)pair[1],
                                      .counts = counts};
        compare_function(&described);
    }
}

static void print_counts(const char *path, const struct counts *counts)
{
    uint64_t all = counts->agreed + counts->refused + counts->wrong;
    printf("%s: %lu functions, %lu refused; of %lu addresses in the others %lu agree, %lu have no "
           "rule, %lu differ (%.4f %%)\n",
           path, counts->functions, counts->refused_functions, all, counts->agreed, counts->refused,
           counts->wrong, all ? 100.0 * (double)counts->wrong / (double)all : 0);
}

static void check_object(const char *path)
{
    struct object object;
    struct counts counts = {0};
    if (!load_object(path, &object))
        return;
    compare_object(&object, MOST_FUNCTIONS, &counts);
    print_counts(path, &counts);
    munmap(object.bytes, object.size);
    assert_true(counts.wrong * 1000 <= counts.agreed + counts.wrong);
    assert_true(counts.functions < 10 || counts.refused_functions * 10 < counts.functions);
}

static void test_own_libraries(void **state)
{
    (void)state;
    Dl_info info;
    void *const symbols[] = {dlsym(RTLD_DEFAULT, "malloc_usable_size"),
                             dlsym(RTLD_DEFAULT, "dlsym")};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (symbols[i] && dladdr(symbols[i], &info))
            check_object(info.dli_fname);
}

/* Code, and the rule at one of its bytes. */
struct rule_case {
    const char *what;
    uint8_t code[40];
    uint32_t size, at;
    uint8_t base; /* DWARF's number */
    int32_t offset;
    struct dw_cfi_slot fp, rbx;
};

#define CODE(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define SAME                                                                                       \
    {                                                                                              \
        DW_CFI_SAME, 0                                                                             \
    }
#define LOST                                                                                       \
    {                                                                                              \
        DW_CFI_LOST, 0                                                                             \
    }
#define SAVED(offset)                                                                              \
    {                                                                                              \
        DW_CFI_AT_CFA, offset                                                                      \
    }
/* push %rbp; push %rbx; sub $0x28,%rsp; xor %ebx,%ebx; call; add $0x28,%rsp; pop %rbx; pop %rbp;
 * ret */
#define PUSHES                                                                                     \
    CODE(0x55, 0x53, 0x48, 0x83, 0xec, 0x28, 0x31, 0xdb, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x28, \
         0x5b, 0x5d, 0xc3)
/* push %rbp; mov %rsp,%rbp; and $-64,%rsp; sub %rax,%rsp; leave; ret */
#define FRAME_POINTER                                                                              \
    CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x29, 0xc4, 0xc9, 0xc3)
/* mov %rbx,-8(%rsp); xor %ebx,%ebx; mov -8(%rsp),%rbx; ret */
#define RED_ZONE CODE(0x48, 0x89, 0x5c, 0x24, 0xf8, 0x31, 0xdb, 0x48, 0x8b, 0x5c, 0x24, 0xf8, 0xc3)
/* mov %rsp,%r11; and $-32,%rsp; mov %r11,%rsp; ret */
#define SCRATCH CODE(0x49, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xe0, 0x4c, 0x89, 0xdc, 0xc3)
/* test %edi,%edi; je 1f; push %rbx; pop %rbx; 1: ret */
#define WAYS CODE(0x85, 0xff, 0x74, 0x02, 0x53, 0x5b, 0xc3)

static const struct rule_case rule_cases[] = {
    {"entry", PUSHES, 0, 7, 8, SAME, SAME},
    {"after one push", PUSHES, 1, 7, 16, SAME, SAME},
    {"after two pushes", PUSHES, 2, 7, 24, SAME, SAME},
    {"after the room", PUSHES, 6, 7, 64, SAME, SAME},
    {"a saved register has another value", PUSHES, 8, 7, 64, SAME, SAVED(-24)},
    {"the last byte of a call", PUSHES, 12, 7, 64, SAME, SAVED(-24)},
    {"the room is gone", PUSHES, 17, 7, 24, SAME, SAVED(-24)},
    {"one pop", PUSHES, 18, 7, 16, SAME, SAME},
    {"return", PUSHES, 19, 7, 8, SAME, SAME},
    {"frame pointer not set", FRAME_POINTER, 1, 7, 16, SAME, SAME},
    {"frame pointer", FRAME_POINTER, 4, 7, 16, SAVED(-16), SAME},
    {"stack pointer is aligned", FRAME_POINTER, 8, 6, 16, SAVED(-16), SAME},
    {"variable room", FRAME_POINTER, 11, 6, 16, SAVED(-16), SAME},
    {"after leave", FRAME_POINTER, 12, 7, 8, SAME, SAME},
    {"saved where no frame is", RED_ZONE, 7, 7, 8, SAME, LOST},
    {"restored from there", RED_ZONE, 12, 7, 8, SAME, SAME},
    {"frame in a register of nobody", SCRATCH, 7, 11, 8, SAME, SAME},
    {"frame from there", SCRATCH, 10, 7, 8, SAME, SAME},
    {"on one way", WAYS, 5, 7, 16, SAME, SAME},
    {"where ways meet", WAYS, 6, 7, 8, SAME, SAME},
};

#define START 0x1000u

static void assert_slot(struct dw_cfi_slot found, struct dw_cfi_slot expected)
{
    assert_int_equal(found.where, expected.where);
    assert_int_equal(found.offset, expected.offset);
}

static void test_rules_of_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rule_cases); i++) {
        const struct rule_case *expected = &rule_cases[i];
        struct dw_code_book book = {0};
        struct dw_cfi_rule rule;
        assert_int_equal(dw_code_book_add(&book, START, expected->code, expected->size), 0);
        struct dw_code_functions functions = dw_code_book_functions(&book);
        print_message("%s\n", expected->what);
        assert_true(dw_code_rule_find(&functions, START + expected->at, &rule));
        assert_int_equal(rule.base, expected->base);
        assert_int_equal(rule.offset, expected->offset);
        assert_slot(rule.fp, expected->fp);
        assert_slot(rule.rbx, expected->rbx);
        assert_false(dw_code_rule_find(&functions, START - 1, &rule));
        assert_false(dw_code_rule_find(&functions, START + expected->size, &rule));
        dw_code_book_release(&book);
    }
}

static const struct {
    const char *what;
    uint8_t code[24];
    uint32_t size;
} refused_cases[] = {
    {"an instruction that is not known", CODE(0x0f, 0x04, 0xc3)},
    {"half an instruction", CODE(0x48, 0x83)},
    {"returns with another stack pointer", CODE(0x55, 0xc3)},
    {"returns with another rbx", CODE(0x31, 0xdb, 0xc3)},
    {"returns with an r12 from elsewhere", CODE(0x41, 0x5c, 0x41, 0x54, 0xc3)},
    {"does not return", CODE(0x55, 0xeb, 0xfe)},
    {"a label in a function", CODE(0x5b, 0x5d, 0xc3)},
    {"jumps into an instruction", CODE(0x74, 0x01, 0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3)},
    {"the stack pointer is from memory", CODE(0x48, 0x8b, 0x27, 0xc3)},
    {"pushes in a loop", CODE(0x50, 0xff, 0xcf, 0x75, 0xfb, 0xc3)},
    {"changes the stack pointer's half",
     CODE(0x66, 0x83, 0xec, 0x08, 0x66, 0x83, 0xc4, 0x08, 0xc3)},
};

static void test_what_is_not_understood_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused_cases); i++) {
        struct dw_code_row *rows;
        uint32_t count;
        print_message("%s\n", refused_cases[i].what);
        assert_int_equal(
            dw_code_rows_make(refused_cases[i].code, refused_cases[i].size, &rows, &count), 0);
        assert_int_equal(count, 0);
        free(rows);
    }
}

#define REGISTER(number) (1u << (number))

static const struct {
    uint8_t code[16];
    uint32_t size, writes;
} instruction_cases[] = {
    {CODE(0x90), 0},
    {CODE(0xf3, 0x0f, 0x1e, 0xfa), 0},                            /* endbr64 */
    {CODE(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), 0},       /* a long nop */
    {CODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), REGISTER(DW_RAX)}, /* mov $..., %rax */
    {CODE(0x66, 0xb8, 1, 2), REGISTER(DW_RAX)},                   /* mov $..., %ax */
    {CODE(0xb7, 1), REGISTER(DW_RBX)},                            /* mov $1, %bh */
    {CODE(0x40, 0xb7, 1), REGISTER(DW_RDI)},                      /* mov $1, %dil */
    {CODE(0x48, 0x83, 0xfb, 0), 0},                               /* cmp $0, %rbx */
    {CODE(0x41, 0x83, 0xc4, 1), REGISTER(DW_R12)},                /* add $1, %r12d */
    {CODE(0xf7, 0x44, 0x24, 8, 1, 0, 0, 0), 0},                   /* testl $1, 8(%rsp) */
    {CODE(0x48, 0x8d, 0x04, 0x9d, 0, 0, 0, 0), REGISTER(DW_RAX)}, /* lea 0(,%rbx,4), %rax */
    {CODE(0x66, 0x0f, 0x6f, 0xdd), 0},                            /* movdqa %xmm5, %xmm3 */
    {CODE(0x66, 0x48, 0x0f, 0x7e, 0xdb), REGISTER(DW_RBX)},       /* movq %xmm3, %rbx */
    {CODE(0xf3, 0x0f, 0x7e, 0xdb), 0},                            /* movq %xmm3, %xmm3 */
    {CODE(0xf2, 0x48, 0x0f, 0x2c, 0xd8), REGISTER(DW_RBX)},       /* cvttsd2si %xmm0, %rbx */
    {CODE(0xc5, 0xf8, 0x77), 0},                                  /* vzeroupper */
    {CODE(0xc4, 0xe2, 0xe5, 0xb8, 0x68, 0x20), 0},                /* vfmadd231pd */
    {CODE(0xc4, 0xe3, 0x7d, 0x19, 0xdd, 1), 0},                   /* vextractf128 */
    {CODE(0xc4, 0xe2, 0xe0, 0xf2, 0xe8), REGISTER(DW_RBP) | REGISTER(DW_RBX)}, /* andn: both */
    {CODE(0xc4, 0xe3, 0xfb, 0xf0, 0xd8, 7), REGISTER(DW_RBX)}, /* rorx $7, %rax, %rbx */
    {CODE(0x62, 0xf1, 0xfd, 0x48, 0x28, 0x5c, 0x24, 1), 0},    /* vmovapd 64(%rsp), %zmm3 */
    {CODE(0x62, 0xf3, 0xfd, 0x48, 0x1b, 0xdd, 1), 0},          /* vextractf64x4 */
    {CODE(0xc5, 0xfb, 0x93, 0xd9), REGISTER(DW_RBX)},          /* kmovd %k1, %ebx */
    {CODE(0xf0, 0x48, 0x0f, 0xb1, 0x1f), REGISTER(DW_RAX)},    /* lock cmpxchg */
    {CODE(0x0f, 0xa2), REGISTER(DW_RAX) | REGISTER(DW_RBX) | REGISTER(DW_RCX) | REGISTER(DW_RDX)},
};

static void test_sizes_and_registers_of_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(instruction_cases); i++) {
        struct dw_instruction instruction;
        uint8_t code[32] = {0};
        memcpy(code, instruction_cases[i].code, instruction_cases[i].size);
        assert_true(dw_decode(code, sizeof code, &instruction));
        assert_int_equal(instruction.size, instruction_cases[i].size);
        if (instruction.operation == DW_OP_OTHER)
            assert_int_equal(instruction.writes, instruction_cases[i].writes);
        for (uint32_t size = 0; size < instruction_cases[i].size; size++)
            assert_false(dw_decode(code, size, &instruction));
    }
}

/* Whatever the bytes are, nothing outside of them is read. */
static void test_random_bytes(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t size = i % 64 + 1, count;
        uint8_t *code = malloc(size); /* exactly sized, for the sanitizer */
        struct dw_code_row *rows;
        for (uint32_t k = 0; k < size; k++)
            code[k] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        code[size - 1] = 0xc3;
        assert_int_equal(dw_code_rows_make(code, size, &rows, &count), 0);
        free(rows);
        free(code);
    }
}

static void test_book_has_functions_in_order_and_once(void **state)
{
    (void)state;
    const uint8_t code[] = {0x53, 0x5b, 0xc3};
    struct dw_code_book book = {0};
    struct dw_code_functions copy;
    struct dw_cfi_rule rule;
    for (uint64_t start = 90; start > 0; start -= 10)
        assert_int_equal(dw_code_book_add(&book, start, code, sizeof code), 0);
    assert_int_equal(dw_code_book_add(&book, 50, code, sizeof code), DW_ERR_ARGUMENT);
    assert_int_equal(dw_code_book_add(&book, 48, code, sizeof code), DW_ERR_ARGUMENT);
    assert_int_equal(dw_code_book_add(&book, 52, code, sizeof code), DW_ERR_ARGUMENT);
    assert_int_equal(dw_code_book_copy(&book, &copy), 0);
    dw_code_book_forget(&book);
    assert_int_equal(dw_code_book_functions(&book).count, 0);
    assert_int_equal(copy.count, 9);
    assert_true(dw_code_rule_find(&copy, 71, &rule) && rule.offset == 16);
    assert_false(dw_code_rule_find(&copy, 73, &rule));
    free((void *)(uintptr_t)copy.functions);
    dw_code_book_release(&book);
}

/* What this Python is made of, one file a line; nothing when there is no NumPy. */
#define LIST_OBJECTS                                                                               \
    "python3 -c 'import glob, os, sys, sysconfig, numpy\n"                                         \
    "home = os.path.dirname(numpy.__file__)\n"                                                     \
    "print(os.path.realpath(sys.executable))\n"                                                    \
    "for name in sysconfig.get_config_var(\"INSTSONAME\"), \"libpython3.so\":\n"                   \
    "    print(os.path.join(sysconfig.get_config_var(\"LIBDIR\"), name))\n"                        \
    "for name in glob.glob(home + \"/_core/_multiarray*.so\") + glob.glob(home + \".libs/*\"):\n"  \
    "    print(name)' 2>/dev/null"

static void test_python_and_its_libraries(void **state)
{
    (void)state;
    char path[PATH_MAX];
    FILE *list = popen(LIST_OBJECTS, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(list);
    while (fgets(path, sizeof path, list)) {
        path[strcspn(path, "\n")] = 0;
        check_object(path);
    }
    pclose(list);
}

/* Each is shorter than what is read; nothing behind it may be looked at. */
static void test_calls_are_known_by_their_last_bytes(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[DW_CALL_MAX_BYTES];
        bool is_call;
    } cases[] = {
        {{0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},              /* call near */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},  /* call *%rax */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10}, true},  /* call *(%rax) */
        {{0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0x24}, true},  /* call *(%rsp) */
        {{0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8}, true},     /* call *8(%rax) */
        {{0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 8}, true},     /* call *8(%rsp) */
        {{0x90, 0xff, 0x15, 1, 2, 3, 4}, true},              /* call *0x4030201(%rip) */
        {{0x90, 0xff, 0x90, 1, 2, 3, 4}, true},              /* call *0x4030201(%rax) */
        {{0xff, 0x14, 0x25, 1, 2, 3, 4}, true},              /* call *0x4030201 */
        {{0xff, 0x94, 0x24, 1, 2, 3, 4}, true},              /* call *0x4030201(%rsp) */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x14}, false}, /* the rest would be behind */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, /* jmp *%rax */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff}, false},
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3}, false}, /* ret */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *bytes = malloc(DW_CALL_MAX_BYTES); /* by itself, so that sanitizers see its end */
        assert_non_null(bytes);
        memcpy(bytes, cases[i].bytes, DW_CALL_MAX_BYTES);
        assert_int_equal(dw_call_ends(bytes), cases[i].is_call);
        free(bytes);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_and_registers_of_instructions),
        cmocka_unit_test(test_rules_of_instructions),
        cmocka_unit_test(test_what_is_not_understood_is_refused),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_book_has_functions_in_order_and_once),
        cmocka_unit_test(test_own_libraries),
        cmocka_unit_test(test_python_and_its_libraries),
        cmocka_unit_test(test_calls_are_known_by_their_last_bytes),
    };
    for (int i = 1; i < argc; i++) {
        struct object object;
        struct counts counts = {.is_told = true};
        if (!load_object(argv[i], &object))
            continue;
        compare_object(&object, UINT32_MAX - 1, &counts);
        print_counts(argv[i], &counts);
        munmap(object.bytes, object.size);
    }
    return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
