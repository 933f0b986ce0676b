/* SPDX-License-Identifier: MIT */
#include "log/shared_file.h"

#include "base/error.h"
#include "log/chunk.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 16 /* beyond, files are not shared: more probes than there are */

struct shared_file {
    uint64_t device, inode;
    uint32_t writers; /* now; 0: the entry is free */
    uint16_t streams; /* ever */
    bool has_uuid;
    uint8_t uuid[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_file files[FILES_MAX];
static pid_t owner;

/* A forked child has none of its parent's files, and may have its lock as it was. */
static void begin(void)
{
    if (owner != getpid()) {
        pthread_mutex_init(&lock, NULL);
        memset(files, 0, sizeof files);
        owner = getpid();
    }
    pthread_mutex_lock(&lock);
}

static struct shared_file *find(uint64_t device, uint64_t inode)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (files[i].writers && files[i].device == device && files[i].inode == inode)
            return &files[i];
    return NULL;
}

static struct shared_file *find_free(void)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (!files[i].writers)
            return &files[i];
    return NULL;
}

int dw_shared_file_join(uint64_t device, uint64_t inode, uint16_t *stream)
{
    begin();
    struct shared_file *file = find(device, inode);
    if (!file && (file = find_free()))
        *file = (struct shared_file){.device = device, .inode = inode};
    bool is_full = file && file->streams == DW_LOG_STREAMS_MAX;
    if (!is_full)
        *stream = file ? file->streams++ : 0;
    if (file && !is_full)
        file->writers++;
    pthread_mutex_unlock(&lock);
    return is_full ? DW_ERR_TOO_LARGE : 0;
}

void dw_shared_file_leave(uint64_t device, uint64_t inode)
{
    begin();
    struct shared_file *file = find(device, inode);
    if (file)
        file->writers--;
    pthread_mutex_unlock(&lock);
}

void dw_shared_file_agree(uint64_t device, uint64_t inode, uint8_t uuid[16])
{
    begin();
    struct shared_file *file = find(device, inode);
    if (file && file->has_uuid)
        memcpy(uuid, file->uuid, sizeof file->uuid);
    else if (file)
        memcpy(file->uuid, uuid, sizeof file->uuid);
    if (file)
        file->has_uuid = true;
    pthread_mutex_unlock(&lock);
}
