/* SPDX-License-Identifier: MIT
 * Our files have numbers that programs hardly reach; the id of the event shows when the program has
 * given the number to another file. */
#define _GNU_SOURCE
#include "probe/sample/perf_event.h"

#include "base/file.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool begin(struct dw_perf_event *event, pid_t tid, int signal)
{
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    return !fcntl(event->fd, F_SETOWN_EX, &owner) && !fcntl(event->fd, F_SETSIG, signal) &&
           !fcntl(event->fd, F_SETFL, O_ASYNC) &&
           !ioctl(event->fd, PERF_EVENT_IOC_ID, &event->id) &&
           !ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
}

bool dw_perf_event_open(struct dw_perf_event *event, struct perf_event_attr *attributes, pid_t tid,
                        int signal)
{
    attributes->size = sizeof *attributes;
    attributes->wakeup_events = 1;
    attributes->disabled = 1;
    attributes->exclude_kernel = 1;
    attributes->exclude_hv = 1;
    event->fd = (int)syscall(SYS_perf_event_open, attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event->fd >= 0 && dw_fd_move(&event->fd) && begin(event, tid, signal))
        return true;
    if (event->fd >= 0)
        close(event->fd);
    event->fd = -1;
    return false;
}

bool dw_perf_event_is_open(const struct dw_perf_event *event)
{
    uint64_t id;
    return event->fd >= 0 && !ioctl(event->fd, PERF_EVENT_IOC_ID, &id) && id == event->id;
}

void dw_perf_event_close(struct dw_perf_event *event)
{
    if (dw_perf_event_is_open(event))
        close(event->fd);
    event->fd = -1;
}
