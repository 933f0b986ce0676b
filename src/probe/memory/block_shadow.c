/* SPDX-License-Identifier: MIT
 * The first word of a block has its site and, of blocks of up to 16 bytes, the size. Larger blocks
 * have room for more words: one for the size, or two. All are cleared when the block is taken. */
#define _GNU_SOURCE
#include "probe/memory/block_shadow.h"

#include "probe/memory/resident_bytes.h"

#include <stdatomic.h>
#include <stddef.h>

#define GRAIN_BITS 4
#define LEAF_BITS 16 /* grains: a megabyte of memory */
#define INNER_BITS 13
#define OUTER_BITS 14
#define ADDRESS_BITS (GRAIN_BITS + LEAF_BITS + INNER_BITS + OUTER_BITS)
#define LARGE 17u   /* in place of the size: it is in the next word, */
#define LARGEST 18u /* or in the next two */
#define LEAF_BYTES (sizeof(uint32_t) << LEAF_BITS)
#define INNER_BYTES (sizeof(void *) << INNER_BITS)

typedef _Atomic uint32_t word;
typedef word *_Atomic leaf;

static leaf *_Atomic roots[1u << OUTER_BITS];

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static leaf *make_inner(leaf *_Atomic *at)
{
    leaf *made = map(INNER_BYTES), *before = NULL;
    if (made && !atomic_compare_exchange_strong(at, &before, made)) {
        munmap((void *)made, INNER_BYTES);
        made = before;
    }
    return made;
}

static word *make_leaf(leaf *at)
{
    word *made = map(LEAF_BYTES), *before = NULL;
    if (made && !atomic_compare_exchange_strong(at, &before, made)) {
        munmap((void *)made, LEAF_BYTES);
        made = before;
    }
    return made;
}

static word *find(uintptr_t block)
{
    if (block >> ADDRESS_BITS || block & ((1u << GRAIN_BITS) - 1))
        return NULL;
    uintptr_t grain = block >> GRAIN_BITS;
    leaf *inner =
        atomic_load_explicit(&roots[grain >> (LEAF_BITS + INNER_BITS)], memory_order_acquire);
    if (!inner)
        return NULL;
    word *words = atomic_load_explicit(&inner[grain >> LEAF_BITS & ((1u << INNER_BITS) - 1)],
                                       memory_order_acquire);
    return words ? &words[grain & ((1u << LEAF_BITS) - 1)] : NULL;
}

static word *make(uintptr_t block)
{
    uintptr_t grain = block >> GRAIN_BITS;
    if (block >> ADDRESS_BITS || block & ((1u << GRAIN_BITS) - 1))
        return NULL;
    leaf *_Atomic *root = &roots[grain >> (LEAF_BITS + INNER_BITS)];
    leaf *inner = atomic_load_explicit(root, memory_order_acquire);
    if (!inner && !(inner = make_inner(root)))
        return NULL;
    leaf *at = &inner[grain >> LEAF_BITS & ((1u << INNER_BITS) - 1)];
    word *words = atomic_load_explicit(at, memory_order_acquire);
    if (!words && !(words = make_leaf(at)))
        return NULL;
    return &words[grain & ((1u << LEAF_BITS) - 1)];
}

static bool put_word(uintptr_t block, uint32_t value)
{
    word *at = make(block);
    if (at)
        atomic_store_explicit(at, value, memory_order_relaxed);
    return at;
}

bool dw_shadow_put(uintptr_t block, uint32_t site, uint64_t size)
{
    uint32_t low = size <= 16 ? (uint32_t)size : size <= UINT32_MAX ? LARGE : LARGEST;
    if (low >= LARGE && !put_word(block + 16, (uint32_t)size))
        return false;
    if (low == LARGEST && !put_word(block + 32, (uint32_t)(size >> 32)))
        return false;
    return put_word(block, site << 5 | low);
}

static uint32_t take_word(uintptr_t block)
{
    word *at = find(block);
    uint32_t value = at ? atomic_load_explicit(at, memory_order_relaxed) : 0;
    if (value)
        atomic_store_explicit(at, 0, memory_order_relaxed);
    return value;
}

bool dw_shadow_take(uintptr_t block, uint32_t *site, uint64_t *size)
{
    uint32_t value = take_word(block), low = value & 31;
    if (!value)
        return false;
    *site = value >> 5;
    *size = low < LARGE ? low : take_word(block + 16);
    if (low == LARGEST)
        *size |= (uint64_t)take_word(block + 32) << 32;
    return true;
}

void dw_shadow_clear(void)
{
    for (size_t i = 0; i < 1u << OUTER_BITS; i++) {
        leaf *inner = atomic_load(&roots[i]);
        for (size_t j = 0; inner && j < 1u << INNER_BITS; j++)
            if (inner[j])
                madvise((void *)inner[j], LEAF_BYTES, MADV_DONTNEED);
    }
}

uint64_t dw_shadow_resident(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < 1u << OUTER_BITS; i++) {
        leaf *inner = atomic_load(&roots[i]);
        for (size_t j = 0; inner && j < 1u << INNER_BITS; j++)
            if (inner[j])
                bytes += dw_resident_bytes((void *)inner[j], LEAF_BYTES);
    }
    return bytes;
}
