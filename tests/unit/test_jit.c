/* SPDX-License-Identifier: MIT
 * What JITs announce: lists of objects, perf's map, jitdump. Whole, cut anywhere, and wrong. */
#define _GNU_SOURCE
#include "check.h"

#include "base/error.h"
#include "native/elf/memory.h"
#include "native/jit/jit.h"
#include "native/jit/perf_map.h"
#include "native/unwind/cfi.h"
#include "native/unwind/trampolines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static const char *name_at(struct dw_jit_names *names, uint64_t address)
{
    const struct dw_jit_name *name = dw_jit_names_find(names, address);
    return name ? dw_jit_name_text(names, name) : "";
}

static void add(struct dw_jit_names *names, uint64_t start, uint64_t size, const char *text)
{
    assert_int_equal(dw_jit_names_add(names, start, size, text, strlen(text) + 1), 0);
}

static void test_what_was_added_last_counts(void **state)
{
    (void)state;
    struct dw_jit_names names = {0};
    add(&names, 100, 50, "a");
    add(&names, 200, 50, "b");
    assert_string_equal(name_at(&names, 149), "a");
    assert_string_equal(name_at(&names, 150), "");
    add(&names, 100, 50, "c");
    assert_string_equal(name_at(&names, 100), "c");
    add(&names, 190, 20, "d"); /* over the beginning of b, which is gone */
    assert_string_equal(name_at(&names, 205), "d");
    assert_string_equal(name_at(&names, 220), "");
    add(&names, 120, 10, "e"); /* over the end of c */
    assert_string_equal(name_at(&names, 119), "c");
    assert_string_equal(name_at(&names, 125), "e");
    assert_string_equal(name_at(&names, 140), "");
    add(&names, 0, 10, "nowhere");
    add(&names, 10, 0, "nothing");
    add(&names, 10, UINT64_MAX, "everything");
    add(&names, 10, 10, "");
    assert_string_equal(name_at(&names, 10), "");
    dw_jit_names_release(&names);
}

static const char map[] = "7f0010 20 one\n"
                          "no line\n"
                          "\n"
                          "0x7f0040 0x10 two words\n"
                          "11111111111111111 10 too long\n"
                          "7f0060 zz three\n"
                          "7f0080 8 last\n";

/* All of `size` bytes, in two parts, copied so that reading beyond them is noticed. */
typedef int (*parse)(const uint8_t *bytes, size_t size, struct dw_jit_names *names, uint64_t *used,
                     bool is_first);

static int parse_map(const uint8_t *bytes, size_t size, struct dw_jit_names *names, uint64_t *used,
                     bool is_first)
{
    (void)is_first;
    return dw_perf_map_parse(bytes, size, names, used);
}

static int parse_dump(const uint8_t *bytes, size_t size, struct dw_jit_names *names, uint64_t *used,
                      bool is_first)
{
    return dw_jit_dump_parse(bytes, size, is_first, names, used);
}

static int parse_copy(parse parser, const uint8_t *bytes, size_t size, struct dw_jit_names *names,
                      uint64_t *used, bool is_first)
{
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, bytes, size);
    int error = parser(copy, size, names, used, is_first);
    free(copy);
    return error;
}

static void parse_parts(parse parser, const uint8_t *bytes, size_t size, size_t cut,
                        struct dw_jit_names *names)
{
    uint64_t used, more = 0;
    assert_int_equal(parse_copy(parser, bytes, cut, names, &used, true), 0);
    if (used < size)
        assert_int_equal(
            parse_copy(parser, bytes + used, size - (size_t)used, names, &more, used == 0), 0);
    assert_int_equal(used + more, size);
}

static void test_a_map_is_read_as_it_grows(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof map; cut++) {
        struct dw_jit_names names = {0};
        parse_parts(parse_map, (const uint8_t *)map, sizeof map - 1, cut, &names);
        assert_int_equal(names.count, 3);
        assert_string_equal(name_at(&names, 0x7f0010), "one");
        assert_string_equal(name_at(&names, 0x7f004f), "two words");
        assert_string_equal(name_at(&names, 0x7f0080), "last");
        dw_jit_names_release(&names);
    }
}

