/* SPDX-License-Identifier: MIT
 * Another process, seen from outside: where its files are mapped, and its memory.
 * Reading never stops it and never writes to it; what is read may change meanwhile,
 * so callers check all of it. */
#ifndef DW_ATTACH_TARGET_TARGET_H
#define DW_ATTACH_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dw_mapping {
    uint64_t start, end, file_offset;
    bool writable;
    char *path; /* owned; "" when no file is mapped */
};

struct dw_target {
    pid_t pid;
    uint64_t start_ticks; /* tells a later process with the same id apart */
    char *program;        /* owned; what /proc/PID/exe points to, "" when it cannot be read */
    struct dw_mapping *mappings; /* owned, by address */
    uint32_t count, capacity;
};

/* DW_ERR_NO_PROCESS, DW_ERR_ENDED for one that only waits to be reaped, DW_ERR_PERMISSION. */
int dw_target_open(pid_t pid, struct dw_target *target);
void dw_target_release(struct dw_target *target);
/* False once it has ended, also when its id is somebody else's by now. */
bool dw_target_is_alive(const struct dw_target *target);

/* All of it, or DW_ERR_UNREADABLE, DW_ERR_PERMISSION, DW_ERR_ENDED. Allocates nothing. */
int dw_target_read(const struct dw_target *target, uint64_t address, void *to, size_t size);
int dw_target_read_u64(const struct dw_target *target, uint64_t address, uint64_t *value);
/* Reads the two ranges in one system call, as much of them as is there; returns how many bytes. The
 * second is read only when the first is whole. */
size_t dw_target_read_two(const struct dw_target *target, const uint64_t addresses[2],
                          void *const to[2], const size_t sizes[2]);
/* Reads `size` bytes from each of the addresses in one system call; returns from how many, up to
 * the first that cannot be read. */
uint32_t dw_target_read_each(const struct dw_target *target, const uint64_t *addresses,
                             uint32_t count, size_t size, void *to);
#define DW_TARGET_READ_EACH 64 /* addresses at most */
/* As many bytes as can be read from the start on, page by page. */
size_t dw_target_read_most(const struct dw_target *target, uint64_t address, void *to, size_t size);

/* The file that is mapped there, opened by whichever way reaches the very file of the
 * process: it may be deleted, or under another root. -1 when there is none. */
int dw_target_open_file(const struct dw_target *target, const struct dw_mapping *mapping);

/* One line of /proc/PID/maps into *mapping, whose path then is on the heap; false when it
 * is not such a line or memory is out. */
bool dw_mapping_parse(const char *line, struct dw_mapping *mapping);

#endif
