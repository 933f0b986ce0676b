/* SPDX-License-Identifier: MIT
 * The lists in which JITs announce objects to debuggers: each library that makes code has a
 * variable __jit_debug_descriptor for one. They are read while the process changes them, so
 * nothing in them is believed. */
#ifndef DW_NATIVE_JIT_JIT_LISTS_H
#define DW_NATIVE_JIT_JIT_LISTS_H

#include "native/elf/elf_file.h"
#include "native/jit/jit_object.h"

#define DW_JIT_LISTS_MAX 16
#define DW_JIT_OBJECTS_MAX 4096 /* of all lists */

/* As in the process. */
struct dw_jit_head {
    uint32_t version, action;
    uint64_t relevant, first;
};

struct dw_jit_list {
    uint64_t address;
    struct dw_jit_head head; /* as of the last reading */
    uint64_t digest;         /* of the first object then */
};

struct dw_jit_known;

struct dw_jit_lists {
    struct dw_jit_list lists[DW_JIT_LISTS_MAX];
    uint32_t list_count;
    struct dw_jit_known *known; /* owned */
    uint32_t count, capacity;
    /* What handlers may still read of objects that are gone. */
    uint8_t **retired;
    uint32_t retired_count, retired_capacity;
};

/* Where the file has the variable, as it counts addresses; false when it has none. */
bool dw_jit_list_search(const struct dw_elf *elf, uint64_t *address);
/* A variable of the process. */
void dw_jit_lists_add(struct dw_jit_lists *lists, uint64_t address);
/* Whether a list has changed since it was read, by its ends. */
bool dw_jit_lists_have_news(const struct dw_jit_lists *lists, const struct dw_memory *memory);
/* Reads them again; `changed` becomes true when other objects are there now. */
int dw_jit_lists_read(struct dw_jit_lists *lists, const struct dw_memory *memory, bool *changed);
/* The name of an address, and where its text is; or NULL. */
const struct dw_jit_name *dw_jit_lists_find(struct dw_jit_lists *lists, uint64_t address,
                                            const struct dw_jit_names **of);
/* The objects, for their code and how to unwind it; NULL after the last. */
const struct dw_jit_object *dw_jit_lists_object(const struct dw_jit_lists *lists, uint32_t index);
/* Keeps unwind information, from the heap, until it is reaped. */
int dw_jit_lists_retire(struct dw_jit_lists *lists, uint8_t *bytes);
/* Frees that; the caller says that nobody reads it any more. */
void dw_jit_lists_reap(struct dw_jit_lists *lists);
void dw_jit_lists_release(struct dw_jit_lists *lists);

#endif