static size_t put(uint8_t *to, size_t at, const void *bytes, size_t size)
{
    memcpy(to + at, bytes, size);
    return at + size;
}

static size_t put_load(uint8_t *dump, size_t at, uint64_t address, const char *name, size_t code)
{
    uint32_t size = (uint32_t)(16 + 40 + strlen(name) + 1 + code);
    uint32_t head[4] = {0, size, 0, 0};
    uint64_t load[5] = {1, 0, address, code, 0};
    at = put(dump, at, head, sizeof head);
    at = put(dump, at, load, sizeof load);
    at = put(dump, at, name, strlen(name) + 1);
    memset(dump + at, 0xcc, code);
    return at + code;
}

static size_t make_dump(uint8_t *dump)
{
    uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, 1};
    uint32_t other[6] = {77, 24, 0, 0, 1, 2};
    uint32_t move_head[4] = {1, 16 + 48, 0, 0};
    uint64_t move[6] = {1, 0, 0x5000, 0x9000, 32, 0};
    size_t at = put(dump, 0, header, sizeof header);
    at = put_load(dump, at, 0x5000, "first", 32);
    at = put(dump, at, other, sizeof other);
    at = put_load(dump, at, 0x6000, "second", 5000);
    at = put(dump, at, move_head, sizeof move_head);
    return put(dump, at, move, sizeof move);
}

static void test_a_dump_is_read_as_it_grows(void **state)
{
    (void)state;
    static uint8_t dump[8192];
    size_t size = make_dump(dump);
    for (size_t cut = 0; cut <= size; cut++) {
        struct dw_jit_names names = {0};
        parse_parts(parse_dump, dump, size, cut, &names);
        assert_string_equal(name_at(&names, 0x5010), "first");
        assert_string_equal(name_at(&names, 0x6000 + 4999), "second");
        assert_string_equal(name_at(&names, 0x901f), "first");
        dw_jit_names_release(&names);
    }
}

static void test_a_dump_may_hold_anything(void **state)
{
    (void)state;
    static uint8_t dump[8192];
    size_t size = make_dump(dump);
    uint64_t used;
    for (size_t i = 0; i < 400; i++) {
        for (int bit = 0; bit < 8; bit++) {
            struct dw_jit_names names = {0};
            dump[i] ^= (uint8_t)(1 << bit);
            parse_copy(parse_dump, dump, size, &names, &used, true);
            dump[i] ^= (uint8_t)(1 << bit);
            dw_jit_names_release(&names);
        }
    }
    struct dw_jit_names names = {0};
    dump[0] ^= 1;
    assert_int_equal(parse_copy(parse_dump, dump, size, &names, &used, true), DW_ERR_DAMAGED);
    dump[0] ^= 1;
    memset(dump + 44, 0, 4); /* a record without a size */
    assert_int_equal(parse_copy(parse_dump, dump, size, &names, &used, true), DW_ERR_DAMAGED);
    dw_jit_names_release(&names);
}

/* Code of 32 bytes: 16 that keep 24 bytes on the stack from their fourth byte on, and 16 more. */
struct made {
    uint8_t *page;
    uint8_t object[2048];
    size_t size;
};

static size_t make_frame(uint8_t *frame, uint64_t code)
{
    static const uint8_t cie[] = {20, 0,    0,  0, 0, 0,    0, 0, 1,    'z', 'R', 0,
                                  1,  0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1,   0,   0};
    uint8_t fde[40] = {36, 0, 0, 0, 28};
    uint64_t size = 16;
    static const uint8_t rules[] = {0x44, 0x0e, 32}; /* from + 4 on the CFA is 32 away */
    memcpy(fde + 8, &code, sizeof code);
    memcpy(fde + 16, &size, sizeof size);
    memcpy(fde + 25, rules, sizeof rules);
    return put(frame, put(frame, 0, cie, sizeof cie), fde, sizeof fde);
}

static Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t flags, uint64_t address,
                          size_t offset, size_t size, uint32_t link)
{
    return (Elf64_Shdr){.sh_name = name,
                        .sh_type = type,
                        .sh_flags = flags,
                        .sh_addr = address,
                        .sh_offset = offset,
                        .sh_size = size,
                        .sh_link = link};
}

