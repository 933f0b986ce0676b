/* SPDX-License-Identifier: MIT
 * A process is named by its id and the time of its start, since ids are used again. A failed read
 * tells whether the process has ended, may not be read, or has no such memory. */
#include "attach/target/target.h"

#include "attach/target/task.h"
#include "base/error.h"
#include "base/grow.h"
#include "native/elf/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define PATH_BYTES 4352 /* PATH_MAX and a prefix under /proc */

static FILE *open_entry(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* Why an entry could not be opened. */
static int open_error(int otherwise)
{
    return errno == EMFILE || errno == ENFILE  ? DW_ERR_IO
           : errno == EACCES || errno == EPERM ? DW_ERR_PERMISSION
                                               : otherwise;
}

/* Whether it has ended, and when it was started. A first thread that is gone is not the end while
 * there are others, one of which may be becoming another program. */
static int read_stat(pid_t pid, bool *has_ended, uint64_t *start_ticks)
{
    char line[1024];
    struct dw_task_stat stat;
    FILE *file = open_entry(pid, "stat");
    if (!file)
        return open_error(DW_ERR_NO_PROCESS);
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    if (!dw_task_stat_parse(line, &stat))
        return DW_ERR_NO_PROCESS;
    *start_ticks = stat.start_ticks;
    *has_ended = stat.threads <= 1 && strchr("ZXx", stat.state);
    return 0;
}

bool dw_mapping_parse(const char *line, struct dw_mapping *mapping)
{
    char writable;
    int path_at = 0;
    struct dw_mapping found;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c%*c%*c %" SCNx64 " %*s %*s %n", &found.start,
               &found.end, &writable, &found.file_offset, &path_at) != 4 ||
        !path_at || found.end <= found.start)
        return false;
    found.writable = writable == 'w';
    found.path = strndup(line + path_at, strcspn(line + path_at, "\n"));
    if (!found.path)
        return false;
    dw_path_cut_deleted(found.path);
    *mapping = found;
    return true;
}

static int read_mappings(struct dw_target *target)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = open_entry(target->pid, "maps");
    if (!file)
        return open_error(DW_ERR_ENDED);
    int error = 0;
    while (!error && getline(&line, &capacity, file) > 0) {
        error = DW_GROW(target->mappings, target->count, target->capacity);
        if (!error && dw_mapping_parse(line, &target->mappings[target->count]))
            target->count++;
    }
    free(line);
    fclose(file);
    return error;
}

static int read_program(struct dw_target *target)
{
    char link[64], path[PATH_BYTES];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)target->pid);
    ssize_t size = readlink(link, path, sizeof path);
    target->program = strndup(path, size > 0 ? (size_t)size : 0);
    if (!target->program)
        return DW_ERR_MEMORY;
    dw_path_cut_deleted(target->program);
    return 0;
}

int dw_target_open(pid_t pid, struct dw_target *target)
{
    bool has_ended;
    struct dw_target opened = {.pid = pid};
    int error = read_stat(pid, &has_ended, &opened.start_ticks);
    if (!error && has_ended)
        error = DW_ERR_ENDED;
    if (!error)
        error = read_program(&opened);
    if (!error)
        error = read_mappings(&opened);
    if (error)
        dw_target_release(&opened);
    else
        *target = opened;
    return error;
}

void dw_target_release(struct dw_target *target)
{
    for (uint32_t i = 0; i < target->count; i++)
        free(target->mappings[i].path);
    free(target->mappings);
    free(target->program);
    *target = (struct dw_target){0};
}

static int read_error(void)
{
    return errno == EPERM || errno == ENOSYS ? DW_ERR_PERMISSION
           : errno == ESRCH                  ? DW_ERR_ENDED
                                             : DW_ERR_UNREADABLE;
}

int dw_target_read(const struct dw_target *target, uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(target->pid, &local, 1, &remote, 1, 0);
    if (got == (ssize_t)size)
        return 0;
    return got < 0 ? read_error() : DW_ERR_UNREADABLE;
}

int dw_target_read_u64(const struct dw_target *target, uint64_t address, uint64_t *value)
{
    uint64_t word;
    int error = dw_target_read(target, address, &word, sizeof word);
    if (!error)
        *value = word;
    return error;
}

/* Without /proc/PID/stat to read, its memory tells, which is gone when it ends. */
bool dw_target_is_alive(const struct dw_target *target)
{
    bool has_ended;
    uint64_t start_ticks, word;
    int error = read_stat(target->pid, &has_ended, &start_ticks);
    if (error == DW_ERR_IO)
        return dw_target_read_u64(target, 0, &word) != DW_ERR_ENDED;
    return !error && !has_ended && start_ticks == target->start_ticks;
}

size_t dw_target_read_two(const struct dw_target *target, const uint64_t addresses[2],
                          void *const to[2], const size_t sizes[2])
{
    struct iovec local[2], remote[2];
    for (int i = 0; i < 2; i++) {
        local[i] = (struct iovec){to[i], sizes[i]};
        remote[i] = (struct iovec){(void *)(uintptr_t)addresses[i], sizes[i]};
    }
    ssize_t got = process_vm_readv(target->pid, local, 2, remote, 2, 0);
    return got < 0 ? 0 : (size_t)got;
}

uint32_t dw_target_read_each(const struct dw_target *target, const uint64_t *addresses,
                             uint32_t count, size_t size, void *to)
{
    struct iovec local = {to, count * size}, remote[DW_TARGET_READ_EACH];
    for (uint32_t i = 0; i < count; i++)
        remote[i] = (struct iovec){(void *)(uintptr_t)addresses[i], size};
    ssize_t got = process_vm_readv(target->pid, &local, 1, remote, count, 0);
    return got < 0 ? 0 : (uint32_t)((size_t)got / size);
}

size_t dw_target_read_most(const struct dw_target *target, uint64_t address, void *to, size_t size)
{
    if (!dw_target_read(target, address, to, size))
        return size;
    size_t done = 0;
    while (done < size) {
        uint64_t at = address + done;
        size_t part = PAGE_BYTES - (size_t)(at % PAGE_BYTES);
        part = part < size - done ? part : size - done;
        if (dw_target_read(target, at, (char *)to + done, part))
            break;
        done += part;
    }
    return done;
}

/* Whether the file begins with the bytes that the process has mapped. The first page holds
 * the headers and nearly always the build id. */
static bool is_mapped_file(const struct dw_target *target, const struct dw_mapping *mapping, int fd)
{
    uint8_t file[PAGE_BYTES], memory[PAGE_BYTES];
    ssize_t size = pread(fd, file, sizeof file, (off_t)mapping->file_offset);
    return size > 0 && !dw_target_read(target, mapping->start, memory, (size_t)size) &&
           !memcmp(file, memory, (size_t)size);
}

int dw_target_open_file(const struct dw_target *target, const struct dw_mapping *mapping)
{
    char ways[4][PATH_BYTES];
    int pid = (int)target->pid;
    bool is_program = !strcmp(mapping->path, target->program);
    snprintf(ways[0], PATH_BYTES, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
             mapping->end);
    snprintf(ways[1], PATH_BYTES, "/proc/%d/exe", pid);
    snprintf(ways[2], PATH_BYTES, "/proc/%d/root%s", pid, mapping->path);
    snprintf(ways[3], PATH_BYTES, "%s", mapping->path);
    for (int i = 0; i < 4; i++) {
        int fd = i == 1 && !is_program ? -1 : open(ways[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 && is_mapped_file(target, mapping, fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}
