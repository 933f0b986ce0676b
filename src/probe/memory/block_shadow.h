/* SPDX-License-Identifier: MIT
 * Which site each block in memory is of, and its size: a radix tree by address with four bytes for
 * each sixteen of memory, so a quarter of what is watched, and only where blocks are. It takes no
 * lock: a block belongs to whoever allocated it, from then on until it is free.
 *
 * The first word of a block has its site and, of blocks of up to 16 bytes, the size. Larger blocks
 * have room for more words: one for the size, or two. All are cleared when the block is taken.
 *
 * A block that was given back without our knowledge is stale: its words are there until another
 * block needs one of them, and then all of them go. So a word of a size can be told from others. */
#ifndef DW_PROBE_MEMORY_BLOCK_SHADOW_H
#define DW_PROBE_MEMORY_BLOCK_SHADOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DW_SHADOW_SITES (1u << 27)
#define DW_SHADOW_GRAIN 4 /* bits of an address, as are the others */
#define DW_SHADOW_LEAF 16
#define DW_SHADOW_INNER 13
#define DW_SHADOW_OUTER 14
#define DW_SHADOW_ADDRESS (DW_SHADOW_GRAIN + DW_SHADOW_LEAF + DW_SHADOW_INNER + DW_SHADOW_OUTER)
/* In place of the size: */
#define DW_SHADOW_LARGE 17u   /* it is in the next word, */
#define DW_SHADOW_LARGEST 18u /* or in the next two; */
#define DW_SHADOW_SIZE 31u    /* this is such a word, with bits of the size */
#define DW_SHADOW_BITS 5
#define DW_SHADOW_SIZE_BITS (32 - DW_SHADOW_BITS)

typedef _Atomic uint32_t dw_shadow_word;
typedef dw_shadow_word *_Atomic dw_shadow_leaf;
extern dw_shadow_leaf *_Atomic dw_shadow_roots[1u << DW_SHADOW_OUTER];

struct dw_shadowed {
    uint32_t site; /* 0: none */
    uint64_t size;
};

/* NULL: there is no memory, or the address is beyond what can be. */
dw_shadow_word *dw_shadow_make(uintptr_t block);
/* Forgets all blocks. The memory stays, since a thread may be about to use it. */
void dw_shadow_clear(void);
/* What `visit` says of each piece of its memory, together. */
uint64_t dw_shadow_sum(uint64_t (*visit)(void *memory, size_t size));

/* NULL: nothing is known of any block near it. */
static inline dw_shadow_word *dw_shadow_find(uintptr_t block)
{
    const uintptr_t usual = (UINT64_C(1) << DW_SHADOW_ADDRESS) - (UINT64_C(1) << DW_SHADOW_GRAIN);
    if (__builtin_expect((block & ~usual) != 0, 0))
        return NULL;
    dw_shadow_leaf *inner = atomic_load_explicit(
        &dw_shadow_roots[block >> (DW_SHADOW_GRAIN + DW_SHADOW_LEAF + DW_SHADOW_INNER)],
        memory_order_acquire);
    if (__builtin_expect(!inner, 0))
        return NULL;
    uintptr_t at = block >> (DW_SHADOW_GRAIN + DW_SHADOW_LEAF) & ((1u << DW_SHADOW_INNER) - 1);
    dw_shadow_word *words = atomic_load_explicit(&inner[at], memory_order_acquire);
    return words ? &words[block >> DW_SHADOW_GRAIN & ((1u << DW_SHADOW_LEAF) - 1)] : NULL;
}