static void make_object(struct made *made, uint16_t type, const char *first, const char *second)
{
    static const char names[] = "\0.text\0.symtab\0.strtab\0.eh_frame";
    char texts[64];
    uint64_t code = (uint64_t)(uintptr_t)made->page, frame_address = code + PAGE / 2;
    int texts_size = snprintf(texts, sizeof texts, "%c%s%c%s", 0, first, 0, second) + 1;
    uint64_t base = type == ET_REL ? 0 : code;
    Elf64_Sym symbols[3] = {
        {0},
        {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, base, 16},
        {2 + (uint32_t)strlen(first), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, base + 16, 0}};
    uint8_t frame[128];
    size_t frame_size = make_frame(frame, code), at = sizeof(Elf64_Ehdr);
    Elf64_Shdr sections[6] = {{0}};
    memcpy(made->page + PAGE / 2, frame, frame_size);
    sections[1] = section(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, at, 32, 0);
    at += 32;
    sections[2] = section(7, SHT_SYMTAB, 0, 0, at, sizeof symbols, 3);
    at = put(made->object, at, symbols, sizeof symbols);
    sections[3] = section(15, SHT_STRTAB, 0, 0, at, (size_t)texts_size, 0);
    at = put(made->object, at, texts, (size_t)texts_size);
    sections[4] = section(23, SHT_PROGBITS, SHF_ALLOC, frame_address, at, frame_size, 0);
    at = put(made->object, at, frame, frame_size);
    sections[5] = section(15, SHT_STRTAB, 0, 0, at, sizeof names, 0);
    at = put(made->object, at, names, sizeof names);
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                         .e_type = type,
                         .e_shoff = at,
                         .e_shentsize = sizeof *sections,
                         .e_shnum = 6,
                         .e_shstrndx = 5};
    put(made->object, 0, &header, sizeof header);
    made->size = put(made->object, at, sections, sizeof sections);
}

static void open_made(struct made *made)
{
    made->page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made->page, MAP_FAILED);
}

static void test_objects_tell_names_linked_or_not(void **state)
{
    (void)state;
    static const uint16_t types[] = {ET_REL, ET_EXEC};
    struct made made = {0};
    open_made(&made);
    uint64_t code = (uint64_t)(uintptr_t)made.page;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct dw_jit_object object;
        make_object(&made, types[i], "one", "two");
        assert_int_equal(
            dw_jit_object_read(made.object, made.size, &dw_memory_own_checked, &object), 0);
        assert_string_equal(name_at(&object.names, code + 15), "one");
        assert_string_equal(name_at(&object.names, code + 31), "two");
        assert_string_equal(name_at(&object.names, code + 32), "");
        assert_int_equal(object.code_count, 1);
        assert_non_null(object.unwinding.bytes);
        dw_jit_object_release(&object);
    }
    munmap(made.page, PAGE);
}

static void read_copy(const uint8_t *bytes, size_t size)
{
    struct dw_jit_object object = {0};
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, bytes, size);
    dw_jit_object_read(copy, size, &dw_memory_own_checked, &object);
    dw_jit_object_release(&object);
    free(copy);
}

static void test_objects_may_hold_anything(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct made made = {0};
    open_made(&made);
    for (int type = ET_REL; type <= ET_EXEC; type++) {
        make_object(&made, (uint16_t)type, "one", "two");
        for (size_t size = 0; size <= made.size; size++)
            read_copy(made.object, size);
        for (size_t i = 0; i < made.size; i++) {
            uint8_t was = made.object[i];
            for (size_t k = 0; k < COUNT_OF(values); k++) {
                made.object[i] = values[k];
                read_copy(made.object, made.size);
            }
            made.object[i] = was;
        }
    }
    munmap(made.page, PAGE);
}

struct link {
    struct link *next, *previous;
    const void *object;
    uint64_t size;
};

static struct {
    uint32_t version, action;
    struct link *relevant, *first;
} list = {.version = 1};

