/* SPDX-License-Identifier: MIT
 * The log files that this process has open. Probes that were given the same file write to it
 * side by side: chunks are appended whole, and each says which stream it belongs to. */
#ifndef DW_LOG_SHARED_FILE_H
#define DW_LOG_SHARED_FILE_H

#include <stdint.h>

/* One writer more, and its stream: 0 for the one that begins the file. 0 or an error. */
int dw_shared_file_join(uint64_t device, uint64_t inode, uint16_t *stream);
/* When the last one has left, the next to come begins the file anew. */
void dw_shared_file_leave(uint64_t device, uint64_t inode);
/* The first to come keeps its uuid and the others get it. */
void dw_shared_file_agree(uint64_t device, uint64_t inode, uint8_t uuid[16]);

#endif
