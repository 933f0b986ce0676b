/* SPDX-License-Identifier: MIT
 * A leaf has two words more than it has grains: the last block of its memory may need them. */
#define _GNU_SOURCE
#include "probe/memory/block_shadow.h"

#include <errno.h>
#include <sys/mman.h>

#define LEAF_BYTES (sizeof(dw_shadow_word) * ((1u << DW_SHADOW_LEAF) + 2))
#define INNER_BYTES (sizeof(void *) << DW_SHADOW_INNER)

typedef dw_shadow_leaf leaf;
typedef dw_shadow_word word;

dw_shadow_leaf *_Atomic dw_shadow_roots[1u << DW_SHADOW_OUTER];

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

static word *find_leaf(uintptr_t block)
{
    uintptr_t number = block >> (DW_SHADOW_GRAIN + DW_SHADOW_LEAF);
    leaf *_Atomic *root = &dw_shadow_roots[number >> DW_SHADOW_INNER];
    leaf *inner = atomic_load_explicit(root, memory_order_acquire);
    if (!inner && !(inner = make_inner(root)))
        return NULL;
    leaf *at = &inner[number & ((1u << DW_SHADOW_INNER) - 1)];
    word *words = atomic_load_explicit(at, memory_order_acquire);
    return words ? words : make_leaf(at);
}

word *dw_shadow_make(uintptr_t block)
{
    int saved_errno = errno;
    if (block >> DW_SHADOW_ADDRESS || block & ((1u << DW_SHADOW_GRAIN) - 1))
        return NULL;
    word *words = find_leaf(block);
    errno = saved_errno;
    return words ? &words[block >> DW_SHADOW_GRAIN & ((1u << DW_SHADOW_LEAF) - 1)] : NULL;
}

/* The first word of the block that has this one, which is one of a size; NULL: it was left behind.
 * A leaf begins with the first word of a block. */
static word *first_of(word *at, uint32_t index)
{
    for (uint32_t back = 1; back <= 2 && back <= index; back++) {
        uint32_t form = dw_shadow_form(dw_shadow_get(at - back));
        if (form == DW_SHADOW_LARGEST || (form == DW_SHADOW_LARGE && back == 1))
            return at - back;
        if (form != DW_SHADOW_SIZE)
            return NULL;
    }
    return NULL;
}

/* Another thread may be about to take the same. */
struct dw_shadowed dw_shadow_take_stale(uintptr_t block, word *at, uint32_t words)
{
    uint32_t index = (uint32_t)(block >> DW_SHADOW_GRAIN) & ((1u << DW_SHADOW_LEAF) - 1);
    for (uint32_t i = 0; i < words; i++) {
        bool is_size = dw_shadow_form(dw_shadow_get(at + i)) == DW_SHADOW_SIZE;
        word *first = is_size ? first_of(at + i, index + i) : at + i;
        uint32_t value = first ? atomic_exchange(first, 0) : 0;
        if (value)
            return dw_shadow_read(first, value);
        dw_shadow_set(at + i, 0);
    }
    return (struct dw_shadowed){0};
}

uint64_t dw_shadow_sum(uint64_t (*visit)(void *memory, size_t size))
{
    uint64_t sum = 0;
    for (size_t i = 0; i < 1u << DW_SHADOW_OUTER; i++) {
        leaf *inner = atomic_load(&dw_shadow_roots[i]);
        for (size_t j = 0; inner && j < 1u << DW_SHADOW_INNER; j++)
            if (inner[j])
                sum += visit((void *)inner[j], LEAF_BYTES);
    }
    return sum;
}

static uint64_t clear(void *memory, size_t size)
{
    return madvise(memory, size, MADV_DONTNEED) != 0;
}

void dw_shadow_clear(void)
{
    dw_shadow_sum(clear);
}