static inline uint32_t dw_shadow_get(const dw_shadow_word *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static inline void dw_shadow_set(dw_shadow_word *at, uint32_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

static inline uint32_t dw_shadow_form(uint32_t word)
{
    return word & ((1u << DW_SHADOW_BITS) - 1);
}

/* The site of a block, which stays; 0 for one that is not known. */
static inline uint32_t dw_shadow_site(uintptr_t block)
{
    const dw_shadow_word *at = dw_shadow_find(block);
    uint32_t value = at ? dw_shadow_get(at) : 0;
    return dw_shadow_form(value) == DW_SHADOW_SIZE ? 0 : value >> DW_SHADOW_BITS;
}

static inline uint64_t dw_shadow_take_size(dw_shadow_word *at)
{
    uint64_t bits = dw_shadow_get(at) >> DW_SHADOW_BITS;
    dw_shadow_set(at, 0);
    return bits;
}

/* What the first word of a block tells; clears the others. */
static inline struct dw_shadowed dw_shadow_read(dw_shadow_word *at, uint32_t first)
{
    struct dw_shadowed found = {first >> DW_SHADOW_BITS, dw_shadow_form(first)};
    if (found.size < DW_SHADOW_LARGE)
        return found;
    bool is_largest = found.size == DW_SHADOW_LARGEST;
    found.size = dw_shadow_take_size(at + 1);
    if (__builtin_expect(is_largest, 0))
        found.size |= dw_shadow_take_size(at + 2) << DW_SHADOW_SIZE_BITS;
    return found;
}

/* Removes a block; site 0 for one that is not known. */
static inline struct dw_shadowed dw_shadow_take(uintptr_t block)
{
    dw_shadow_word *at = dw_shadow_find(block);
    uint32_t value = at ? dw_shadow_get(at) : 0;
    if (!value || __builtin_expect(dw_shadow_form(value) == DW_SHADOW_SIZE, 0))
        return (struct dw_shadowed){0};
    dw_shadow_set(at, 0);
    return dw_shadow_read(at, value);
}

static inline uint32_t dw_shadow_words(uint64_t size)
{
    return size <= 16 ? 1 : size >> DW_SHADOW_SIZE_BITS ? 3 : 2;
}

/* Removes a stale block that has one of the words; site 0 when there is none. */
struct dw_shadowed dw_shadow_take_stale(uintptr_t block, dw_shadow_word *at, uint32_t words);

/* Enters a block as dw_shadow_put does; false when that has more to do than for most blocks. */
static inline bool dw_shadow_put_soon(uintptr_t block, uint32_t site, uint64_t size)
{
    dw_shadow_word *at = dw_shadow_find(block);
    if (__builtin_expect(!at || dw_shadow_get(at), 0))
        return false;
    if (size <= 16) {
        dw_shadow_set(at, site << DW_SHADOW_BITS | (uint32_t)size);
        return true;
    }
    if (__builtin_expect(size >> DW_SHADOW_SIZE_BITS || dw_shadow_get(at + 1), 0))
        return false;
    dw_shadow_set(at + 1, (uint32_t)size << DW_SHADOW_BITS | DW_SHADOW_SIZE);
    dw_shadow_set(at, site << DW_SHADOW_BITS | DW_SHADOW_LARGE);
    return true;
}

/* Enters a block, which is at least as large as `size` and whose address is a multiple of 16. False
 * when there is no memory. *stale: a block that is in its way, and was removed: then this is to be
 * tried again, unless its site is 0. */
static inline bool dw_shadow_put(uintptr_t block, uint32_t site, uint64_t size,
                                 struct dw_shadowed *stale)
{
    dw_shadow_word *at = dw_shadow_find(block);
    uint32_t words = dw_shadow_words(size), form = words == 2 ? DW_SHADOW_LARGE : DW_SHADOW_LARGEST;
    *stale = (struct dw_shadowed){0};
    if (__builtin_expect(!at, 0) && !(at = dw_shadow_make(block)))
        return false;
    uint32_t former = dw_shadow_get(at) | (words > 1 ? dw_shadow_get(at + 1) : 0) |
                      (words > 2 ? dw_shadow_get(at + 2) : 0);
    if (__builtin_expect(former, 0) && (*stale = dw_shadow_take_stale(block, at, words)).site)
        return true;
    if (words > 1)
        dw_shadow_set(at + 1, (uint32_t)size << DW_SHADOW_BITS | DW_SHADOW_SIZE);
    if (__builtin_expect(words > 2, 0))
        dw_shadow_set(at + 2,
                      (uint32_t)(size >> DW_SHADOW_SIZE_BITS) << DW_SHADOW_BITS | DW_SHADOW_SIZE);
    dw_shadow_set(at, site << DW_SHADOW_BITS | (words == 1 ? (uint32_t)size : form));
    return true;
}

#endif
