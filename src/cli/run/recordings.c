/* SPDX-License-Identifier: MIT
 * Children's files are found by their names beside the parent's. Those older than the run are
 * somebody else's: they are counted, and left alone. A file that somebody still writes to stays
 * where it is, too. */
#include "cli/run/recordings.h"

#include "base/error.h"
#include "base/grow.h"
#include "cli/pieces.h"
#include "log/chunk.h"
#include "log/log_name.h"
#include "log/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Helpers of multiprocessing see that their parent is gone, and end. */
#define PATIENCE_ROUNDS 100
#define PATIENCE_NS 10000000

struct files {
    char **paths; /* owned, each of them too */
    uint32_t count, capacity;
};

static void release_files(struct files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
}

static int add_file(struct files *files, const char *path)
{
    int error = DW_GROW(files->paths, files->count, files->capacity);
    char *copy = error ? NULL : strdup(path);
    if (!copy)
        return DW_ERR_MEMORY;
    files->paths[files->count++] = copy;
    return 0;
}

/* The files of children of this run. */
static int list_children(struct dw_recordings *recordings, struct files *files)
{
    char directory[PATH_MAX], path[2 * PATH_MAX];
    struct stat status;
    const char *stem = strrchr(recordings->out_file, '/') + 1;
    size_t stem_size = dw_log_stem_size(stem);
    snprintf(directory, sizeof directory, "%.*s", (int)(stem - recordings->out_file),
             recordings->out_file);
    DIR *listing = opendir(directory);
    int error = 0;
    recordings->strangers = 0;
    for (struct dirent *entry; listing && !error && (entry = readdir(listing));) {
        snprintf(path, sizeof path, "%s%s", directory, entry->d_name);
        if (!dw_log_is_of_child(entry->d_name, stem, stem_size) || lstat(path, &status) ||
            !S_ISREG(status.st_mode))
            continue;
        if (status.st_mtime < recordings->since)
            recordings->strangers++;
        else
            error = add_file(files, path);
    }
    if (listing)
        closedir(listing);
    return error;
}

/* The kernel grants a lease for reading as long as nobody has the file open for writing. Where it
 * grants none at all, nobody is known to write. */
static bool is_being_written(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool is_busy = fcntl(file, F_SETLEASE, F_RDLCK) && (errno == EAGAIN || errno == EBUSY);
    fcntl(file, F_SETLEASE, F_UNLCK);
    close(file);
    return is_busy;
}

static uint32_t count_busy(const struct files *files)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < files->count; i++)
        count += is_being_written(files->paths[i]);
    return count;
}

static void wait_a_little(const struct files *files)
{
    for (int i = 0; i < PATIENCE_ROUNDS && count_busy(files); i++)
        nanosleep(&(struct timespec){.tv_nsec = PATIENCE_NS}, NULL);
}

/* A fork server lives as long as its parent, and does nothing but wait for it. */
static bool is_fork_server(char *path)
{
    return !strcmp(dw_piece_of(path).name, "forkserver");
}

/* A child that was killed at once has written no more than the head of its file. */
static bool is_empty(const char *path)
{
    struct stat status;
    return !stat(path, &status) && status.st_size <= DW_LOG_HEADER_SIZE;
}

static bool is_there(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISREG(status.st_mode) && !is_empty(path);
}

/* The parent's file, and those of children that have ended. */
static int choose(struct dw_recordings *recordings, const struct files *files,
                  struct dw_pieces *pieces)
{
    int error = is_there(recordings->out_file)
                    ? dw_pieces_add(pieces, (char *)(uintptr_t)recordings->out_file)
                    : 0;
    for (uint32_t i = 0; i < files->count && !error; i++) {
        if (is_being_written(files->paths[i]) && !is_fork_server(files->paths[i]))
            recordings->living++;
        else if (!is_empty(files->paths[i]))
            error = dw_pieces_add(pieces, files->paths[i]);
        else if (!recordings->keeps)
            unlink(files->paths[i]);
    }
    return error;
}

/* Names that processes have, for one who named another. */
static void say_names(const struct dw_recordings *recordings, const struct dw_pieces *pieces)
{
    fprintf(stderr, "dwell: no process is called '%s', so all are recorded:", recordings->only);
    const char *last = "";
    for (uint32_t i = 0; i < pieces->count && i < 8; i++) {
        const struct dw_piece *piece = &pieces->pieces[i];
        const char *name = piece->name[0] ? piece->name : piece->program;
        if (strcmp(name, last) != 0)
            fprintf(stderr, " %s", name);
        last = name;
    }
    fprintf(stderr, "%s\n", pieces->count > 8 ? " ..." : "");
}

/* What they hold is in the recording, or not wanted there. */
static void remove_pieces(const struct dw_recordings *recordings, const struct dw_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        if (pieces->pieces[i].file != recordings->out_file && !pieces->pieces[i].error)
            unlink(pieces->pieces[i].file);
}

static bool has_parent(const struct dw_recordings *recordings, const struct dw_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        if (pieces->pieces[i].file == recordings->out_file && !pieces->pieces[i].is_left_out)
            return !pieces->pieces[i].error;
    return false;
}

static void merge(struct dw_recordings *recordings, struct dw_pieces *pieces)
{
    dw_pieces_sort(pieces);
    if (recordings->only && !dw_pieces_keep_only(pieces, recordings->only) && recordings->says)
        say_names(recordings, pieces);
    if (!dw_pieces_merge(pieces, recordings->out_file, false)) {
        fprintf(stderr,
                "dwell: the files of %u processes were not merged, and lie beside each other\n",
                pieces->count);
        recordings->beside = pieces->count - has_parent(recordings, pieces);
        return;
    }
    recordings->beside = dw_pieces_unread(pieces);
    recordings->children = dw_pieces_merged(pieces) - has_parent(recordings, pieces);
    if (!recordings->keeps)
        remove_pieces(recordings, pieces);
}

void dw_recordings_gather(struct dw_recordings *recordings)
{
    struct files files = {0};
    struct dw_pieces pieces = {0};
    int error = list_children(recordings, &files);
    if (!error) {
        wait_a_little(&files);
        error = choose(recordings, &files, &pieces);
    }
    bool has_children = pieces.count > is_there(recordings->out_file);
    if (!error && (has_children || (recordings->only && pieces.count)))
        merge(recordings, &pieces);
    else if (error)
        recordings->beside = files.count;
    dw_pieces_release(&pieces);
    release_files(&files);
}

static void read_beside(const struct dw_recordings *recordings, unsigned flags,
                        struct dw_profile *profile)
{
    struct files files = {0};
    struct dw_recordings found = *recordings;
    int error = list_children(&found, &files);
    for (uint32_t i = 0; i < files.count && !error; i++)
        dw_log_read_file(files.paths[i], flags, profile);
    release_files(&files);
}

int dw_recordings_load(const struct dw_recordings *recordings, unsigned flags,
                       struct dw_profile **profile)
{
    *profile = NULL;
    int error = dw_profile_new(profile);
    if (error)
        return error;
    error = dw_log_read_file(recordings->out_file, flags, *profile);
    if (!error && recordings->beside && !recordings->children)
        read_beside(recordings, flags, *profile);
    return error;
}
