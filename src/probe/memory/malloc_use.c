/* SPDX-License-Identifier: MIT
 * A function that tells statistics counts only if it is in the object that has malloc: a library
 * may have an allocator of that kind for itself. */
#define _GNU_SOURCE
#include "probe/memory/malloc_use.h"

#include "probe/memory/resident_bytes.h"

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAP_BYTES (64ul << 20)
#define HEAD_MAX 128      /* bytes before the arena that follows the first head */
#define BLOCK_MIN 65536ul /* smaller ones have no mapping of their own */
#define IS_MAPPED 2u      /* in the size of a block that has one */
#define PAGES 256         /* that are read at once */

typedef int tcmalloc_property(const char *name, size_t *value);

static uint64_t less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static void *find_beside_malloc(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    void *allocator = object_of(dlsym(RTLD_DEFAULT, "malloc"));
    return found && object_of(found) == allocator ? found : NULL;
}

/* Numbers are as of the last change of the epoch. */
bool dw_mallctl_read(dw_mallctl *mallctl, uint64_t *allocated, uint64_t *resident)
{
    uint64_t epoch = 1;
    size_t size = sizeof epoch, of_allocated = 0, of_resident = 0, word = sizeof of_allocated;
    if (mallctl("epoch", &epoch, &size, &epoch, size) ||
        mallctl("stats.allocated", &of_allocated, &word, NULL, 0) ||
        mallctl("stats.resident", &of_resident, &word, NULL, 0))
        return false;
    *allocated = of_allocated;
    *resident = of_resident;
    return true;
}

static bool read_jemalloc(struct dw_malloc_use *use)
{
    uint64_t resident;
    dw_mallctl *mallctl = (dw_mallctl *)find_beside_malloc("mallctl");
    if (!mallctl)
        return false;
    use->name = "jemalloc";
    use->is_free_a_bound = true;
    use->is_in_use_known = dw_mallctl_read(mallctl, &use->in_use, &resident);
    if (use->is_in_use_known)
        use->free = less(resident, use->in_use);
    return true;
}

static bool read_tcmalloc(struct dw_malloc_use *use)
{
    size_t in_use = 0, held = 0;
    tcmalloc_property *property =
        (tcmalloc_property *)find_beside_malloc("MallocExtension_GetNumericProperty");
    if (!property)
        return false;
    use->name = "tcmalloc";
    use->is_in_use_known = property("generic.current_allocated_bytes", &in_use) &&
                           property("generic.total_physical_bytes", &held);
    use->in_use = in_use;
    use->free = less(held, in_use); /* with its own tables */
    return true;
}

static bool read_mimalloc(struct dw_malloc_use *use)
{
    size_t elapsed, user, system, resident, peak, committed = 0, peak_committed, faults;
    dw_mi_process_info *info = (dw_mi_process_info *)find_beside_malloc("mi_process_info");
    if (!info)
        return false;
    info(&elapsed, &user, &system, &resident, &peak, &committed, &peak_committed, &faults);
    use->name = "mimalloc";
    use->is_free_a_bound = true;
    use->free = committed;
    return true;
}

/* Free memory in the middle of a heap may have been given back to the system, by malloc_trim. */
static void read_own(struct dw_malloc_use *use, uint64_t heap)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    uint64_t resident = less(heap, info.uordblks);
    use->is_in_use_known = true;
    use->in_use = info.uordblks + info.hblkhd;
    use->free = resident < info.fordblks ? resident : info.fordblks;
#else
    (void)use, (void)heap;
#endif
}

/* How the C library begins a heap of a thread, at a multiple of its largest size. */
struct heap_head {
    uintptr_t arena; /* in the first heap of the thread */
    uintptr_t before;
    size_t size, accessible;
};

/* The memory may go at any time. What was never used must not be touched: it would be there then.
 */
static bool read_head(uint64_t at, struct heap_head *head)
{
    if (!dw_resident_bytes((void *)(uintptr_t)at, 4096))
        return false;
    struct iovec to = {head, sizeof *head}, from = {(void *)(uintptr_t)at, sizeof *head};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof *head;
}

static bool is_heap(uint64_t at, const struct heap_head *head)
{
    uint64_t offset = head->arena % HEAP_BYTES;
    bool is_first = !head->before && head->arena - offset == at;
    return head->size && head->size % 4096 == 0 && head->size <= head->accessible &&
           head->accessible <= HEAP_BYTES && offset && offset <= HEAD_MAX &&
           (is_first || (head->before && head->before % HEAP_BYTES == 0));
}

/* The heads of pages that are in memory; those of others stay 0. */
static void read_pages(uint64_t start, size_t count, struct heap_head heads[PAGES])
{
    unsigned char are_in[PAGES];
    struct iovec to[PAGES], from[PAGES];
    size_t pieces = 0;
    memset(heads, 0, sizeof(struct heap_head[PAGES]));
    if (mincore((void *)(uintptr_t)start, count * 4096, are_in))
        return;
    for (size_t i = 0; i < count; i++)
        if (are_in[i] & 1u) {
            to[pieces] = (struct iovec){&heads[i], sizeof heads[i]};
            from[pieces++] = (struct iovec){(void *)(uintptr_t)(start + i * 4096), sizeof heads[i]};
        }
    process_vm_readv(getpid(), to, pieces, from, pieces, 0);
}

/* A block with a mapping of its own begins with a word that is 0 and its size, since glibc 2.43
 * without these two words. */
static uint64_t piece_size(uint64_t at, const struct heap_head *head)
{
    uint64_t size = head->before - IS_MAPPED, pages = (size + 4095) & ~UINT64_C(4095);
    if (at % HEAP_BYTES == 0 && is_heap(at, head))
        return head->size;
    return !head->arena && pages - size <= 16 && size % 16 == 0 && pages >= BLOCK_MIN ? pages : 0;
}

struct dw_malloc_piece dw_malloc_first_in(uint64_t start, uint64_t end)
{
    struct heap_head heads[PAGES];
    for (uint64_t at = start; at < end; at += PAGES * 4096ul) {
        size_t count = end - at < PAGES * 4096ul ? (end - at) / 4096 : PAGES;
        read_pages(at, count, heads);
        for (size_t i = 0; i < count; i++) {
            uint64_t page = at + i * 4096, size = piece_size(page, &heads[i]);
            if (size && size <= end - page)
                return (struct dw_malloc_piece){page, size};
        }
    }
    return (struct dw_malloc_piece){end, 0};
}

uint64_t dw_malloc_heaps_in(uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;
    struct heap_head head;
    for (uint64_t at = (start + HEAP_BYTES - 1) / HEAP_BYTES * HEAP_BYTES; at < end;
         at += HEAP_BYTES)
        if (read_head(at, &head) && is_heap(at, &head))
            bytes += dw_resident_bytes((void *)(uintptr_t)at, head.size);
    return bytes;
}

struct dw_malloc_use dw_malloc_use_find(uint64_t heap)
{
    struct dw_malloc_use use = {.name = "malloc"};
    if (!read_jemalloc(&use) && !read_tcmalloc(&use) && !read_mimalloc(&use))
        read_own(&use, heap);
    return use;
}
