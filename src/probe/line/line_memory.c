/* SPDX-License-Identifier: MIT
 * A reading is one pread of a file that stays open, half a microsecond or more. A line that took
 * less than half of that cannot have entered the kernel for a page, so nothing is read after it. */
#include "probe/line/line_memory.h"

#include "base/kept_file.h"
#include "probe/memory/alloc_here.h"

#include <unistd.h>

#define STALE 64 /* times the duration of a reading: other threads may have changed it */

static struct dw_kept_file statm = DW_KEPT_NONE;
static uint64_t pages_now;        /* as of the last reading */
static uint64_t read_at, fastest; /* in ticks: the last reading, and the duration of the fastest */

void dw_line_memory_forked(void)
{
    dw_kept_close(&statm);
}

/* Seven numbers and the end of the line: the second one, or 0 when the text is another. */
static uint64_t parse(const char *text, ssize_t size)
{
    uint64_t second = 0;
    int spaces = 0;
    for (ssize_t i = 0; i + 1 < size; i++) {
        if (text[i] == ' ')
            spaces++;
        else if (text[i] < '0' || text[i] > '9')
            return 0;
        else if (spaces == 1)
            second = 10 * second + (uint64_t)(text[i] - '0');
    }
    return size > 0 && text[size - 1] == '\n' && spaces == 6 ? second : 0;
}

/* The program may have closed the file: then nothing is known until a function begins. */
static uint64_t read_rss(void)
{
    char text[128];
    uint64_t before = dw_tick();
    ssize_t size = statm.fd < 0 ? -1 : pread(statm.fd, text, sizeof text, 0);
    pages_now = parse(text, size);
    read_at = dw_tick();
    if (!fastest || read_at - before < fastest)
        fastest = read_at - before;
    return pages_now * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_as_before(const struct dw_line_activation *open, uint64_t now)
{
    return open->rss && now - open->line_start < fastest / 2 && now - read_at < STALE * fastest;
}

/* What the thread had at most is of the line that it is on, and of those that called it. */
static void begin_high(struct dw_line_activation *open)
{
    open->net = open->high = dw_alloc_here.high = dw_alloc_here.net;
}

static void end_high(struct dw_line_activation *open)
{
    if (dw_alloc_here.high > open->high)
        open->high = dw_alloc_here.high;
    if (open->high > open->highest)
        open->highest = open->high;
    if (open->line && open->high - open->net > (int64_t)open->line->peak)
        open->line->peak = (uint64_t)(open->high - open->net);
}

void dw_line_begin_memory(struct dw_line_activation *open)
{
    struct dw_line_activation *caller = open - 1;
    struct stat file;
    if (!dw_kept_look(&statm, &file))
        dw_kept_open(&statm, "/proc/self/statm");
    open->rss = read_rss();
    if (dw_alloc_here.high > caller->high)
        caller->high = dw_alloc_here.high;
    begin_high(open);
    open->highest = open->high;
}

/* The resident memory before the line, and after it. */
static void count_rss(struct dw_line_count *line, uint64_t before, uint64_t now)
{
    if (!before || !now)
        return;
    if (now > line->rss)
        line->rss = now;
    if (now > before)
        line->grown += now - before;
    else
        line->shrunk += before - now;
}

void dw_line_end_memory(struct dw_line_activation *open, uint64_t now)
{
    uint64_t before = open->rss;
    if (!open->function)
        return;
    if (open->line && !is_as_before(open, now))
        open->rss = read_rss();
    if (open->line)
        count_rss(open->line, before, open->rss);
    end_high(open);
    begin_high(open);
}

void dw_line_leave_memory(struct dw_line_activation *open)
{
    struct dw_line_activation *caller = open - 1;
    if (open->function && open->highest > caller->high)
        caller->high = open->highest;
}
