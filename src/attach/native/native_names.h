/* SPDX-License-Identifier: MIT
 * Native code as places of a recording: functions of the files that are mapped, and of code that
 * was made at run time. */
#ifndef DW_ATTACH_NATIVE_NATIVE_NAMES_H
#define DW_ATTACH_NATIVE_NATIVE_NAMES_H

#include "native/elf/modules.h"
#include "native/jit/jit.h"
#include "record/ledger.h"

/* A file that was mapped at some time. */
struct dw_native_file {
    char *path; /* owned */
    uint64_t start, end, file_offset, bias;
    uint8_t build_id[DW_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t module;            /* in the log; 0: not there yet */
    struct dw_symbols *symbols; /* NULL: none, or not opened yet */
    bool is_opened;
    bool is_searched;     /* for a list of made code */
    uint8_t *unwind_info; /* owned; a copy, or NULL. For the caller's use */
    bool is_copied;       /* or cannot be copied. For the caller's use */
};

/* Opens the very file that is mapped; a descriptor, or -1. */
typedef int (*dw_native_file_open)(void *context, const struct dw_native_file *file);

struct dw_native_names {
    dw_native_file_open open;
    void *context;
    const char *left_out;         /* functions whose names begin so are left out; or NULL */
    struct dw_native_file *files; /* owned; all that there were, with their symbols */
    uint32_t file_count, file_capacity;
    struct dw_jit jit;
    bool has_jit; /* made code was seen */
};

void dw_native_names_release(struct dw_native_names *names);
/* The file of a module, if it was asked for before; valid until another one is added. */
struct dw_native_file *dw_native_names_find_file(const struct dw_native_names *names,
                                                 const struct dw_native_module *module);
/* The same, and makes it known; NULL when out of memory. */
struct dw_native_file *dw_native_names_file(struct dw_native_names *names,
                                            const struct dw_native_module *module);
/* The function that holds an address of a module, or of no module: made code. False when nothing
 * tells where it begins. */
bool dw_native_names_function(struct dw_native_names *names, const struct dw_native_module *module,
                              uint64_t address, uint64_t *start, uint64_t *size);
/* Its name as the linker has it, or NULL; valid as long as the names. */
const char *dw_native_names_symbol(struct dw_native_names *names,
                                   const struct dw_native_module *module, uint64_t address);
/* The place of an address in a module; 0 when it is left out. */
int dw_native_names_place(struct dw_native_names *names, struct dw_ledger *log,
                          const struct dw_native_module *module, uint64_t address,
                          dw_place_id *place);

/* Looks at code that is made at run time, from the first time that some is seen: in `pid`, the
 * process whose memory it is, which has these modules. */
int dw_native_names_look(struct dw_native_names *names, int pid, const struct dw_memory *memory,
                         const struct dw_native_modules *modules, bool *changed);
/* The place of an address outside of all modules; 0 when it is left out, DW_ERR_EMPTY when it has
 * no name. */
int dw_native_names_made(struct dw_native_names *names, struct dw_ledger *log, uint64_t address,
                         dw_place_id *place);
/* The place of such code without a name, called after the file that calls it, which may be NULL. */
int dw_native_names_unnamed(struct dw_ledger *log, const char *caller, dw_place_id *place);
/* The file of the innermost native frame of a path; NULL when there is none. */
const char *dw_native_names_caller(struct dw_ledger *log, dw_path_id path);

#endif
