/* SPDX-License-Identifier: MIT
 * Plain reads where memory is known to be there, and reads by the kernel where it may not be. errno
 * stays as it was, since handlers read too. */
#include "native/elf/memory.h"

#include "native/elf/elf_image.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define NOT_SANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))

struct any_word {
    uint64_t value;
} __attribute__((packed, may_alias));

/* Stacks are read across the red zones of sanitizers. Volatile keeps the compiler from turning the
 * loops into a memcpy, which sanitizers would check. */
NOT_SANITIZED
static bool read_own(void *context, uint64_t address, void *to, size_t size)
{
    (void)context;
    const volatile struct any_word *words = (const volatile struct any_word *)(uintptr_t)address;
    struct any_word *copies = to;
    size_t count = size / sizeof *words;
    for (size_t i = 0; i < count; i++)
        copies[i].value = words[i].value;
    const volatile uint8_t *bytes = (const volatile uint8_t *)(words + count);
    uint8_t *rest = (uint8_t *)(copies + count);
    for (size_t i = 0; i < size % sizeof *words; i++)
        rest[i] = bytes[i];
    return true;
}

static bool read_own_checked(void *context, uint64_t address, void *to, size_t size)
{
    (void)context;
    int error_before = errno;
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    bool done = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
    errno = error_before;
    return done;
}

bool dw_memory_read_paged(void *context, uint64_t address, void *to, size_t size)
{
    struct dw_checked_page *checked = context;
    uint64_t first = address / DW_PAGE_BYTES + 1, last = (address + size - 1) / DW_PAGE_BYTES + 1;
    if (first == checked->number && last == first)
        return read_own(NULL, address, to, size);
    bool done = read_own_checked(NULL, address, to, size);
    checked->number = done ? last : 0;
    return done;
}

bool dw_memory_read_copied(void *context, uint64_t address, void *to, size_t size)
{
    struct dw_copied_page *page = context;
    uint64_t at = address % sizeof page->bytes, start = address - at;
    if (size > sizeof page->bytes - at)
        return read_own_checked(NULL, address, to, size);
    if (page->start != start && !read_own_checked(NULL, start, page->bytes, sizeof page->bytes)) {
        page->start = 0;
        return false;
    }
    page->start = start;
    memcpy(to, page->bytes + at, size);
    return true;
}

const struct dw_memory dw_memory_own = {read_own, NULL};
const struct dw_memory dw_memory_own_checked = {read_own_checked, NULL};
