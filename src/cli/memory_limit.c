/* SPDX-License-Identifier: MIT
 * The limit is RLIMIT_DATA, counted from what was in use before the first file. When that cannot be
 * known, nothing is limited. */
#include "cli/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
    size_t allowed;         /* bytes beyond those in use before; 0: no file was read yet */
    size_t before;          /* in use when the limit came into force */
    size_t paused_at;       /* in use when it was lifted */
    uint64_t file_bytes;    /* of all files that were read */
    struct rlimit at_first; /* as we were started */
    bool is_known, is_limited;
} limit;

/* Bytes that count: the heap and other private memory. */
static size_t bytes_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    bool known = file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) == 1;
    if (file)
        fclose(file);
    return known ? pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static size_t asked_for(const char *variable)
{
    const char *text = getenv(variable);
    return text ? (size_t)strtoull(text, NULL, 10) << 20 : 0;
}

static void set(rlim_t bytes)
{
    struct rlimit wanted = {bytes, limit.at_first.rlim_max};
    if (wanted.rlim_cur > limit.at_first.rlim_cur)
        wanted.rlim_cur = limit.at_first.rlim_cur;
    setrlimit(RLIMIT_DATA, &wanted);
}

void dw_memory_allow(size_t file_size)
{
    if (!limit.is_known) {
        limit.is_known = !getrlimit(RLIMIT_DATA, &limit.at_first);
        limit.before = bytes_in_use();
        limit.allowed = DW_MEMORY_BESIDES;
    }
    limit.allowed += file_size * DW_MEMORY_OF_FILE;
    limit.file_bytes += file_size;
    size_t asked = asked_for("DWELL_MEMORY_MB");
    limit.is_limited = limit.is_known && limit.before;
    if (limit.is_limited)
        set(limit.before + (asked ? asked : limit.allowed));
}

void dw_memory_unlimit(void)
{
    if (!limit.is_limited)
        return;
    setrlimit(RLIMIT_DATA, &limit.at_first);
    limit.is_limited = false;
    limit.paused_at = bytes_in_use();
}

void dw_memory_limit(void)
{
    if (!limit.is_known || limit.is_limited)
        return;
    size_t now = bytes_in_use();
    limit.before += now > limit.paused_at ? now - limit.paused_at : 0;
    dw_memory_allow(0);
}

bool dw_memory_is_limited(void)
{
    return limit.is_limited;
}

uint64_t dw_output_allowed(void)
{
    size_t asked = asked_for("DWELL_OUTPUT_MB");
    if (asked || !limit.file_bytes)
        return asked;
    return DW_OUTPUT_BESIDES + limit.file_bytes * DW_OUTPUT_OF_FILE;
}
