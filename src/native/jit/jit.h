/* SPDX-License-Identifier: MIT
 * Code that a process made at run time: where it is, what its makers call it, and how to unwind it.
 * They say so in lists for debuggers (jit_lists.h) and in files for profilers (jit_files.h). */
#ifndef DW_NATIVE_JIT_JIT_H
#define DW_NATIVE_JIT_JIT_H

#include "native/jit/jit_files.h"
#include "native/jit/jit_lists.h"

struct dw_jit_area;

struct dw_jit {
    int pid;
    struct dw_memory memory;
    struct dw_jit_lists lists;
    struct dw_jit_files files;
    struct dw_jit_range *mappings; /* owned; executable memory without a file, by address */
    uint32_t mapping_count, mapping_capacity;
    struct dw_jit_area *areas; /* owned; the same with the trampolines in them */
    uint32_t area_count;
    uint64_t mapped_ns; /* when it was looked at last */
    uint64_t began_ns;  /* the look that goes on, in CPU time */
    uint64_t rests_ns;  /* no look before that: it must not take the CPU from the program */
};

/* Looks at nothing yet. */
int dw_jit_init(struct dw_jit *jit, int pid, const struct dw_memory *memory);
void dw_jit_release(struct dw_jit *jit);
/* Whether something may have been announced since the last look, if that was not just now. */
bool dw_jit_has_news(const struct dw_jit *jit);
/* Whether a look may tell more of an address that has no name. */
bool dw_jit_may_tell(const struct dw_jit *jit, uint64_t address);
/* Looks where such code may be; `changed` tells whether that is elsewhere than before. */
int dw_jit_look_at_memory(struct dw_jit *jit, bool *changed);
/* Whether there was any at that look. */
bool dw_jit_has_code(const struct dw_jit *jit);
/* Then looks at what is said of it; `changed` is set when that is new. */
int dw_jit_look(struct dw_jit *jit, bool *changed);
/* Valid until the next look; NULL when nobody has named the code there. */
const char *dw_jit_find(struct dw_jit *jit, uint64_t address);
/* The function that holds the address: by its name, or else as JITs without names place them, from
 * the beginning of a page to where memory is empty. False when it cannot be told. */
bool dw_jit_range(struct dw_jit *jit, uint64_t address, struct dw_jit_range *range);
/* Whether the memory there is full of CPython's trampolines. */
bool dw_jit_is_trampoline(const struct dw_jit *jit, uint64_t address);
/* Puts made code among the modules, which are sorted and on the heap; where both are, the modules
 * win. */
int dw_jit_merge_modules(const struct dw_jit *jit, struct dw_unwind_module **modules,
                         uint32_t *count);
/* The caller says that no walk still uses unwind information from before the last look. */
void dw_jit_reap(struct dw_jit *jit);

#endif
