/* SPDX-License-Identifier: MIT
 * While a thread maps or unmaps memory, nobody can read the memory of its process. Whoever wants to
 * is woken some ten microseconds after that is done, and may find the thread elsewhere. So the
 * sample says what the thread did, and only has the calls that it was in before and after. */
#include "attach/sampling/watched.h"

#include <time.h>

#define COMPARE_AFTER_NS 100000000 /* the kernel counts threads up every few milliseconds */
#define OTHERS_SHARE 8             /* of the CPU time of the process may be that of other threads */

static uint64_t process_cpu_ns(pid_t pid)
{
    struct timespec time;
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Whether nobody else can have changed the map. */
static bool is_alone(const struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_alone *last = &thread->alone;
    if (now_ns - last->looked_ns < COMPARE_AFTER_NS)
        return last->is_alone;
    struct dw_alone now = {
        .looked_ns = now_ns,
        .process_ns = process_cpu_ns(sampler->target.pid),
        .thread_ns = dw_activity_cpu_ns(&thread->activity),
    };
    uint64_t all_ns = now.process_ns - last->process_ns, own_ns = now.thread_ns - last->thread_ns;
    now.is_alone = last->looked_ns && now.process_ns && now.thread_ns >= last->thread_ns &&
                   all_ns < own_ns + all_ns / OTHERS_SHARE;
    *last = now;
    return last->is_alone;
}

/* Most likely that is what maps memory. */
static bool is_in_c_code(const struct dw_sampler *sampler, const struct dw_watched *thread)
{
    return !thread->is_short &&
           dw_live_stays(&sampler->reader, &thread->known[thread->known_count - 1].frame);
}

/* The innermost function may have been called anew, unless it is in C code that it called. */
static dw_path_id path_around(const struct dw_sampler *sampler, const struct dw_watched *thread)
{
    uint32_t count = thread->known_count;
    if (count && !is_in_c_code(sampler, thread))
        count--;
    count = thread->same_count < count ? thread->same_count : count;
    return count ? thread->known[count - 1].path : DW_PATH_ROOT;
}

int dw_watched_check_map(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    static const char name[] = "<memory map>";
    dw_place_id place;
    thread->is_mapping = is_alone(sampler, thread, now_ns);
    if (!thread->is_mapping)
        return 0;
    int error = dw_ledger_named_place(sampler->log, DW_FRAME_MARK,
                                      (struct dw_string){name, sizeof name - 1},
                                      (struct dw_string){"", 0}, 0, &place);
    return error ? error
                 : dw_ledger_path(sampler->log, path_around(sampler, thread), place, &thread->path);
}
