/* SPDX-License-Identifier: MIT */
#include "import/object.h"

#include "native/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 64
#define PAGE_BYTES 4096u

/* Where the byte at `offset` wants to be in memory. */
static bool find_address(const struct dw_elf *elf, uint64_t offset, uint64_t *address)
{
    Elf64_Ehdr header;
    if (dw_elf_read(elf, 0, &header, sizeof header) || header.e_phnum > SEGMENTS_MAX)
        return false;
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (dw_elf_read(elf, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return false;
        uint64_t page = segment.p_offset & ~(uint64_t)(PAGE_BYTES - 1);
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || offset < page ||
            offset - page >= segment.p_filesz + PAGE_BYTES)
            continue;
        *address = segment.p_vaddr - segment.p_offset + offset;
        return true;
    }
    return false;
}

static uint64_t find_bias(int fd, uint64_t start, uint64_t offset)
{
    struct dw_elf elf;
    uint64_t address = offset;
    if (dw_elf_open(fd, &elf))
        return start - offset;
    find_address(&elf, offset, &address);
    dw_elf_release(&elf);
    return start - address;
}

static bool is_newer(const struct stat *status, uint64_t written_ns)
{
    uint64_t changed_ns =
        (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
    return changed_ns > written_ns;
}

/* The path comes from a file: it may be a pipe or worse. */
static int open_unchanged(const char *path, uint64_t written_ns)
{
    struct stat status;
    int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd >= 0 &&
        (fstat(fd, &status) || !S_ISREG(status.st_mode) || is_newer(&status, written_ns))) {
        close(fd);
        return -1;
    }
    return fd;
}

void dw_object_open(struct dw_object *object, const char *path, uint64_t start, uint64_t offset,
                    uint64_t written_ns)
{
    int fd = open_unchanged(path, written_ns);
    *object = (struct dw_object){.bias = start - offset};
    if (fd < 0)
        return;
    object->bias = find_bias(fd, start, offset);
    if (dw_symbols_open(fd, path, NULL, 0, &object->symbols))
        object->symbols = NULL;
    close(fd);
}

void dw_object_close(struct dw_object *object)
{
    if (object->symbols)
        dw_symbols_close(object->symbols);
    object->symbols = NULL;
}
