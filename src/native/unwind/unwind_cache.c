/* SPDX-License-Identifier: MIT
 * A slot is two words that are written without locks, by handlers too. A torn slot does not pass
 * its check and counts as empty. */
#include "native/unwind/unwind_cache.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define SLOT_BITS 14
#define SLOT_COUNT (1u << SLOT_BITS)
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* Two words cannot be written at once. `check` is key xor value, so that the halves of two
 * different entries fit each other only by chance, of 2^-64. */
struct slot {
    _Atomic uint64_t check, value;
};

struct dw_unwind_cache {
    struct slot slots[SLOT_COUNT];
};

/* Pages: in line with the CPU's cache, and all there before a handler needs them. */
struct dw_unwind_cache *dw_unwind_cache_new(void)
{
    struct dw_unwind_cache *cache = mmap(NULL, sizeof *cache, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return cache == MAP_FAILED ? NULL : cache;
}

void dw_unwind_cache_free(struct dw_unwind_cache *cache)
{
    if (cache)
        munmap(cache, sizeof *cache);
}

/* Both steps can be undone, so different keys of one epoch stay different. None is 0, which free
 * slots hold. */
uint64_t dw_unwind_cache_key(const struct dw_unwinder *unwinder, uint64_t key)
{
    return (key ^ (unwinder->epoch + 1) * SPREAD) * SPREAD;
}

static bool slot_holds(const struct slot *slot, uint64_t key, uint64_t *value)
{
    uint64_t found = atomic_load_explicit(&slot->value, memory_order_relaxed);
    *value = found;
    return (atomic_load_explicit(&slot->check, memory_order_relaxed) ^ found) == key;
}

/* A key has two slots, beside each other in one line of the CPU's cache. The highest bits of a
 * product depend on all bits of what was multiplied. */
static uint64_t first_slot(uint64_t key)
{
    return key >> (64 - SLOT_BITS) & ~UINT64_C(1);
}

bool dw_unwind_cache_get(const struct dw_unwind_cache *cache, uint64_t key, uint64_t *value)
{
    const struct slot *slots = &cache->slots[first_slot(key)];
    return slot_holds(&slots[0], key, value) || slot_holds(&slots[1], key, value);
}

void dw_unwind_cache_put(struct dw_unwind_cache *cache, uint64_t key, uint64_t value)
{
    struct slot *slot = &cache->slots[first_slot(key)];
    bool is_free = !atomic_load_explicit(&slot->check, memory_order_relaxed);
    if (!is_free && (key >> 8 & 1 || !atomic_load_explicit(&slot[1].check, memory_order_relaxed)))
        slot++;
    atomic_store_explicit(&slot->value, value, memory_order_relaxed);
    atomic_store_explicit(&slot->check, key ^ value, memory_order_relaxed);
}
