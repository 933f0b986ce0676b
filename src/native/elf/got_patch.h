/* SPDX-License-Identifier: MIT
 * Calls from one object to another go through pointers that the dynamic linker fills in. Here they
 * are made to go elsewhere, and back. */
#ifndef DW_NATIVE_ELF_GOT_PATCH_H
#define DW_NATIVE_ELF_GOT_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DW_GOT_HOOKS_MAX 16 /* of one patch */

struct dw_got_hook {
    const char *name;
    void *hook;
    void *original;  /* what others call by that name; NULL: nobody can */
    bool is_loaders; /* only calls from objects that load others */
    /* A part of the path of an object, which has the function for itself: its tables of pointers
     * to it are changed, as those of virtual functions are. The first such object counts. */
    const char *object;
    uintptr_t base; /* of that object; 0: none was met */
};

struct dw_got_patch {
    struct dw_got_hook *hooks;
    size_t count;
    const void *loader;     /* an address in one of these */
    const char *loaders[2]; /* and parts of the names of others */
    /* Objects that were patched, by where they lie, while as many were unloaded. */
    uintptr_t *seen;
    uint32_t seen_count, seen_capacity;
    unsigned long long unloads;
    const void *spared[4]; /* objects with these addresses in them stay as they are, */
    bool is_for_spared;    /* or only they are changed */
};

/* Finds the originals. False when they cannot be told from what the program itself has in their
 * place; then nothing may be patched. */
bool dw_got_find(struct dw_got_patch *patch);
/* All objects that are loaded now, and were not when it was last turned on. False when one is just
 * being loaded, and is left for the next time. Takes the dynamic linker's lock. */
bool dw_got_apply(struct dw_got_patch *patch, bool is_on);

#endif
