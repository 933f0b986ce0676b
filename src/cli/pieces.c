/* SPDX-License-Identifier: MIT
 * Each file is read twice: its processes, by whose start files are sorted, then all of it, to be
 * added to the result. */
#include "cli/pieces.h"

#include "base/error.h"
#include "base/grow.h"
#include "base/order.h"
#include "cli/cli.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"
#include "log/chunk.h"
#include "log/reader.h"
#include "log/save.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_BYTES (16 << 20)

int dw_pieces_add(struct dw_pieces *pieces, char *file)
{
    int error = DW_GROW(pieces->pieces, pieces->count, pieces->capacity);
    if (!error)
        pieces->pieces[pieces->count++] = (struct dw_piece){.file = file};
    return error;
}

void dw_pieces_release(struct dw_pieces *pieces)
{
    free(pieces->pieces);
    *pieces = (struct dw_pieces){0};
}

static int compare_pieces(const void *left, const void *right)
{
    const struct dw_piece *a = left, *b = right;
    return dw_ascending(a->start_ns, b->start_ns) ?: memcmp(a->uuid, b->uuid, sizeof a->uuid)
           ?: strcmp(a->file, b->file);
}

static void copy_name(const struct dw_profile *profile, uint32_t process, const char *key,
                      char name[DW_PIECE_NAME_MAX])
{
    struct dw_string text = dw_profile_property(profile, process, key);
    snprintf(name, DW_PIECE_NAME_MAX, "%.*s", (int)text.size, text.bytes);
}

/* What cannot be read stays as it is; merging will say why. */
static void identify(struct dw_piece *piece)
{
    struct dw_profile *profile;
    uint32_t *order = NULL;
    if (dw_profile_new(&profile))
        return;
    bool known = !dw_log_read_file(piece->file, DW_READ_PROCESSES, profile) &&
                 profile->process_count && !dw_roster_processes(profile, &order);
    if (known) {
        const struct dw_process *first = &profile->processes[order[0]];
        piece->start_ns = first->first_clock.wall_ns;
        memcpy(piece->uuid, first->uuid, sizeof piece->uuid);
        copy_name(profile, order[0], "name", piece->name);
        copy_name(profile, order[0], "program", piece->program);
    }
    free(order);
    dw_profile_free(profile);
}

struct dw_piece dw_piece_of(char *file)
{
    struct dw_piece piece = {.file = file};
    identify(&piece);
    return piece;
}

void dw_pieces_sort(struct dw_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        identify(&pieces->pieces[i]);
    qsort(pieces->pieces, pieces->count, sizeof *pieces->pieces, compare_pieces);
}

static bool is_called(const struct dw_piece *piece, const char *pattern)
{
    return !fnmatch(pattern, piece->name, 0) || !fnmatch(pattern, piece->program, 0);
}

bool dw_pieces_keep_only(struct dw_pieces *pieces, const char *pattern)
{
    bool is_any = false;
    for (uint32_t i = 0; i < pieces->count; i++)
        is_any |= is_called(&pieces->pieces[i], pattern);
    for (uint32_t i = 0; is_any && i < pieces->count; i++)
        pieces->pieces[i].is_left_out = !is_called(&pieces->pieces[i], pattern);
    return is_any;
}

/* Reads all of it, or fails. */
static bool read_at(int fd, uint64_t at, uint8_t *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, to + done, size - done, (off_t)(at + done));
        if (got <= 0 && errno != EINTR)
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Whether chunks follow each other to the end of the file, one at a time in memory. */
static bool are_chunks(int fd, uint64_t size, uint8_t *bytes)
{
    struct dw_chunk chunk;
    uint64_t at = DW_LOG_HEADER_SIZE;
    while (at < size) {
        uint64_t left = size - at;
        bool is_chunk = left >= DW_CHUNK_HEADER_SIZE &&
                        read_at(fd, at, bytes, DW_CHUNK_HEADER_SIZE) &&
                        dw_chunk_stored_size(bytes) <= DW_CHUNK_STORED_MAX &&
                        dw_chunk_stored_size(bytes) <= left - DW_CHUNK_HEADER_SIZE;
        size_t stored = is_chunk ? dw_chunk_stored_size(bytes) : 0;
        if (!is_chunk ||
            !read_at(fd, at + DW_CHUNK_HEADER_SIZE, bytes + DW_CHUNK_HEADER_SIZE, stored) ||
            !dw_chunk_get(bytes, DW_CHUNK_HEADER_SIZE + stored, &chunk))
            return false;
        at += DW_CHUNK_HEADER_SIZE + stored;
    }
    return true;
}

