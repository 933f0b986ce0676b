/* SPDX-License-Identifier: MIT
 * Each chunk is one write. The first error is remembered, and ends the log. */
#include "log/writing.h"

#include "base/error.h"
#include "base/file.h"
#include "log/log_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define KEPT_BYTES (1u << 18) /* of a buffer, between chunks */
#define COMPRESSION_LEVEL 1

static void fail(struct dw_log_writer *writer, int error)
{
    if (writer->error)
        return;
    writer->error = error;
    writer->saved_errno = errno;
}

/* The number may be that of another file by now, which must not get our bytes. */
static bool has_our_file(const struct dw_log_writer *writer, struct stat *now)
{
    return !fstat(writer->fd, now) && now->st_dev == writer->device && now->st_ino == writer->inode;
}

static void write_all(struct dw_log_writer *writer, const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; !writer->error && done < size;) {
        ssize_t wrote = write(writer->fd, bytes + done, size - done);
        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            fail(writer, DW_ERR_IO);
    }
}

/* A file that somebody cut to nothing begins again: what was in it is lost, but what follows is
 * still known for a log. */
static void append_to_file(struct dw_log_writer *writer, const uint8_t *bytes, size_t size)
{
    struct stat now;
    uint8_t header[DW_LOG_HEADER_SIZE];
    if (!has_our_file(writer, &now)) {
        errno = EBADF;
        fail(writer, DW_ERR_IO);
    } else if (writer->bytes && S_ISREG(now.st_mode) && !now.st_size) {
        dw_log_header_put(header);
        (void)lseek(writer->fd, 0, SEEK_SET);
        write_all(writer, header, sizeof header);
    }
    write_all(writer, bytes, size);
}

static void append(struct dw_log_writer *writer, const uint8_t *bytes, size_t size)
{
    if (writer->fd < 0) {
        dw_buffer_append(&writer->memory, bytes, size);
        if (writer->memory.failed)
            fail(writer, DW_ERR_MEMORY);
    } else if (!writer->error) {
        append_to_file(writer, bytes, size);
    }
    writer->bytes += size;
}

static int open_writer(struct dw_log_writer *writer, int fd)
{
    struct stat file = {0};
    *writer = (struct dw_log_writer){.fd = fd,
                                     .compressor = ZSTD_createCCtx(),
                                     .payload.has_pages = true,
                                     .frame.has_pages = true};
    if (fd >= 0 && fstat(fd, &file))
        return DW_ERR_IO;
    writer->device = file.st_dev;
    writer->inode = file.st_ino;
    return writer->compressor ? 0 : DW_ERR_MEMORY;
}

static int begin_file(struct dw_log_writer *writer)
{
    uint8_t header[DW_LOG_HEADER_SIZE];
    dw_log_header_put(header);
    append(writer, header, sizeof header);
    return writer->error;
}

int dw_log_writer_init(struct dw_log_writer *writer, int fd)
{
    int error = open_writer(writer, fd);
    return error ? error : begin_file(writer);
}

void dw_log_writer_release(struct dw_log_writer *writer)
{
    ZSTD_freeCCtx(writer->compressor);
    dw_buffer_release(&writer->memory);
    dw_buffer_release(&writer->payload);
    dw_buffer_release(&writer->frame);
}

bool dw_log_may_replace(const char *path)
{
    char head[DW_LOG_MAGIC_SIZE];
    struct stat file;
    if (stat(path, &file) || !S_ISREG(file.st_mode) || !file.st_size)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* the trouble is told when it is to be written */
    bool is_log =
        read(fd, head, sizeof head) == sizeof head && !memcmp(head, DW_LOG_MAGIC, sizeof head);
    close(fd);
    errno = EEXIST;
    return is_log;
}

/* A recording tells much of its program: it is for the one who made it, unless that one gives the
 * file another mode. A pipe that nobody reads is refused rather than waited for. */
