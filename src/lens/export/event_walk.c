/* SPDX-License-Identifier: MIT
 * After a gap nothing is known but the path that is open then: the chain of its
 * ancestors is opened anew. Ends of entries begun before that are ignored. */
#include "lens/export/event_walk.h"

#include "base/grow.h"
#include "lens/view/roster.h"

#define REOPEN_MAX 1024 /* innermost entries opened anew after a gap */
#define NO_SEQUENCE UINT64_MAX

int dw_event_walk_init(struct dw_event_walk *walk, const struct dw_profile *profile)
{
    *walk = (struct dw_event_walk){.profile = profile, .epoch_ns = dw_roster_epoch_ns(profile)};
    DW_ROOM_GET(&walk->room, walk->blocks, profile->block_count);
    DW_ROOM_GET(&walk->room, walk->first, profile->thread_count + 2u);
    if (walk->room.failed) {
        dw_event_walk_release(walk);
        return DW_ERR_MEMORY;
    }
    /* Counting sort: first[t + 1] becomes the next free place of thread t, then its end. */
    for (uint32_t i = 0; i < profile->block_count; i++)
        walk->first[profile->blocks[i].thread + 2u]++;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        walk->first[t + 1] += walk->first[t];
    for (uint32_t i = 0; i < profile->block_count; i++)
        walk->blocks[walk->first[profile->blocks[i].thread + 1u]++] = i;
    return 0;
}

void dw_event_walk_release(struct dw_event_walk *walk)
{
    dw_room_release(&walk->room);
}

bool dw_event_walk_has(const struct dw_event_walk *walk, uint32_t thread)
{
    return walk->first[thread] < walk->first[thread + 1u];
}

struct walking {
    const struct dw_event_walk *walk;
    dw_step_visit *visit;
    void *context;
    uint64_t now_ns;
    uint64_t next_sequence;
    dw_path_id *stack;
    uint32_t depth, capacity;
};

static void advance(struct walking *walking, uint64_t wall_ns)
{
    uint64_t epoch = walking->walk->epoch_ns;
    uint64_t time = wall_ns > epoch ? wall_ns - epoch : 0;
    if (time > walking->now_ns)
        walking->now_ns = time;
}

static void step(struct walking *walking, enum dw_step_kind kind, dw_path_id path, int64_t value,
                 bool resumed)
{
    struct dw_step next = {kind, walking->now_ns, path, value, resumed};
    walking->visit(walking->context, &next);
}

static int open_entry(struct walking *walking, dw_path_id path, bool resumed)
{
    int error = DW_GROW(walking->stack, walking->depth, walking->capacity);
    if (error)
        return error;
    walking->stack[walking->depth++] = path;
    step(walking, DW_STEP_OPEN, path, 0, resumed);
    return 0;
}

static void close_entry(struct walking *walking)
{
    if (walking->depth)
        step(walking, DW_STEP_CLOSE, walking->stack[--walking->depth], 0, false);
}

static int take_event(struct walking *walking, const struct dw_event *event)
{
    advance(walking, event->time_ns);
    switch (event->kind) {
    case DW_EVENT_ENTER: return open_entry(walking, event->path, false);
    case DW_EVENT_RESUME: return open_entry(walking, event->path, true);
    case DW_EVENT_EXIT:
    case DW_EVENT_SUSPEND: close_entry(walking); break;
    case DW_EVENT_INSTANT: step(walking, DW_STEP_INSTANT, event->path, 0, false); break;
    case DW_EVENT_COUNTER: step(walking, DW_STEP_COUNTER, event->path, event->value, false); break;
    }
    return 0;
}

static int reopen(struct walking *walking, dw_path_id top)
{
    const struct dw_path *paths = walking->walk->profile->functions.paths;
    dw_path_id chain[REOPEN_MAX];
    uint32_t count = 0;
    for (; top != DW_PATH_ROOT && count < REOPEN_MAX; top = paths[top].parent)
        chain[count++] = top;
    int error = 0;
    while (count && !error)
        error = open_entry(walking, chain[--count], false);
    return error;
}

/* At the start, and where a block is missing: what was open then ends now. */
static int resume_after_gap(struct walking *walking, const struct dw_event_block *block,
                            uint64_t wall_ns)
{
    while (walking->depth)
        close_entry(walking);
    advance(walking, wall_ns);
    return reopen(walking, block->top);
}

static int take_block(struct walking *walking, const struct dw_event_block *block)
{
    struct dw_event_reader reader;
    struct dw_event event;
    int error = dw_event_reader_init(&reader, walking->walk->profile, block);
    if (error)
        return error == DW_ERR_DAMAGED ? 0 : error;
    bool gap = walking->next_sequence != block->sequence;
    bool more = dw_event_next(&reader, &event);
    if (gap && more)
        error = resume_after_gap(walking, block, event.time_ns);
    for (; !error && more; more = dw_event_next(&reader, &event))
        error = take_event(walking, &event);
    bool whole = reader.cursor.at == reader.cursor.end && !reader.cursor.bad;
    walking->next_sequence = whole ? block->sequence + 1ull : NO_SEQUENCE;
    dw_event_reader_release(&reader);
    return error;
}

/* Entries that never ended lasted at least until the last sign of life. */
static void close_all(struct walking *walking, uint32_t thread)
{
    const struct dw_profile *profile = walking->walk->profile;
    const struct dw_process *process = &profile->processes[profile->threads[thread].process];
    if (walking->depth)
        advance(walking, process->first_clock.wall_ns + dw_process_duration_ns(process));
    while (walking->depth)
        close_entry(walking);
}

int dw_event_walk_thread(const struct dw_event_walk *walk, uint32_t thread, dw_step_visit *visit,
                         void *context)
{
    struct walking walking = {
        .walk = walk, .visit = visit, .context = context, .next_sequence = NO_SEQUENCE};
    int error = 0;
    for (uint32_t i = walk->first[thread]; !error && i < walk->first[thread + 1u]; i++)
        error = take_block(&walking, &walk->profile->blocks[walk->blocks[i]]);
    close_all(&walking, thread);
    free(walking.stack);
    return error;
}
