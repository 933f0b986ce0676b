/* SPDX-License-Identifier: MIT
 * Regions of the timeline as spans that are wide enough to be seen: short ones of the same name
 * that follow each other closely are one span, other short ones are left out. So there are no more
 * spans than a picture has room for, however long the timeline. */
#include "base/grow.h"
#include "lens/export/event_walk.h"
#include "lens/plot/chart.h"
#include "lens/view/roster.h"

#define NARROW_PART 300 /* of the window: less cannot be seen */
#define SHORT_PART 20   /* and less than this has no room for a name */

struct walking {
    struct dw_chart *chart;
    uint64_t epoch_ns;
    uint64_t narrow_ns, short_ns;
    uint32_t first_lane, depth, deepest;
    uint64_t opened_ns[DW_LANES_MAX]; /* by lane, of what is open */
    dw_path_id path[DW_LANES_MAX];
    struct dw_span last[DW_LANES_MAX]; /* count 0: none */
    int error;
};

static void keep_span(struct walking *walking, struct dw_span *span)
{
    struct dw_chart *chart = walking->chart;
    bool is_seen = span->count && span->to_ns - span->from_ns >= walking->narrow_ns;
    if (is_seen && !walking->error)
        walking->error = DW_GROW(chart->spans, chart->span_count, chart->span_capacity);
    if (is_seen && !walking->error) {
        chart->spans[chart->span_count++] = *span;
        walking->deepest = span->lane + 1 > walking->deepest ? span->lane + 1 : walking->deepest;
    }
    span->count = 0;
}

static void add_span(struct walking *walking, struct dw_span span)
{
    struct dw_chart *chart = walking->chart;
    struct dw_span *last = &walking->last[span.lane];
    if (span.to_ns < chart->from_ns || span.from_ns > chart->to_ns)
        return;
    span.from_ns = span.from_ns < chart->from_ns ? chart->from_ns : span.from_ns;
    span.to_ns = span.to_ns > chart->to_ns ? chart->to_ns : span.to_ns;
    bool is_near = last->count && last->name == span.name &&
                   span.from_ns <= last->to_ns + walking->narrow_ns &&
                   span.to_ns - span.from_ns < walking->short_ns;
    if (is_near) {
        last->to_ns = span.to_ns;
        last->count++;
        return;
    }
    if (last->count && span.to_ns - span.from_ns < walking->narrow_ns &&
        last->to_ns - last->from_ns >= walking->narrow_ns &&
        span.from_ns <= last->to_ns + walking->narrow_ns)
        return; /* too short to end what is seen */
    keep_span(walking, last);
    *last = span;
}

static void visit(void *context, const struct dw_step *step)
{
    struct walking *walking = context;
    uint64_t now_ns = walking->epoch_ns + step->time_ns;
    uint32_t lane = walking->first_lane + walking->depth;
    if (step->kind == DW_STEP_OPEN) {
        if (lane < DW_LANES_MAX) {
            walking->opened_ns[lane] = now_ns;
            walking->path[lane] = step->path;
        }
        walking->depth++;
    } else if (step->kind == DW_STEP_CLOSE) {
        lane--;
        walking->depth--;
        if (lane < DW_LANES_MAX)
            add_span(
                walking,
                (struct dw_span){
                    .from_ns = walking->opened_ns[lane],
                    .to_ns = now_ns,
                    .name = dw_profile_frame(walking->chart->profile, walking->path[lane])->name,
                    .lane = lane,
                    .count = 1});
    }
}

/* Each thread has lanes of its own, as long as there are some left. */
static int walk_thread(const struct dw_event_walk *walk, struct walking *walking, uint32_t thread)
{
    walking->first_lane = walking->deepest;
    walking->depth = 0;
    int error = dw_event_walk_thread(walk, thread, visit, walking);
    for (uint32_t i = walking->first_lane; i < DW_LANES_MAX; i++)
        keep_span(walking, &walking->last[i]);
    return error ? error : walking->error;
}

int dw_chart_find_spans(struct dw_chart *chart)
{
    struct dw_event_walk walk;
    uint32_t *threads;
    if (!chart->profile->block_count)
        return 0;
    int error = dw_roster_threads(chart->profile, &threads);
    if (error)
        return error;
    error = dw_event_walk_init(&walk, chart->profile);
    struct walking walking = {.chart = chart,
                              .epoch_ns = walk.epoch_ns,
                              .narrow_ns = (chart->to_ns - chart->from_ns) / NARROW_PART + 1,
                              .short_ns = (chart->to_ns - chart->from_ns) / SHORT_PART + 1};
    for (uint32_t i = 0;
         i < chart->profile->thread_count && walking.deepest < DW_LANES_MAX && !error; i++)
        if (dw_event_walk_has(&walk, threads[i]))
            error = walk_thread(&walk, &walking, threads[i]);
    chart->lanes = walking.deepest;
    dw_event_walk_release(&walk);
    free(threads);
    return error;
}
