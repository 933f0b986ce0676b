/* SPDX-License-Identifier: MIT
 * A table that stays in its file is read by a descriptor of our own. The program may close that, or
 * the file may be written anew, so both are checked before each read. */
#include "native/elf/symbol_names.h"

#include "base/error.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES_IN_MEMORY (4u << 20)
#define MAX_NAME_BYTES 65536u /* templates have made names of 20 kB */

/* Programs hardly use such numbers for their own files. */
#define LOWEST_FD 100

static int keep_in_file(const struct dw_elf *elf, struct dw_symbol_names *names)
{
    struct stat status;
    if (names->size > elf->size || names->offset > elf->size - names->size)
        return DW_ERR_DAMAGED;
    names->fd = fcntl(elf->fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (names->fd < 0 || fstat(names->fd, &status))
        return DW_ERR_IO;
    names->device = status.st_dev;
    names->inode = status.st_ino;
    names->changed_s = status.st_mtim.tv_sec;
    names->changed_ns = status.st_mtim.tv_nsec;
    return 0;
}

int dw_symbol_names_open(const struct dw_elf *elf, const Elf64_Shdr *strings,
                         struct dw_symbol_names *names)
{
    struct dw_symbol_names opened = {
        .fd = -1, .size = strings->sh_size, .offset = strings->sh_offset};
    bool is_small = strings->sh_size <= MAX_BYTES_IN_MEMORY;
    int error = strings->sh_type != SHT_STRTAB ? DW_ERR_DAMAGED
                : is_small                     ? dw_elf_read_section(elf, strings, &opened.bytes)
                                               : keep_in_file(elf, &opened);
    if (error)
        dw_symbol_names_release(&opened);
    else
        *names = opened;
    return error;
}

/* A program may close any fd and open another file under its number. */
static bool is_same_file(const struct dw_symbol_names *names, const struct stat *status)
{
    return status->st_dev == names->device && status->st_ino == names->inode;
}

static bool is_unchanged(const struct dw_symbol_names *names)
{
    struct stat status;
    return !fstat(names->fd, &status) && is_same_file(names, &status) &&
           status.st_mtim.tv_sec == names->changed_s && status.st_mtim.tv_nsec == names->changed_ns;
}

void dw_symbol_names_release(struct dw_symbol_names *names)
{
    struct stat status;
    free(names->bytes);
    if (names->fd >= 0 && !fstat(names->fd, &status) && is_same_file(names, &status))
        close(names->fd);
    *names = (struct dw_symbol_names){.fd = -1};
}

static char *join(const char *name, size_t size, const char *suffix)
{
    char *text = size ? malloc(size + strlen(suffix) + 1) : NULL;
    if (text) {
        memcpy(text, name, size);
        strcpy(text + size, suffix);
    }
    return text;
}

/* Reads twice at most: few names are longer than the first attempt. */
static char *read_name(const struct dw_symbol_names *names, uint32_t at, const char *suffix)
{
    uint64_t left = names->size - at;
    char *text = NULL;
    for (uint64_t size = 512; !text; size = MAX_NAME_BYTES) {
        size = size < left ? size : left;
        char *bytes = malloc(size);
        ssize_t got = bytes ? pread(names->fd, bytes, size, (off_t)(names->offset + at)) : -1;
        size_t length = got > 0 ? strnlen(bytes, (size_t)got) : 0;
        bool is_whole = got > 0 && length < (size_t)got;
        if (is_whole)
            text = join(bytes, length, suffix);
        free(bytes);
        if (is_whole || size == left || size == MAX_NAME_BYTES || got <= 0)
            break;
    }
    return text;
}

char *dw_symbol_name_copy(const struct dw_symbol_names *names, uint32_t at, const char *suffix)
{
    if (at >= names->size)
        return NULL;
    if (names->bytes)
        return join(names->bytes + at, strlen(names->bytes + at), suffix);
    return names->fd >= 0 && is_unchanged(names) ? read_name(names, at, suffix) : NULL;
}
