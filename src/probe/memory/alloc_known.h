/* SPDX-License-Identifier: MIT
 * Places that the calling thread allocated at before, with their steps and sites: a cache, which
 * needs no lock. */
#ifndef DW_PROBE_MEMORY_ALLOC_KNOWN_H
#define DW_PROBE_MEMORY_ALLOC_KNOWN_H

#include "cpython/frame.h"
#include "probe/memory/alloc_thread.h"

/* A place in a function, under the functions that called it and what the program did then. Words
 * are whole, so that they are compared in registers. */
struct dw_alloc_place {
    const void *instruction; /* NULL: no Python code runs */
    const void *name;        /* of its code, with the version: another may be at the same address */
    const void *caller;      /* of malloc; NULL: Python is */
    uint64_t version_parent; /* and the step of the function that called it */
    uint64_t labels_region;
    uint64_t mark_inner_kind; /* never 0, which an entry that is free has */
};

struct dw_alloc_known {
    struct dw_alloc_place place;
    uint32_t step; /* of the Python function */
    uint32_t site;
    uint64_t unused; /* for an entry to be a line of the processor's cache */
};

/* `inner`: 1 + enum dw_mark that is inside of the function; 0: none. `kind` DW_ALLOC_KINDS: the
 * function only calls others, so that there is no site. */
static inline uint64_t dw_alloc_mark_inner_kind(uint32_t mark, uint32_t inner, uint32_t kind)
{
    return (uint64_t)mark << 32 | inner << 16 | (kind + 1);
}

static inline uint64_t dw_alloc_labels_region(dw_labels_id labels, dw_frame_id region)
{
    return (uint64_t)labels << 32 | region;
}

static inline void dw_alloc_place_at(struct dw_alloc_place *place, dw_py_frame *frame,
                                     uint32_t parent)
{
    const PyCodeObject *code = dw_py_frame_code(frame);
    place->instruction = DW_PY_FRAME_INSTRUCTION(frame);
    place->name = code->co_qualname;
    place->version_parent = (uint64_t)DW_PY_CODE_VERSION(code) << 32 | parent;
}

#define DW_ALLOC_WAYS 4u /* slots that a place may be in: those near the one of its hash */

static inline bool dw_alloc_known_is(const struct dw_alloc_known *known,
                                     const struct dw_alloc_place *place)
{
    return known->place.instruction == place->instruction && known->place.name == place->name &&
           known->place.version_parent == place->version_parent &&
           known->place.caller == place->caller &&
           known->place.labels_region == place->labels_region &&
           known->place.mark_inner_kind == place->mark_inner_kind;
}

/* The place is not in its slot. Enters it when it is in no other; then this takes the lock. NULL
 * when there is no memory. */
struct dw_alloc_known *dw_alloc_known_elsewhere(struct dw_alloc_thread *thread, uint32_t slot,
                                                struct dw_alloc_place place, dw_py_frame *frame);

/* The frame is the one that the place is in; NULL when no Python code runs. */
static inline struct dw_alloc_known *dw_alloc_known_find(struct dw_alloc_thread *thread,
                                                         const struct dw_alloc_place *place,
                                                         dw_py_frame *frame)
{
    uint64_t hash = ((uint64_t)(uintptr_t)place->instruction ^ place->version_parent << 32 ^
                     (uint64_t)(uintptr_t)place->caller << 8 ^ place->mark_inner_kind << 33) *
                    UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = hash >> 32 & (DW_ALLOC_CACHE - 1);
    struct dw_alloc_known *known = thread->known + slot;
    if (__builtin_expect(thread->known && dw_alloc_known_is(known, place), 1))
        return known;
    return dw_alloc_known_elsewhere(thread, slot, *place, frame);
}

#endif
