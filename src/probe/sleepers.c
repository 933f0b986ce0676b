/* SPDX-License-Identifier: MIT
 * Open addressing with deletion by shifting back, so that there are no tombstones. */
#include "probe/sleepers.h"

#include <stdlib.h>

struct sleeper {
    const void *generator;
    struct dw_span *segment;
};

size_t dw_sleepers_count;
static struct sleeper *slots;
static size_t capacity; /* a power of two, or 0 */

static size_t home(const void *generator)
{
    return dw_hash_mix((uint64_t)(uintptr_t)generator) & (capacity - 1);
}

static void place(struct sleeper sleeper)
{
    size_t at = home(sleeper.generator);
    while (slots[at].generator)
        at = (at + 1) & (capacity - 1);
    slots[at] = sleeper;
}

static bool grow(void)
{
    size_t old_capacity = capacity;
    struct sleeper *old = slots, *grown = calloc(capacity ? capacity * 2 : 64, sizeof *grown);
    if (!grown)
        return false;
    slots = grown;
    capacity = capacity ? capacity * 2 : 64;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].generator)
            place(old[i]);
    free(old);
    return true;
}

bool dw_sleepers_put(const void *generator, struct dw_span *segment)
{
    if (dw_sleepers_count * 2 >= capacity && !grow())
        return false;
    place((struct sleeper){generator, segment});
    dw_sleepers_count++;
    return true;
}

/* Closes the gap at `hole` with whatever was pushed past it. */
static void shift_back(size_t hole)
{
    for (size_t at = (hole + 1) & (capacity - 1); slots[at].generator;
         at = (at + 1) & (capacity - 1)) {
        size_t distance = (at - home(slots[at].generator)) & (capacity - 1);
        if (distance < ((at - hole) & (capacity - 1)))
            continue;
        slots[hole] = slots[at];
        hole = at;
    }
    slots[hole] = (struct sleeper){0};
}

struct dw_span *dw_sleepers_take(const void *generator)
{
    if (!dw_sleepers_count)
        return NULL;
    for (size_t at = home(generator); slots[at].generator; at = (at + 1) & (capacity - 1)) {
        if (slots[at].generator != generator)
            continue;
        struct dw_span *segment = slots[at].segment;
        dw_sleepers_count--;
        shift_back(at);
        return segment;
    }
    return NULL;
}
