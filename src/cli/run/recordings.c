/* SPDX-License-Identifier: MIT
 * Children's files are found by their names beside the parent's. Those older than the run are
 * somebody else's: they are counted, not read. */
#include "cli/run/recordings.h"

#include "log/log_name.h"
#include "log/reader.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void read_children(struct dw_recordings *recordings, struct dw_profile *profile)
{
    char directory[PATH_MAX], path[2 * PATH_MAX];
    struct stat status;
    const char *stem = strrchr(recordings->out_file, '/') + 1;
    size_t stem_size = dw_log_stem_size(stem);
    snprintf(directory, sizeof directory, "%.*s", (int)(stem - recordings->out_file),
             recordings->out_file);
    DIR *listing = opendir(directory);
    recordings->children = recordings->strangers = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        snprintf(path, sizeof path, "%s%s", directory, entry->d_name);
        if (!dw_log_is_of_child(entry->d_name, stem, stem_size) || stat(path, &status))
            continue;
        if (status.st_mtime < recordings->since)
            recordings->strangers++;
        else
            recordings->children += !dw_log_read_file(path, recordings->flags, profile);
    }
    if (listing)
        closedir(listing);
}

int dw_recordings_load(struct dw_recordings *recordings, struct dw_profile **profile)
{
    *profile = NULL;
    int error = dw_profile_new(profile);
    if (error)
        return error;
    error = dw_log_read_file(recordings->out_file, recordings->flags, *profile);
    if (!error)
        read_children(recordings, *profile);
    return error;
}