static int open_file(const char *path)
{
    if (!dw_log_may_replace(path))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

/* In a directory where others may write, one of them may have put something there that has our
 * name: a link to a file of ours, or a file that is theirs. */
static bool is_our_own(int fd)
{
    struct stat file;
    return !fstat(fd, &file) && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
           file.st_nlink == 1;
}

static int open_own_file(const char *path)
{
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    fd = dw_log_may_replace(path) ? open(path, flags) : -1;
    if (fd >= 0 && is_our_own(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    errno = EEXIST;
    return -1;
}

int dw_log_claim(const char *path)
{
    int fd = open_own_file(path);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? DW_ERR_IO : 0;
}

int dw_log_writer_create(struct dw_log_writer *writer, const char *path)
{
    int fd = !path ? -1 : dw_log_is_made_up(path) ? open_own_file(path) : open_file(path);
    if (fd >= 0)
        dw_fd_move(&fd);
    *writer = (struct dw_log_writer){.fd = -1};
    int error = path && fd < 0 ? DW_ERR_IO : open_writer(writer, fd);
    if (error) {
        fail(writer, error);
        if (fd >= 0)
            close(fd);
        writer->fd = -1;
        return dw_log_writer_error(writer);
    }
    (void)!ftruncate(fd, 0); /* devices and pipes have nothing to cut */
    return begin_file(writer);
}

int dw_log_writer_close(struct dw_log_writer *writer)
{
    struct stat now;
    bool is_open = writer->fd >= 0 && has_our_file(writer, &now);
    int error = is_open && close(writer->fd) ? DW_ERR_IO : 0;
    writer->fd = -1;
    return error;
}

int dw_log_writer_error(const struct dw_log_writer *writer)
{
    errno = writer->saved_errno;
    return writer->error;
}

/* A large chunk, as of the text of a source, is rare. The buffers are in pages of their own then.
 */
static void keep_small(struct dw_buffer *buffer)
{
    if (buffer->capacity > KEPT_BYTES)
        dw_buffer_release(buffer);
}

/* Header and payload leave in one write, so that a kill tears at most this chunk. */
void dw_log_chunk_write_prefixed(struct dw_log_writer *writer, enum dw_chunk_type type,
                                 const uint8_t *prefix, size_t prefix_size)
{
    if (writer->error)
        return;
    size_t raw_size = writer->payload.size;
    size_t bound = ZSTD_compressBound(raw_size);
    dw_buffer_clear(&writer->frame);
    uint8_t *frame = dw_buffer_reserve(&writer->frame, DW_CHUNK_HEADER_SIZE + prefix_size + bound);
    if (writer->payload.failed || !frame)
        return fail(writer, DW_ERR_MEMORY);
    if (raw_size > DW_CHUNK_RAW_MAX)
        return fail(writer, DW_ERR_TOO_LARGE);
    uint8_t *stored = frame + DW_CHUNK_HEADER_SIZE;
    if (prefix_size)
        memcpy(stored, prefix, prefix_size);
    size_t packed = ZSTD_compressCCtx(writer->compressor, stored + prefix_size, bound,
                                      writer->payload.data, raw_size, COMPRESSION_LEVEL);
    if (ZSTD_isError(packed))
        return fail(writer, DW_ERR_MEMORY);
    struct dw_chunk chunk = {
        .type = (uint16_t)type,
        .stream = writer->stream,
        .sequence = writer->sequence++,
        .raw_size = (uint32_t)raw_size,
        .stored_size = (uint32_t)(prefix_size + packed),
        .stored = stored,
    };
    dw_chunk_put(frame, &chunk);
    append(writer, frame, DW_CHUNK_HEADER_SIZE + chunk.stored_size);
    keep_small(&writer->frame);
    keep_small(&writer->payload);
}

void dw_log_chunk_write(struct dw_log_writer *writer, enum dw_chunk_type type)
{
    dw_log_chunk_write_prefixed(writer, type, NULL, 0);
}
