/* SPDX-License-Identifier: MIT
 * The kernel tells what is resident of each mapping, malloc what it has in use, and dw_allocs what
 * was recorded. What is left over is called so, and nothing is counted twice. */
#define _GNU_SOURCE
#include "probe/memory/resident_parts.h"

#include "probe/memory/alloc_sites.h"
#include "probe/memory/block_shadow.h"
#include "probe/memory/mappings.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

struct mapped {
    uint64_t all, files, stacks;
};

/* A thread's stack is what lies behind memory that nobody may touch. */
static bool read_mappings(struct mapped *sums)
{
    char line[512], path[256], rights[5], before[5] = "";
    uint64_t start = 0, end = 0, last_end = 0, size;
    bool is_stack = false, is_file = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        *path = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %255s", &start, &end, rights,
                   path) >= 3) {
            is_file = *path == '/' || !strncmp(path, "[v", 2);
            is_stack = !strcmp(path, "[stack]") ||
                       (!*path && start == last_end && !strcmp(before, "---p"));
            strcpy(before, rights);
            last_end = end;
        } else if (sscanf(line, "Rss: %" SCNu64 " kB", &size) == 1) {
            sums->all += size << 10;
            *(is_file ? &sums->files : &sums->stacks) += is_file || is_stack ? size << 10 : 0;
        }
    }
    fclose(file);
    return sums->all > 0;
}

static uint64_t less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static void find_malloc(uint64_t parts[DW_RESIDENTS], uint64_t recorded)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    parts[DW_RESIDENT_FREE] = info.fordblks;
    parts[DW_RESIDENT_BEFORE] = less(info.uordblks + info.hblkhd, recorded);
#else
    (void)parts, (void)recorded;
#endif
}

bool dw_resident_find(uint64_t parts[DW_RESIDENTS])
{
    struct mapped mapped = {0};
    uint64_t live[DW_ALLOC_KINDS], arenas, explained = 0;
    memset(parts, 0, DW_RESIDENTS * sizeof *parts);
    if (!read_mappings(&mapped) || !dw_alloc_lock_or_leave())
        return false;
    dw_alloc_live_bytes(live);
    arenas = dw_mappings_resident(true);
    parts[DW_RESIDENT_MAPPED] = dw_mappings_resident(false);
    dw_alloc_unlock();
    parts[DW_RESIDENT_PYTHON] = live[DW_ALLOC_PYTHON] + live[DW_ALLOC_LARGE];
    parts[DW_RESIDENT_NATIVE] = live[DW_ALLOC_MALLOC];
    parts[DW_RESIDENT_ARENAS] = less(arenas, live[DW_ALLOC_PYTHON]);
    find_malloc(parts, live[DW_ALLOC_MALLOC] + live[DW_ALLOC_LARGE]);
    parts[DW_RESIDENT_FILES] = mapped.files;
    parts[DW_RESIDENT_STACKS] = mapped.stacks;
    parts[DW_RESIDENT_DWELL] = dw_shadow_resident();
    for (int i = 0; i < DW_RESIDENT_OTHER; i++)
        explained += parts[i];
    parts[DW_RESIDENT_OTHER] = less(mapped.all, explained);
    parts[DW_RESIDENT_UNTOUCHED] = less(explained, mapped.all);
    return true;
}
