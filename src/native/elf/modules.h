/* SPDX-License-Identifier: MIT
 * The ELF objects that a process has mapped: where, and what they are. */
#ifndef DW_NATIVE_ELF_MODULES_H
#define DW_NATIVE_ELF_MODULES_H

#include "model/sample.h"
#include "native/unwind/unwind.h"

struct dw_native_module {
    uint64_t start, end;           /* its executable mapping in memory */
    uint64_t file_offset;          /* of start */
    uint64_t bias;                 /* address in memory less that in the file */
    uint64_t hdr, hdr_size;        /* .eh_frame_hdr in memory; 0: none */
    uint64_t info_start, info_end; /* the mapped memory around it */
    char *path;                    /* owned; "[vdso]" for the kernel's */
    bool has_real_path;            /* it was looked up; before that, the path is the linker's */
    uint8_t build_id[DW_BUILD_ID_MAX];
    uint32_t build_id_size;
};

struct dw_native_modules {
    struct dw_native_module *modules; /* owned, by start */
    uint32_t count, capacity;
    uint64_t unloads; /* how many objects this process had unloaded */
};

/* The modules of this process (by the dynamic linker's list, whose lock it takes, so never in a
 * handler), or of another one (by /proc/PID/maps and its memory). The first is given the list from
 * before, which may be empty; when nothing was unloaded since then, it reads only what is new. */
int dw_native_modules_own(const struct dw_native_modules *before,
                          struct dw_native_modules *modules);
int dw_native_modules_of(int pid, const struct dw_memory *memory,
                         struct dw_native_modules *modules);
void dw_native_modules_release(struct dw_native_modules *modules);
/* The module that holds the address, or NULL. */
const struct dw_native_module *dw_native_modules_find(const struct dw_native_modules *modules,
                                                      uint64_t address);
/* What an unwinder needs of a module, and of all of them, on the heap. */
struct dw_unwind_module dw_unwind_module_of(const struct dw_native_module *module);
int dw_unwind_modules_make(const struct dw_native_modules *modules,
                           struct dw_unwind_modules *result);
void dw_unwind_modules_release(struct dw_unwind_modules *modules);
/* How often objects were loaded and unloaded in this process: another number means that a list
 * is out of date. */
uint64_t dw_native_modules_generation(void);
/* How many have gone since the process began. */
uint64_t dw_native_modules_unloads(void);

#endif
