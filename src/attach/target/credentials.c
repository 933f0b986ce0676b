/* SPDX-License-Identifier: MIT
 * The C library's functions change all threads of a process; the system calls, which are used here,
 * only the one that makes them. */
#include "attach/target/credentials.h"

#include "base/grow.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))
/* Without these capabilities a process has no more rights to files than its user. */
#define POWERS                                                                                     \
    (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_DAC_OVERRIDE) |              \
     CAPABILITY(CAP_DAC_READ_SEARCH))

static int read_groups(const char *at, struct dw_credentials *credentials)
{
    char *end;
    int error = 0;
    for (unsigned long id; !error && ((id = strtoul(at, &end, 10)), end != at); at = end) {
        error = DW_GROW(credentials->groups, credentials->group_count, credentials->group_capacity);
        if (!error)
            credentials->groups[credentials->group_count++] = (gid_t)id;
    }
    return error;
}

static bool read_ids(const char *at, uint32_t ids[4])
{
    return sscanf(at, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4;
}

/* Returns 1 for one of the lines that are needed, 0 for another, or an error. */
static int read_line(const char *line, struct dw_credentials *credentials)
{
    unsigned long long capabilities;
    if (!strncmp(line, "Uid:", 4))
        return read_ids(line + 4, credentials->uids);
    if (!strncmp(line, "Gid:", 4))
        return read_ids(line + 4, credentials->gids);
    if (!strncmp(line, "Groups:", 7)) {
        int error = read_groups(line + 7, credentials);
        return error ? error : 1;
    }
    if (sscanf(line, "CapEff: %llx", &capabilities) != 1)
        return 0;
    credentials->capabilities = capabilities;
    return 1;
}

/* What a process may do in a user namespace of its own says nothing of ours. */
static bool is_in_our_user_namespace(pid_t pid)
{
    char path[64];
    struct stat its, ours;
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    return !stat(path, &its) && !stat("/proc/self/ns/user", &ours) && its.st_ino == ours.st_ino &&
           its.st_dev == ours.st_dev;
}

int dw_credentials_read(pid_t pid, struct dw_credentials *credentials)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    int found = 0, got = 0;
    *credentials = (struct dw_credentials){0};
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && got >= 0 && getline(&line, &capacity, file) > 0) {
        got = read_line(line, credentials);
        found += got;
    }
    free(line);
    if (file)
        fclose(file);
    if (!is_in_our_user_namespace(pid))
        credentials->capabilities = 0;
    return got < 0 ? got : found == 4 ? 0 : DW_ERR_ENDED;
}

void dw_credentials_release(struct dw_credentials *credentials)
{
    free(credentials->groups);
    *credentials = (struct dw_credentials){0};
}

bool dw_credentials_equal(const struct dw_credentials *a, const struct dw_credentials *b)
{
    return !memcmp(a->uids, b->uids, sizeof a->uids) && !memcmp(a->gids, b->gids, sizeof a->gids) &&
           a->capabilities == b->capabilities && a->group_count == b->group_count &&
           (!a->group_count || !memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups));
}

bool dw_credentials_are_simple(const struct dw_credentials *credentials)
{
    for (int i = 1; i < 4; i++)
        if (credentials->uids[i] != credentials->uids[0] ||
            credentials->gids[i] != credentials->gids[0])
            return false;
    return true;
}

static bool set_capabilities(uint64_t effective)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data))
        return false;
    data[0].effective = (uint32_t)effective & data[0].permitted;
    data[1].effective = (uint32_t)(effective >> 32) & data[1].permitted;
    return !syscall(SYS_capset, &head, data);
}

/* These calls return what was before; with an id that cannot be, they change nothing. */
static bool set_user(uid_t id)
{
    syscall(SYS_setfsuid, id);
    return (uid_t)syscall(SYS_setfsuid, (uid_t)-1) == id;
}

static bool set_group(gid_t id)
{
    syscall(SYS_setfsgid, id);
    return (gid_t)syscall(SYS_setfsgid, (gid_t)-1) == id;
}

static bool set_groups(const struct dw_credentials *credentials)
{
    return !syscall(SYS_setgroups, (size_t)credentials->group_count, credentials->groups);
}

/* The groups that we are in beside its own matter only when we are another user. */
static bool take(const struct dw_credentials *credentials, const struct dw_credentials *own)
{
    bool is_same_user = own->uids[3] == credentials->uids[3];
    bool has_groups = set_groups(credentials) && set_group(credentials->gids[3]);
    return (has_groups || is_same_user) && set_user(credentials->uids[3]) &&
           set_capabilities(own->capabilities & credentials->capabilities);
}

bool dw_credentials_take(const struct dw_credentials *credentials, struct dw_credentials *own)
{
    if (dw_credentials_read(getpid(), own)) {
        dw_credentials_release(own);
        return false;
    }
    bool is_plain = !(own->capabilities & POWERS);
    bool is_taken = is_plain ? own->uids[3] == credentials->uids[3] : take(credentials, own);
    if (!is_taken) {
        dw_credentials_give_back(own);
        dw_credentials_release(own);
    }
    return is_taken;
}

void dw_credentials_give_back(const struct dw_credentials *own)
{
    if (!(own->capabilities & POWERS))
        return;
    set_capabilities(own->capabilities);
    set_user(own->uids[3]);
    set_capabilities(own->capabilities);
    set_group(own->gids[3]);
    set_groups(own);
}
