/* SPDX-License-Identifier: MIT
 * The rights of a process to files, and taking them on for a moment: as root we must not open for
 * another process what it could not open itself. */
#ifndef DW_ATTACH_TARGET_CREDENTIALS_H
#define DW_ATTACH_TARGET_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dw_credentials {
    uid_t uids[4]; /* real, effective, saved, of files */
    gid_t gids[4];
    gid_t *groups; /* owned */
    uint32_t group_count, group_capacity;
    uint64_t capabilities; /* effective ones, as far as they count in our user namespace */
};

/* Reads those of the process from /proc. 0, DW_ERR_ENDED or DW_ERR_MEMORY; release them in any
 * case. */
int dw_credentials_read(pid_t pid, struct dw_credentials *credentials);
void dw_credentials_release(struct dw_credentials *credentials);
bool dw_credentials_equal(const struct dw_credentials *a, const struct dw_credentials *b);
/* Whether all its user ids are the same, and all its group ids. For a set-user-id program they are
 * not. */
bool dw_credentials_are_simple(const struct dw_credentials *credentials);

/* From here to dw_credentials_give_back this thread has no more rights to files than the process.
 * False, with nothing changed, when that is not possible. */
bool dw_credentials_take(const struct dw_credentials *credentials, struct dw_credentials *own);
void dw_credentials_give_back(const struct dw_credentials *own);

#endif
