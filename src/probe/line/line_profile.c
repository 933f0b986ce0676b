/* SPDX-License-Identifier: MIT
 * A profile of lines as a whole: on, off, settled, forked. */
#include "probe/line/line_track.h"

#include "cpython/line_events.h"
#include "record/probes.h"

static uint64_t last_serial;
static struct dw_line_profile *first_on; /* of the profiles that are on */

void dw_lines_forget_other_threads(void)
{
    unsigned long thread = PyThread_get_thread_ident();
    for (struct dw_line_profile *profile = first_on; profile; profile = profile->next_on)
        for (uint32_t i = 0; i < profile->track_count; i++)
            while (profile->tracks[i]->thread != thread && profile->tracks[i]->depth)
                dw_line_drop(profile->tracks[i]);
}

int dw_lines_enable(struct dw_line_profile *profile)
{
    if (profile->enable_count) {
        profile->enable_count++;
        return 0;
    }
    if (dw_line_events_enable(profile->with_callees))
        return -1;
    if (dw_line_codes_watch(profile)) {
        if (!first_on)
            dw_line_events_disable();
        return -1;
    }
    dw_probe_add(&dw_line_probe);
    if (!profile->first_clock.tick)
        profile->first_clock = dw_clock_pair_now();
    profile->enable_count = 1;
    profile->serial = ++last_serial;
    profile->next_on = first_on;
    first_on = profile;
    return 0;
}

bool dw_lines_are_on(void)
{
    return first_on != NULL;
}

void dw_lines_restart(struct dw_line_profile *profile)
{
    uint64_t now = dw_tick();
    for (uint32_t i = 0; i < profile->track_count; i++)
        dw_line_track_restart(profile->tracks[i], now);
}

void dw_lines_settle(struct dw_line_profile *profile)
{
    uint64_t now = dw_tick();
    for (uint32_t i = 0; i < profile->track_count; i++)
        dw_line_track_settle(profile->tracks[i], now);
}

void dw_lines_end_all(struct dw_line_profile *profile)
{
    uint64_t now = dw_tick();
    for (uint32_t i = 0; i < profile->track_count; i++)
        while (profile->tracks[i]->depth)
            dw_line_pop(profile->tracks[i], now);
}

void dw_lines_disable(struct dw_line_profile *profile)
{
    if (!profile->enable_count || --profile->enable_count)
        return;
    dw_lines_end_all(profile);
    profile->serial = 0;
    profile->last_clock = dw_clock_pair_now();
    struct dw_line_profile **link = &first_on;
    while (*link != profile)
        link = &(*link)->next_on;
    *link = profile->next_on;
    if (!first_on)
        dw_line_events_disable();
}

static void reset_counts(struct dw_line_count *counts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct dw_line_edge *edges = counts[i].edges;
        counts[i] = (struct dw_line_count){.edges = edges};
        for (struct dw_line_edge *edge = edges; edge; edge = edge->next)
            edge->calls = edge->time = 0;
    }
}

static void reset_set(const struct dw_line_profile *profile, struct dw_line_set *set)
{
    for (uint32_t i = 0; set && i < set->capacity; i++)
        if (set->counts[i])
            reset_counts(set->counts[i], profile->functions[i]->line_count + 1);
}

void dw_lines_forked(struct dw_line_profile *profile)
{
    dw_lines_settle(profile);
    for (uint32_t i = 0; i < profile->track_count; i++) {
        struct dw_line_track *track = profile->tracks[i];
        bool is_own = track->thread == PyThread_get_thread_ident();
        track->thread_id = is_own ? PyThread_get_thread_native_id() : 0;
        track->is_entered = false;
        dw_value_table_release(&track->written);
        for (uint32_t labels = 0; labels < track->set_count; labels++)
            reset_set(profile, track->sets[labels]);
    }
}

void dw_lines_release(struct dw_line_profile *profile)
{
    if (profile->enable_count)
        profile->enable_count = 1;
    dw_lines_disable(profile);
    dw_line_tracks_release(profile);
    dw_pointer_map_release(&profile->asleep_since);
    dw_pointer_map_release(&profile->asleep_on);
    dw_line_codes_release(profile);
}

double dw_lines_tick_ns(const struct dw_line_profile *profile)
{
    struct dw_clock_pair now = profile->serial ? dw_clock_pair_now() : profile->last_clock;
    struct dw_clock_rate rate = dw_clock_rate_between(&profile->first_clock, &now);
    return (double)rate.ns_per_tick / (double)((uint64_t)1 << 56);
}
