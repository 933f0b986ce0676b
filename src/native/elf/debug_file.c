/* SPDX-License-Identifier: MIT
 * Looks where gdb looks, the directories of the user first. A candidate counts only if its build
 * id, or the checksum in .gnu_debuglink, fits. */
#include "native/elf/debug_file.h"

#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* What is looked for, as the file itself describes its debug file. */
struct wanted {
    const struct dw_elf *elf;
    const char *directory; /* of the file */
    int directory_length;
    char *link; /* name of the debug file; owned, NULL: not stated */
    uint32_t link_crc;
};

static bool has_crc(int fd, uint32_t crc)
{
    uint8_t bytes[16384];
    ssize_t got;
    uLong sum = crc32(0, NULL, 0);
    for (off_t at = 0; (got = pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
        sum = crc32(sum, bytes, (uInt)got);
    return !got && sum == crc;
}

/* The name, and after it at a multiple of 4 the checksum. */
static void read_link(struct wanted *wanted)
{
    const Elf64_Shdr *section = dw_elf_section(wanted->elf, ".gnu_debuglink");
    char *link;
    if (!section || dw_elf_read_section(wanted->elf, section, &link))
        return;
    uint64_t crc_at = (strlen(link) + 4) & ~(uint64_t)3;
    if (*link && !strchr(link, '/') && section->sh_size >= crc_at + sizeof wanted->link_crc) {
        memcpy(&wanted->link_crc, link + crc_at, sizeof wanted->link_crc);
        wanted->link = link;
    } else {
        free(link);
    }
}

/* A build id proves it. The checksum of a large file takes long, so it is used only without one. */
static bool belongs(const struct wanted *wanted, int fd)
{
    struct dw_elf debug;
    if (dw_elf_open(fd, &debug))
        return false;
    uint32_t id_size = wanted->elf->build_id_size;
    bool result = id_size && debug.build_id_size
                      ? dw_elf_has_build_id(&debug, wanted->elf->build_id, id_size)
                      : wanted->link && has_crc(fd, wanted->link_crc);
    dw_elf_release(&debug);
    return result;
}

static int try_open(const struct wanted *wanted, const char *path)
{
    struct stat status;
    int fd = dw_file_open_regular(path, &status);
    if (fd >= 0 && belongs(wanted, fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ROOT/.build-id/ab/cdef.debug */
static int try_build_id(const struct wanted *wanted, const char *root, int root_length)
{
    char path[PATH_MAX];
    const uint8_t *id = wanted->elf->build_id;
    uint32_t size = wanted->elf->build_id_size;
    if (size < 2)
        return -1;
    int length =
        snprintf(path, sizeof path, "%.*s/.build-id/%02x/", root_length, root, (unsigned)id[0]);
    if (length < 0 || (size_t)length + 2 * size + sizeof ".debug" > sizeof path)
        return -1;
    char *end = path + length;
    for (uint32_t i = 1; i < size; i++, end += 2)
        sprintf(end, "%02x", (unsigned)id[i]);
    strcpy(end, ".debug");
    return try_open(wanted, path);
}

/* PREFIX[/directory of the file][/MIDDLE]/link */
static int try_link(const struct wanted *wanted, const char *prefix, int prefix_length,
                    bool in_directory, const char *middle)
{
    char path[PATH_MAX];
    if (!wanted->link)
        return -1;
    int length = snprintf(path, sizeof path, "%.*s%.*s%s/%s", prefix_length, prefix,
                          in_directory ? wanted->directory_length : 0, wanted->directory, middle,
                          wanted->link);
    return length > 0 && (size_t)length < sizeof path ? try_open(wanted, path) : -1;
}

static int try_root(const struct wanted *wanted, const char *root, int length)
{
    int fd = try_build_id(wanted, root, length);
    if (fd < 0)
        fd = try_link(wanted, root, length, true, "");
    return fd < 0 ? try_link(wanted, root, length, false, "") : fd;
}

static int try_roots(const struct wanted *wanted, const char *directories)
{
    int fd = -1;
    while (directories && *directories && fd < 0) {
        size_t length = strcspn(directories, ":");
        if (length && length < PATH_MAX)
            fd = try_root(wanted, directories, (int)length);
        directories += length + (directories[length] == ':');
    }
    return fd < 0 ? try_root(wanted, DW_DEBUG_DIRECTORY, (int)strlen(DW_DEBUG_DIRECTORY)) : fd;
}

int dw_debug_file_open(const struct dw_elf *elf, const char *path, const char *directories)
{
    const char *slash = strrchr(path, '/');
    struct wanted wanted = {.elf = elf,
                            .directory = slash ? path : ".",
                            .directory_length = slash ? (int)(slash - path) : 1};
    if (slash && slash - path >= PATH_MAX)
        return -1;
    read_link(&wanted);
    int fd = try_roots(&wanted, directories);
    if (fd < 0)
        fd = try_link(&wanted, "", 0, true, "/.debug");
    if (fd < 0)
        fd = try_link(&wanted, "", 0, true, "");
    free(wanted.link);
    return fd;
}