static void open_jit(struct dw_jit *jit)
{
    assert_int_equal(dw_jit_init(jit, getpid(), &dw_memory_own_checked), 0);
    dw_jit_lists_add(&jit->lists, (uint64_t)(uintptr_t)&list);
}

static bool look(struct dw_jit *jit)
{
    bool changed;
    assert_int_equal(dw_jit_look_at_memory(jit, &changed), 0);
    assert_int_equal(dw_jit_look(jit, &changed), 0);
    jit->rests_ns = 0;
    return changed;
}

/* How far the CFA is from the stack pointer, by what walks are given; 0 when nothing tells. */
static int rule_at(const struct dw_jit *jit, uint64_t address)
{
    struct dw_unwind_module *modules = NULL;
    uint32_t count = 0;
    int offset = 0;
    assert_int_equal(dw_jit_merge_modules(jit, &modules, &count), 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct dw_unwind_module *module = &modules[i];
        assert_true(!i || modules[i - 1].end <= module->start);
        if (address < module->start || address >= module->end)
            continue;
        offset = -1;
        struct dw_unwind_cache *cache = dw_unwind_cache_new();
        uint64_t stack[16] = {0};
        for (size_t k = 0; k < COUNT_OF(stack); k++)
            stack[k] = 1; /* 0 would be the end */
        struct dw_unwinder unwinder = {.modules = {modules, count},
                                       .cache = cache,
                                       .stack = dw_memory_own,
                                       .code = dw_memory_own_checked,
                                       .doubt = dw_memory_own_checked,
                                       .stack_end = (uint64_t)(uintptr_t)(stack + 16)};
        struct dw_registers start = {.pc = address, .sp = (uint64_t)(uintptr_t)stack};
        struct dw_native_frame frames[2];
        bool complete;
        if (dw_unwind(&unwinder, &start, frames, 2, &complete) == 2 &&
            frames[1].how == DW_UNWIND_TABLE)
            offset = (int)(frames[1].sp - frames[0].sp);
        dw_unwind_cache_free(cache);
    }
    free(modules);
    return offset;
}

static void test_lists_tell_names_and_rules(void **state)
{
    (void)state;
    struct made made = {0};
    struct dw_jit jit;
    open_made(&made);
    open_jit(&jit);
    uint64_t code = (uint64_t)(uintptr_t)made.page;
    make_object(&made, ET_REL, "one", "two");
    struct link link = {.object = made.object, .size = made.size};
    assert_true(look(&jit)); /* the memory */
    assert_null(dw_jit_find(&jit, code));
    assert_int_equal(rule_at(&jit, code + 8), -1);
    assert_false(dw_jit_has_news(&jit));
    list.first = list.relevant = &link;
    assert_true(dw_jit_has_news(&jit));
    assert_true(look(&jit));
    assert_false(look(&jit));
    assert_string_equal(dw_jit_find(&jit, code), "one");
    assert_int_equal(rule_at(&jit, code), 8);
    assert_int_equal(rule_at(&jit, code + 4), 32);
    assert_int_equal(rule_at(&jit, code + 20), -1);
    assert_int_equal(rule_at(&jit, code + 100), -1);

    make_object(&made, ET_REL, "new", "two"); /* another one, all in the same place */
    assert_true(dw_jit_has_news(&jit));
    assert_true(look(&jit));
    assert_string_equal(dw_jit_find(&jit, code), "new");
    list.first = NULL;
    assert_true(look(&jit));
    assert_null(dw_jit_find(&jit, code));
    dw_jit_reap(&jit);
    munmap(made.page, PAGE);
    assert_true(look(&jit));
    assert_int_equal(rule_at(&jit, code), 0);
    dw_jit_release(&jit);
}

