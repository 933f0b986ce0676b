/* SPDX-License-Identifier: MIT
 * One pread of a file that stays open, about half a microsecond. The program may close it, or have
 * another file by its number: then nothing is known, and it is opened again the next time. */
#include "probe/line/line_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int statm = -1;

void dw_line_memory_forked(void)
{
    if (statm >= 0)
        close(statm);
    statm = -1;
}

/* The second number of the file, in pages; 0: not known. */
static uint64_t read_rss(void)
{
    char text[128];
    if (statm < 0)
        statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = statm < 0 ? -1 : pread(statm, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    const char *second = strchr(text, ' ');
    uint64_t pages = second ? strtoull(second, NULL, 10) : 0;
    if (!pages)
        statm = -1;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void dw_line_begin_memory(struct dw_line_activation *open)
{
    open->rss = read_rss();
}

void dw_line_end_memory(struct dw_line_activation *open)
{
    struct dw_line_count *line = open->line;
    uint64_t before = open->rss, now = read_rss();
    open->rss = now;
    if (!line || !before || !now)
        return;
    if (now > line->rss)
        line->rss = now;
    if (now > before)
        line->grown += now - before;
    else
        line->shrunk += before - now;
}