static bool has_room(const struct dw_profile *profile)
{
    const uint32_t counts[] = {profile->strings.count, profile->frames.count, profile->places.count,
                               profile->paths.count,   profile->labels.count, profile->module_count,
                               profile->thread_count,  profile->process_count};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > DW_LOG_IDS_MAX)
            return false;
    return true;
}

/* Whether what was written can be read. */
static int verify(const struct dw_output *output, const struct dw_profile *profile)
{
    struct stat status;
    if (!output->temporary)
        return 0;
    int fd = open(output->temporary, O_RDONLY | O_CLOEXEC);
    uint8_t *bytes = malloc(DW_CHUNK_HEADER_SIZE + DW_CHUNK_STORED_MAX);
    int error = fd < 0 || fstat(fd, &status) ? DW_ERR_IO : bytes ? 0 : DW_ERR_MEMORY;
    if (!error && (!has_room(profile) || !are_chunks(fd, (uint64_t)status.st_size, bytes)))
        error = DW_ERR_UNSOUND;
    free(bytes);
    if (fd >= 0)
        close(fd);
    return error;
}

static int read_piece(struct dw_piece *piece, bool says, struct dw_profile *profile)
{
    unsigned flags = DW_READ_EVENTS | DW_READ_MOMENTS | DW_READ_TO_SAVE;
    piece->error = dw_cli_read_one(piece->file, flags, profile);
    bool is_fatal = piece->error && !dw_cli_can_go_on(piece->error);
    if (piece->error && (says || is_fatal))
        dw_cli_error(piece->file, piece->error);
    return is_fatal ? DW_ERR_UNSOUND : 0;
}

/* What one piece has held the next one needs again: nothing goes back to the system meanwhile. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, 8 * KEPT_BYTES);
}

/* One after the other. */
static int copy_pieces(struct dw_pieces *pieces, bool says, struct dw_profile *profile,
                       struct dw_log_saver *saver)
{
    int error = 0;
    keep_memory();
    for (uint32_t i = 0; i < pieces->count && !error; i++) {
        struct dw_piece *piece = &pieces->pieces[i];
        if (piece->is_left_out)
            continue;
        error = read_piece(piece, says, profile);
        if (!error && !piece->error)
            error = dw_log_save_more(saver, profile);
        dw_profile_forget(profile);
    }
    return error;
}

uint32_t dw_pieces_merged(const struct dw_pieces *pieces)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pieces->count; i++)
        count += !pieces->pieces[i].error && !pieces->pieces[i].is_left_out;
    return count;
}

uint32_t dw_pieces_unread(const struct dw_pieces *pieces)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pieces->count; i++)
        count += pieces->pieces[i].error != 0;
    return count;
}

static void say_losses(const struct dw_profile *profile)
{
    struct dw_out out;
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_notes_put_losses(&out, profile, "dwell: ");
    dw_out_close(&out);
}

/* DW_ERR_UNSOUND after saying what is wrong with the pieces. */
static int write_result(struct dw_pieces *pieces, bool says, struct dw_profile *profile, int fd)
{
    struct dw_log_writer writer;
    int error = dw_log_writer_init(&writer, fd);
    struct dw_log_saver saver = {.writer = &writer};
    if (!error)
        error = copy_pieces(pieces, says, profile, &saver);
    int end = dw_log_save_end(&saver, profile);
    error = error ? error : end;
    if (!error && (!dw_pieces_merged(pieces) || !dw_cli_is_sum(profile)))
        error = DW_ERR_UNSOUND;
    errno = writer.saved_errno;
    dw_log_writer_release(&writer);
    return error;
}

bool dw_pieces_merge(struct dw_pieces *pieces, const char *path, bool says)
{
    struct dw_output output;
    struct dw_profile *profile;
    bool is_said = false;
    int error = dw_output_open(&output, path);
    if (error)
        return !dw_cli_error(path, error);
    error = dw_profile_new(&profile);
    if (!error) {
        error = write_result(pieces, says, profile, output.fd);
        is_said = error == DW_ERR_UNSOUND;
        if (!error && (says || profile->losses.damaged_chunks))
            say_losses(profile);
        if (!error)
            error = verify(&output, profile);
        dw_profile_free(profile);
    }
    error = dw_output_close(&output, error);
    if (error && !is_said)
        dw_cli_error(path, error);
    return !error;
}
