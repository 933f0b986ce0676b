/* SPDX-License-Identifier: MIT
 * An event of the kernel's perf that counts nothing and only has records of switches, which are of
 * one size. The oldest of them are written over. */
#include "attach/sampling/switches.h"

#include "base/clock.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define JUST_NOW_NS 40000u                 /* as long as we may take to look after we are woken */
#define ALL_BYTES ((size_t)2 * PAGE_BYTES) /* what is known of the records, and they themselves */

struct record {
    struct perf_event_header header;
    uint64_t time_ns;
};
#define RECORDS (PAGE_BYTES / sizeof(struct record))

void *dw_switches_open(pid_t thread)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof event,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .sample_id_all = 1,
        .context_switch = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    long fd = syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *switches = mmap(NULL, ALL_BYTES, PROT_READ, MAP_SHARED, (int)fd, 0);
    close((int)fd); /* the memory keeps the event */
    return switches == MAP_FAILED ? NULL : switches;
}

void dw_switches_close(void *switches)
{
    if (switches)
        munmap(switches, ALL_BYTES);
}

/* Who is woken mostly takes the CPU of the thread that it looks at: that one had it. */
bool dw_switches_had_cpu(const void *switches)
{
    const struct perf_event_mmap_page *page = switches;
    uint64_t head = page ? __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) : 0;
    const struct record *records = (const void *)((const char *)switches + PAGE_BYTES);
    const struct record *last = &records[(head / sizeof *records - 1) % RECORDS];
    return !head || !(last->header.misc & PERF_RECORD_MISC_SWITCH_OUT) ||
           last->time_ns + JUST_NOW_NS >= dw_clock_ns(CLOCK_MONOTONIC);
}