static void test_lists_may_lead_anywhere(void **state)
{
    (void)state;
    struct made made = {0};
    struct dw_jit jit;
    open_made(&made);
    open_jit(&jit);
    make_object(&made, ET_REL, "one", "two");
    struct link links[4] = {
        {.next = &links[1], .object = made.object, .size = UINT64_MAX},
        {.next = &links[2], .object = (const void *)8, .size = 1 << 20},
        {.next = &links[3], .object = NULL, .size = 100},
        {.next = &links[0], .object = made.object, .size = made.size},
    };
    list.first = links;
    look(&jit); /* in a circle */
    assert_string_equal(dw_jit_find(&jit, (uint64_t)(uintptr_t)made.page), "one");
    links[3].next = (struct link *)16;
    look(&jit);
    assert_string_equal(dw_jit_find(&jit, (uint64_t)(uintptr_t)made.page), "one");
    list.first = (struct link *)8;
    look(&jit);
    assert_null(dw_jit_find(&jit, (uint64_t)(uintptr_t)made.page));
    list.first = links;
    list.version = 2; /* of which we know nothing */
    look(&jit);
    assert_null(dw_jit_find(&jit, (uint64_t)(uintptr_t)made.page));
    list.version = 1;
    list.first = NULL;
    dw_jit_release(&jit);
    munmap(made.page, PAGE);
}

/* From the beginning of a page to empty memory. */
static void test_code_without_names_has_bounds(void **state)
{
    (void)state;
    struct dw_jit jit;
    struct dw_jit_range range;
    uint8_t *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    open_jit(&jit);
    uint64_t second = (uint64_t)(uintptr_t)memory + PAGE;
    memset(memory + PAGE, 0x90, PAGE + 100); /* over the end of a page */
    look(&jit);
    for (uint64_t at = second; at < second + PAGE + 100; at += 99) {
        assert_true(dw_jit_range(&jit, at, &range));
        assert_int_equal(range.start, second);
        assert_int_equal(range.end, second + PAGE + 100);
    }
    assert_false(dw_jit_range(&jit, second - 100, &range)); /* nothing is there */
    memset(memory, 0x90, 4 * PAGE);
    assert_false(dw_jit_range(&jit, second, &range)); /* it ends with the memory: who knows */
    dw_jit_release(&jit);
    munmap(memory, 4 * PAGE);
}

static void test_trampolines_are_described(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3",
        "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3",
        "\x55\x48\x89\xe5\xff\xd1\x5d\xc3",
        "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xff\xd1\x5d\xc3",
    };
    static const uint8_t after_call[] = {6, 10, 6, 10};
    struct made made = {0};
    struct dw_jit jit;
    open_made(&made);
    open_jit(&jit);
    uint64_t code = (uint64_t)(uintptr_t)made.page;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        memcpy(made.page + 16 * i, shapes[i], strlen(shapes[i]));
    memcpy(made.page + PAGE - 6, shapes[0], 6); /* cut */
    look(&jit);
    assert_false(dw_jit_is_trampoline(&jit, code)); /* these few may be somebody else's */
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        uint64_t at = code + 16 * i;
        assert_int_equal(rule_at(&jit, at), 8);
        assert_int_equal(rule_at(&jit, at + after_call[i]), 16);
        assert_int_equal(rule_at(&jit, at + strlen(shapes[i]) - 1), 8);
    }
    assert_int_equal(rule_at(&jit, code + 66), -1);
    assert_int_equal(rule_at(&jit, code + PAGE - 2), -1);
    munmap(made.page, PAGE);
    look(&jit);
    open_made(&made);
    for (size_t at = 0; at < PAGE; at += 240)
        memcpy(made.page + at, shapes[0], strlen(shapes[0]));
    look(&jit);
    assert_true(dw_jit_is_trampoline(&jit, (uint64_t)(uintptr_t)made.page));
    dw_jit_release(&jit);
    munmap(made.page, PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_added_last_counts),
        cmocka_unit_test(test_a_map_is_read_as_it_grows),
        cmocka_unit_test(test_a_dump_is_read_as_it_grows),
        cmocka_unit_test(test_a_dump_may_hold_anything),
        cmocka_unit_test(test_objects_tell_names_linked_or_not),
        cmocka_unit_test(test_objects_may_hold_anything),
        cmocka_unit_test(test_lists_tell_names_and_rules),
        cmocka_unit_test(test_lists_may_lead_anywhere),
        cmocka_unit_test(test_code_without_names_has_bounds),
        cmocka_unit_test(test_trampolines_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
