/* SPDX-License-Identifier: MIT
 * A file is read from where the last reading ended, until it is replaced or gets shorter: then it
 * is read from its beginning. Anybody may write to /tmp, so links are not followed and owners are
 * checked. */
#include "native/jit/jit_files.h"

#include "base/clock.h"
#include "base/error.h"
#include "native/jit/perf_map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (1u << 20)
#define MAX_FILE_BYTES ((uint64_t)4 << 30) /* a jitdump has all code in it */
#define MAX_READS 64                       /* at once */
#define EARLIER_NS 2000000000              /* the clocks of files and of processes are coarse */
#define PATH_BYTES (PATH_MAX + 32)

static int64_t in_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The last number is the one that the process has in its own namespace. */
static int inner_pid(int pid)
{
    char path[64], line[256];
    int inner = pid;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    if (!status)
        return pid;
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        const char *last = strrchr(line, '\t');
        inner = last ? atoi(last + 1) : pid;
    }
    fclose(status);
    return inner;
}

/* Ticks since the machine began, after the name, which may have anything in it. */
static int64_t begin_of(int pid)
{
    char path[64], line[1024];
    uint64_t ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *stat = fopen(path, "re");
    if (!stat)
        return 0;
    line[fread(line, 1, sizeof line - 1, stat)] = 0;
    fclose(stat);
    const char *name_end = strrchr(line, ')');
    if (!name_end || sscanf(name_end + 1,
                            " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%*s %*s %" SCNu64,
                            &ticks) != 1)
        return 0;
    int64_t up_ns = (int64_t)dw_clock_ns(CLOCK_BOOTTIME);
    int64_t age_ns = up_ns - (int64_t)(ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));
    return (int64_t)dw_clock_ns(CLOCK_REALTIME) - age_ns;
}

static int add_file(struct dw_jit_files *files, const char *path, bool is_dump)
{
    if (files->count == DW_JIT_FILES_MAX)
        return 0;
    char *copy = strdup(path);
    if (!copy)
        return DW_ERR_MEMORY;
    files->files[files->count++] = (struct dw_jit_file){.path = copy, .is_dump = is_dump};
    return 0;
}

int dw_jit_files_init(struct dw_jit_files *files, int pid)
{
    char path[64];
    struct stat process;
    bool is_own = pid == getpid();
    *files = (struct dw_jit_files){
        .pid = is_own ? pid : inner_pid(pid), .owner = geteuid(), .begun_ns = begin_of(pid)};
    if (!is_own) {
        snprintf(path, sizeof path, "/proc/%d", pid);
        if (stat(path, &process))
            return DW_ERR_ENDED;
        files->owner = process.st_uid;
        snprintf(files->root, sizeof files->root, "/proc/%d/root", pid);
    }
    snprintf(path, sizeof path, "/tmp/perf-%d.map", files->pid);
    return add_file(files, path, false);
}

bool dw_jit_files_is_dump(const struct dw_jit_files *files, const char *path)
{
    char name[64];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "/jit-%d.dump", files->pid);
    return slash && !strcmp(slash, name);
}

int dw_jit_files_add_dump(struct dw_jit_files *files, const char *path)
{
    for (uint32_t i = 0; i < files->count; i++)
        if (!strcmp(files->files[i].path, path))
            return 0;
    return add_file(files, path, true);
}

static bool is_trusted(const struct dw_jit_files *files, const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_uid == files->owner && status->st_size > 0 &&
           (uint64_t)status->st_size <= MAX_FILE_BYTES &&
           in_ns(status->st_mtim) >= files->begun_ns - EARLIER_NS;
}

static void full_path(const struct dw_jit_files *files, const struct dw_jit_file *file,
                      char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s%s", files->root, file->path);
}

static bool is_same(const struct dw_jit_file *file, const struct stat *status)
{
    return file->device == status->st_dev && file->inode == status->st_ino &&
           (uint64_t)status->st_size >= file->size;
}

bool dw_jit_files_have_news(const struct dw_jit_files *files)
{
    char path[PATH_BYTES];
    struct stat status;
    for (uint32_t i = 0; i < files->count; i++) {
        const struct dw_jit_file *file = &files->files[i];
        full_path(files, file, path);
        if (lstat(path, &status) || !is_trusted(files, &status))
            continue;
        if (!is_same(file, &status) || in_ns(status.st_mtim) != file->changed_ns ||
            (uint64_t)status.st_size != file->size)
            return true;
    }
    return false;
}

static int open_file(const struct dw_jit_files *files, const struct dw_jit_file *file,
                     struct stat *status)
{
    char path[PATH_BYTES];
    full_path(files, file, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (fd >= 0 && !fstat(fd, status) && is_trusted(files, status))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int parse(const struct dw_jit_file *file, const uint8_t *bytes, size_t size,
                 struct dw_jit_names *names, uint64_t *used)
{
    return file->is_dump ? dw_jit_dump_parse(bytes, size, !file->used, names, used)
                         : dw_perf_map_parse(bytes, size, names, used);
}

/* A file of which READ_BYTES hold nothing that can be used is not read again. */
static int read_new(struct dw_jit_file *file, int fd, uint8_t *bytes, struct dw_jit_names *names)
{
    int error = 0;
    for (int i = 0; i < MAX_READS && !error; i++) {
        uint64_t used = 0;
        ssize_t size = pread(fd, bytes, READ_BYTES, (off_t)file->used);
        if (size <= 0)
            break;
        error = parse(file, bytes, (size_t)size, names, &used);
        file->is_bad = error == DW_ERR_DAMAGED || (!used && size == READ_BYTES);
        file->used += used;
        if (!used || file->is_bad)
            break;
    }
    return error == DW_ERR_DAMAGED ? 0 : error;
}

static int read_file(struct dw_jit_files *files, struct dw_jit_file *file, uint8_t *bytes)
{
    struct stat status;
    int fd = open_file(files, file, &status);
    if (fd < 0)
        return 0;
    if (!is_same(file, &status)) {
        file->used = 0;
        file->is_bad = false;
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->size = (uint64_t)status.st_size;
    file->changed_ns = in_ns(status.st_mtim);
    int error = file->is_bad ? 0 : read_new(file, fd, bytes, &files->names);
    close(fd);
    return error;
}

int dw_jit_files_read(struct dw_jit_files *files, bool *changed)
{
    uint32_t last = files->names.last_number;
    if (!dw_jit_files_have_news(files))
        return 0;
    uint8_t *bytes = malloc(READ_BYTES);
    int error = bytes ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 0; i < files->count && !error; i++)
        error = read_file(files, &files->files[i], bytes);
    free(bytes);
    *changed |= last != files->names.last_number;
    return error;
}

void dw_jit_files_release(struct dw_jit_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        free(files->files[i].path);
    dw_jit_names_release(&files->names);
    *files = (struct dw_jit_files){0};
}
