/* SPDX-License-Identifier: MIT
 * The files in which JITs of a process name their code: /tmp/perf-PID.map, and jitdumps, which
 * are found because JITs map a page of them. A file counts when it is a regular one of the
 * process's user and was written since the process began. */
#ifndef DW_NATIVE_JIT_JIT_FILES_H
#define DW_NATIVE_JIT_JIT_FILES_H

#include "native/jit/jit_names.h"

#include <sys/types.h>

#define DW_JIT_FILES_MAX 8

struct dw_jit_file {
    char *path; /* owned; as the process sees it */
    bool is_dump;
    bool is_bad;
    dev_t device;
    ino_t inode;
    uint64_t used; /* bytes that have been read */
    int64_t changed_ns;
    uint64_t size; /* when it was read */
};

struct dw_jit_files {
    char root[32];    /* before their paths */
    int pid;          /* as the process calls itself */
    uid_t owner;      /* of the process */
    int64_t begun_ns; /* when the process began, by the wall clock; roughly */
    struct dw_jit_file files[DW_JIT_FILES_MAX];
    uint32_t count;
    struct dw_jit_names names;
};

/* The files of this process, or of another one. */
int dw_jit_files_init(struct dw_jit_files *files, int pid);
/* One that the process has mapped. */
int dw_jit_files_add_dump(struct dw_jit_files *files, const char *path);
/* Whether a mapped file has the name of a jitdump of the process. */
bool dw_jit_files_is_dump(const struct dw_jit_files *files, const char *path);
bool dw_jit_files_have_news(const struct dw_jit_files *files);
int dw_jit_files_read(struct dw_jit_files *files, bool *changed);
void dw_jit_files_release(struct dw_jit_files *files);

#endif
