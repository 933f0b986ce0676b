/* SPDX-License-Identifier: MIT
 * A path is opened from the process's own root, with its rights, and only if it is a regular file.
 * Names of functions must be found at their lines, or it is not the file that runs. */
#include "attach/target/target_source.h"

#include "base/error.h"
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HEADER_LINES 100 /* decorators at most, before the name of a function */

/* The kernel's files about processes would tell about us. */
static bool is_plain_file(int fd)
{
    struct stat status;
    struct statfs system;
    return !fstat(fd, &status) && S_ISREG(status.st_mode) && !fstatfs(fd, &system) &&
           system.f_type != PROC_SUPER_MAGIC;
}

/* The file is found first and opened only then, since opening a device can have effects. */
static int open_found(int found)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", found);
    return is_plain_file(found) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
}

/* Links lead where they lead in the process's root. */
static int open_below(int directory, const char *name)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_NO_MAGICLINKS | (*name == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH),
    };
    int found = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    int fd = found < 0 ? -1 : open_found(found);
    if (found >= 0)
        close(found);
    return fd;
}

static int open_directory(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_source(const struct dw_target_sources *sources, const char *name)
{
    struct dw_credentials own;
    int directory = open_directory(sources->pid, *name == '/' ? "root" : "cwd"), fd = -1;
    if (directory < 0 && *name == '/' && sources->root >= 0)
        directory = fcntl(sources->root, F_DUPFD_CLOEXEC, 0);
    if (directory < 0)
        return -1;
    if (dw_credentials_take(&sources->credentials, &own)) {
        fd = open_below(directory, name);
        dw_credentials_give_back(&own);
        dw_credentials_release(&own);
    }
    close(directory);
    return fd;
}

/* Whether the process has the rights that it had. A user who has no special ones cannot lose any.
 * Others may have had fewer when the file was named, and have regained them by running a program:
 * once seen with other rights, or ended, a process is not believed any more. */
static bool has_kept_rights(struct dw_target_sources *sources)
{
    struct dw_credentials now;
    const struct dw_credentials *first = &sources->credentials;
    if (sources->is_over ||
        (first->uids[0] && !first->capabilities && dw_credentials_are_simple(first)))
        return !sources->is_over;
    bool is_so = !dw_credentials_read(sources->pid, &now) &&
                 dw_credentials_equal(&now, &sources->credentials) &&
                 dw_credentials_are_simple(&now);
    dw_credentials_release(&now);
    sources->is_over = !is_so;
    return is_so;
}

static const char *skip_lines(const char *at, const char *end, uint32_t count)
{
    for (; at && count; count--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return at && at < end ? at : NULL;
}

/* The name as it is in the source: "f" of "C.f". Empty when it is not there, as "<module>", or may
 * be written otherwise. */
static struct dw_string written_name(struct dw_string name)
{
    struct dw_string none = {0};
    for (size_t i = name.size; i-- > 0;) {
        if (name.bytes[i] == '.')
            return (struct dw_string){name.bytes + i + 1, name.size - i - 1};
        if (!isalnum((unsigned char)name.bytes[i]) && name.bytes[i] != '_')
            return none;
    }
    return name;
}

static bool has_name(const char *at, const char *end, struct dw_string name)
{
    const char *after = skip_lines(at, end, HEADER_LINES);
    return memmem(at, (size_t)((after ? after : end) - at), name.bytes, name.size);
}

/* Whether functions of that file begin where their names are. Code that a program has made, of
 * templates for instance, can have other lines than the file that it names, and some of a file's
 * functions can be made. */
static bool fits(const struct dw_ledger *log, dw_string_id file, struct dw_string text, bool is_cut)
{
    uint32_t asked = 0, found = 0;
    const char *end = text.bytes + text.size;
    for (uint32_t i = 0; i < log->frames.count; i++) {
        const struct dw_frame *frame = &log->frames.frames[i];
        if (frame->file != file || frame->kind != DW_FRAME_FUNCTION)
            continue;
        const char *line = skip_lines(text.bytes, end, frame->line ? frame->line - 1 : 0);
        struct dw_string name = written_name(log->strings.strings[frame->name]);
        if (!line && is_cut)
            continue;
        asked += name.size || !line;
        found += line && name.size && has_name(line, end, name);
    }
    return 2 * found >= asked;
}

static int read_source(void *context, dw_string_id id, size_t most, struct dw_file *file)
{
    struct dw_target_sources *sources = context;
    const struct dw_ledger *log = *sources->log;
    struct dw_string name = log->strings.strings[id];
    if (!has_kept_rights(sources) || strlen(name.bytes) != name.size)
        return DW_ERR_PERMISSION;
    int fd = open_source(sources, name.bytes);
    int error = fd < 0 ? DW_ERR_IO : dw_file_read_head(fd, most, file);
    if (fd >= 0)
        close(fd);
    if (error)
        return error;
    struct dw_string text = {(const char *)file->data, file->size};
    if (fits(log, id, text, text.size == most))
        return 0;
    dw_file_close(file);
    return DW_ERR_STALE;
}

int dw_target_sources_init(struct dw_target_sources *sources, pid_t pid,
                           struct dw_ledger *const *log)
{
    *sources = (struct dw_target_sources){.pid = pid, .log = log};
    sources->reader = (struct dw_source_reader){read_source, sources};
    sources->root = open_directory(pid, "root");
    int error = dw_credentials_read(pid, &sources->credentials);
    sources->is_over = error != 0;
    return error == DW_ERR_MEMORY ? error : 0;
}

void dw_target_sources_release(struct dw_target_sources *sources)
{
    dw_credentials_release(&sources->credentials);
    if (sources->root >= 0)
        close(sources->root);
    sources->root = -1;
}
