/* SPDX-License-Identifier: MIT
 * The hot path of the lines probe. At a line event the line before ends and the next
 * begins, with one read of the clock. Of the activations of a recursive function only
 * the innermost spends its time on its line; the others are frozen on theirs. */
#include "probe/line_probe.h"

#include "base/grow.h"
#include "cpython/line_events.h"

#include <pthread.h>
#include <string.h>

#define STRAYS_MAX 256 /* events that a function may send for nothing before it is told not to */

static uint64_t last_serial;
static struct dw_line_profile *first_on; /* of the profiles that are on */
/* The thread's track, valid for the enabling that `here_serial` names. */
static __thread struct dw_line_track *here __attribute__((tls_model("initial-exec")));
static __thread uint64_t here_serial __attribute__((tls_model("initial-exec")));

/* Tracks are never freed but used again, because threads that the profile does not know of
 * may still look at one. */
static struct dw_line_track *spare_tracks;

static struct dw_line_track *new_track(void)
{
    struct dw_line_track *track = spare_tracks;
    if (!track)
        return calloc(1, sizeof *track);
    spare_tracks = track->next_spare;
    return track;
}

static struct dw_line_track *find_track(struct dw_line_profile *profile)
{
    unsigned long thread = PyThread_get_thread_ident();
    for (uint32_t i = 0; i < profile->track_count; i++)
        if (profile->tracks[i]->thread == thread)
            return profile->tracks[i];
    if (DW_GROW(profile->tracks, profile->track_count, profile->track_capacity))
        return NULL;
    struct dw_line_track *track = new_track();
    if (!track)
        return NULL;
    track->profile = profile;
    track->thread = thread;
    return profile->tracks[profile->track_count++] = track;
}

/* The thread's track of a profile that is on. */
static inline struct dw_line_track *track_of(struct dw_line_profile *profile)
{
    if (__builtin_expect(here_serial == profile->serial, 1))
        return here;
    struct dw_line_track *track = find_track(profile);
    here = track;
    here_serial = track ? profile->serial : 0;
    return track;
}

static inline uint32_t line_index(const struct dw_line_code *function,
                                  const struct dw_line_count *line)
{
    return (uint32_t)(line - function->outermost->lines);
}

/* Whether no other activation below stands on the same line. */
static inline bool is_outermost(const struct dw_line_activation *open)
{
    return !open->outer || !open->frozen || !open->frozen[line_index(open->function, open->line)];
}

static inline void end_line(const struct dw_line_activation *open, uint64_t now)
{
    struct dw_line_count *line = open->line;
    if (!line)
        return;
    uint64_t ticks = now - open->line_start;
    line->time += ticks - open->nested;
    line->self += ticks - open->children;
    if (is_outermost(open))
        line->inclusive += ticks;
}

static inline void begin_line(struct dw_line_activation *open, struct dw_line_count *line,
                              uint64_t now)
{
    open->line = line;
    open->line_start = now;
    open->children = open->nested = 0;
}

/* The line's numbers; NULL for a line that the code does not own up to. */
static inline struct dw_line_count *line_at(const struct dw_line_code *function, int number)
{
    const struct dw_line_code *owner = function->outermost;
    uint32_t index = (uint32_t)number - owner->first_line;
    return index < owner->line_count ? &owner->lines[index] : NULL;
}

static inline void step(struct dw_line_activation *open, int number, uint64_t now)
{
    struct dw_line_count *line = line_at(open->function, number);
    end_line(open, now);
    begin_line(open, line, now);
    if (line && !(open->function->is_inner && line->has_code))
        line->hits++;
}

static inline void flush_if_due(struct dw_line_profile *profile, uint64_t now)
{
    if (__builtin_expect(profile->log && now >= profile->flush_at, 0))
        dw_lines_flush(profile, false);
}

/* The edge from the line to what it calls, found at the front mostly; NULL when out of memory. */
static struct dw_line_edge *edge_to(struct dw_line_count *line, const struct dw_line_callee *callee)
{
    struct dw_line_edge **link = &line->edges, *edge;
    while ((edge = *link) && edge->callee != callee)
        link = &edge->next;
    if (edge) {
        *link = edge->next;
    } else {
        edge = calloc(1, sizeof *edge);
        if (!edge)
            return NULL;
        edge->callee = callee;
    }
    edge->next = line->edges;
    return line->edges = edge;
}

static void count_call(struct dw_line_count *line, const struct dw_line_callee *callee)
{
    struct dw_line_edge *edge = line ? edge_to(line, callee) : NULL;
    if (edge)
        edge->calls++;
}

/* Time that `open` had since it was last settled goes to whom it was called by. */
static void charge_caller(struct dw_line_track *track, const struct dw_line_activation *open,
                          uint64_t now)
{
    uint64_t ticks = now - open->start;
    struct dw_line_activation *caller = (struct dw_line_activation *)open - 1;
    if (open->outer)
        track->stack[open->outer].nested += ticks;
    if (caller == track->stack)
        return;
    caller->children += ticks;
    bool is_call = caller->line && !(open->function && open->function->is_inner);
    struct dw_line_edge *edge =
        is_call && is_outermost(caller) ? edge_to(caller->line, open->callee) : NULL;
    if (edge)
        edge->time += ticks;
}

/* The activation of the same function that is innermost so far, or 0. */
static uint32_t find_outer(const struct dw_line_track *track, const struct dw_line_code *function)
{
    uint32_t at = function->outermost->open ? track->depth : 0;
    while (at && !(track->stack[at].function &&
                   track->stack[at].function->outermost == function->outermost))
        at--;
    return at;
}

/* The outer activation stands on its line until the inner one ends. */
static void freeze(struct dw_line_activation *outer, int change)
{
    if (outer->frozen && outer->line)
        outer->frozen[line_index(outer->function, outer->line)] += (uint32_t)change;
}

static void nest(struct dw_line_track *track, struct dw_line_activation *open)
{
    struct dw_line_activation *outer = &track->stack[open->outer];
    if (!outer->frozen)
        outer->frozen = calloc(outer->function->outermost->line_count, sizeof *outer->frozen);
    open->frozen = outer->frozen;
    freeze(outer, 1);
}

static struct dw_line_activation *push(struct dw_line_track *track, struct dw_line_code *function,
                                       const struct dw_line_callee *callee)
{
    if (__builtin_expect(track->depth + 1 >= track->capacity, 0) &&
        dw_grow((void **)&track->stack, &track->capacity, sizeof *track->stack))
        return NULL;
    uint32_t outer = function ? find_outer(track, function) : 0;
    struct dw_line_activation *open = &track->stack[++track->depth];
    *open = (struct dw_line_activation){.function = function, .callee = callee, .outer = outer};
    if (function)
        function->outermost->open++;
    if (outer)
        nest(track, open);
    return open;
}

/* Adds the time of an activation up to now, as if it ended. */
static void settle(struct dw_line_track *track, const struct dw_line_activation *open, uint64_t now)
{
    end_line(open, now);
    if (open->outer)
        freeze(&track->stack[open->outer], -1);
    charge_caller(track, open, now);
}

/* Takes the uppermost activation off once it is settled. */
static void drop(struct dw_line_track *track)
{
    struct dw_line_activation *open = &track->stack[track->depth--];
    if (open->function)
        open->function->outermost->open--;
    if (!open->outer || track->stack[open->outer].frozen != open->frozen)
        free(open->frozen);
}

static void pop(struct dw_line_track *track, uint64_t now)
{
    settle(track, &track->stack[track->depth], now);
    drop(track);
}

static struct dw_line_activation *top_of(struct dw_line_track *track)
{
    return &track->stack[track->depth];
}

/* The uppermost activation of the function. Those above it left without telling. */
static struct dw_line_activation *find_open(struct dw_line_track *track,
                                            const struct dw_line_code *function, uint64_t now)
{
    uint32_t at = track->depth;
    while (at && track->stack[at].function != function)
        at--;
    while (at && track->depth > at)
        pop(track, now);
    return at ? &track->stack[at] : NULL;
}

/* An event of a function whose profile is off. */
static void stray(struct dw_line_code *function)
{
    if (function->is_watched && ++function->strays > STRAYS_MAX)
        dw_line_code_unwatch(function);
}

/* Each function of the code whose profile is on, with the thread's track of that profile. */
#define FOR_EACH_FUNCTION(function, track, code)                                                   \
    for (struct dw_line_code *function = dw_line_codes_of(code), *next_; function;                 \
         function = next_)                                                                         \
        if (next_ = function->next_of_code, !function->profile->serial)                            \
            stray(function);                                                                       \
        else                                                                                       \
            for (struct dw_line_track *track = track_of(function->profile); track; track = NULL)

#define SLEEPERS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

/* One that slept at the same address is gone. */
static void forget_sleeper(struct dw_line_profile *profile)
{
    uint64_t old;
    const PyObject *generator = dw_py_frame_generator(dw_py_frame_now());
    dw_pointer_map_take(&profile->asleep_since, generator, &old);
    dw_pointer_map_take(&profile->asleep_on, generator, &old);
}

static void start(struct dw_line_track *track, struct dw_line_code *function)
{
    if (function->code->co_flags & SLEEPERS)
        forget_sleeper(track->profile);
    struct dw_line_count *line = track->depth ? top_of(track)->line : NULL;
    if (!function->is_inner)
        count_call(line, &function->callee);
    function->calls++;
    struct dw_line_activation *open = push(track, function, &function->callee);
    if (open)
        open->start = dw_tick();
}

void dw_lines_on_start(PyCodeObject *code)
{
    FOR_EACH_FUNCTION(function, track, code)
    start(track, function);
}

/* Profiling may have begun in the middle of the function. */
static void line_slow(struct dw_line_track *track, struct dw_line_code *function, int number)
{
    uint64_t now = dw_tick();
    struct dw_line_activation *open = find_open(track, function, now);
    if (!open && (open = push(track, function, &function->callee)))
        open->start = now;
    if (open)
        step(open, number, now);
    flush_if_due(function->profile, now);
}

void dw_lines_on_line(PyCodeObject *code, int number)
{
    struct dw_line_activation *top = here_serial && here->depth ? top_of(here) : NULL;
    struct dw_line_code *function = top ? top->function : NULL;
    if (__builtin_expect(function && function->code == code && !function->is_shared &&
                             function->profile->serial == here_serial,
                         1)) {
        uint64_t now = dw_tick();
        step(top, number, now);
        flush_if_due(function->profile, now);
        return;
    }
    FOR_EACH_FUNCTION(of_code, track, code)
    line_slow(track, of_code, number);
}

void dw_lines_on_return(PyCodeObject *code)
{
    FOR_EACH_FUNCTION(function, track, code)
    {
        uint64_t now = dw_tick();
        if (find_open(track, function, now))
            pop(track, now);
        flush_if_due(function->profile, now);
    }
}

static void fall_asleep(struct dw_line_track *track, const PyObject *generator, uint64_t now)
{
    struct dw_line_profile *profile = track->profile;
    if (dw_pointer_map_put(&profile->asleep_since, generator, now))
        dw_pointer_map_put(&profile->asleep_on, generator,
                           (uint64_t)(uintptr_t)top_of(track)->line);
    pop(track, now);
}

void dw_lines_on_yield(dw_py_frame *frame, PyCodeObject *code)
{
    PyObject *generator = dw_py_frame_generator(frame);
    FOR_EACH_FUNCTION(function, track, code)
    {
        uint64_t now = dw_tick();
        if (find_open(track, function, now))
            fall_asleep(track, generator, now);
    }
}

/* It goes on in the line that it fell asleep on: that is no new hit. */
static void wake(struct dw_line_track *track, struct dw_line_code *function,
                 const PyObject *generator)
{
    struct dw_line_activation *open = push(track, function, &function->callee);
    uint64_t since, on, now = dw_tick();
    if (!open)
        return;
    open->start = now;
    if (!dw_pointer_map_take(&track->profile->asleep_since, generator, &since) ||
        !dw_pointer_map_take(&track->profile->asleep_on, generator, &on))
        return;
    begin_line(open, (struct dw_line_count *)(uintptr_t)on, now);
    if (open->line && !function->is_inner)
        open->line->suspended += now - since;
}

void dw_lines_on_resume(dw_py_frame *frame, PyCodeObject *code)
{
    PyObject *generator = dw_py_frame_generator(frame);
    FOR_EACH_FUNCTION(function, track, code)
    wake(track, function, generator);
}

/* A function that is called from a line is watched too, but not its lines. */
static void meet_code(struct dw_line_profile *profile, PyCodeObject *code)
{
    if (!dw_line_code_in(profile, code) && dw_line_code_meet(profile, code))
        PyErr_Clear();
}

void dw_lines_on_python_call(PyCodeObject *code, PyCodeObject *called)
{
    for (struct dw_line_code *caller = dw_line_codes_of(code); caller;
         caller = caller->next_of_code)
        if (caller->profile->serial && caller->watch & DW_WATCH_CALLS)
            meet_code(caller->profile, called);
}

void dw_lines_on_call(PyCodeObject *code, PyObject *callable)
{
    PyCodeObject *called = dw_line_callable_code(callable);
    if (called) {
        dw_lines_on_python_call(code, called);
        return;
    }
    FOR_EACH_FUNCTION(function, track, code)
    {
        bool asks = function->watch & DW_WATCH_CALLS;
        if (!asks || !track->depth || top_of(track)->function != function)
            continue;
        const struct dw_line_callee *callee = dw_line_callee_of(function->profile, callable);
        if (!callee)
            continue;
        count_call(top_of(track)->line, callee);
        struct dw_line_activation *open = push(track, NULL, callee);
        if (open)
            open->start = dw_tick();
    }
}

void dw_lines_on_c_return(PyCodeObject *code, PyObject *callable)
{
    (void)callable; /* calls that are not Python end in the order in which they began */
    FOR_EACH_FUNCTION(function, track, code)
    {
        uint64_t now = dw_tick();
        if (track->depth > 1 && !top_of(track)->function && top_of(track)[-1].function == function)
            pop(track, now);
    }
}

/* [signal-safe] The other threads are not in a forked child, and their calls never end. */
static void forget_other_threads(void)
{
    unsigned long thread = PyThread_get_thread_ident();
    for (struct dw_line_profile *profile = first_on; profile; profile = profile->next_on)
        for (uint32_t i = 0; i < profile->track_count; i++)
            while (profile->tracks[i]->thread != thread && profile->tracks[i]->depth)
                drop(profile->tracks[i]);
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
    if (!last_serial)
        pthread_atfork(NULL, NULL, forget_other_threads);
    if (!profile->first_clock.tick)
        profile->first_clock = dw_clock_pair_now();
    profile->enable_count = 1;
    profile->serial = ++last_serial;
    profile->next_on = first_on;
    first_on = profile;
    return 0;
}

static void restart_track(struct dw_line_track *track, uint64_t now)
{
    for (uint32_t at = 1; at <= track->depth; at++) {
        struct dw_line_activation *open = &track->stack[at];
        begin_line(open, open->line, now);
        open->start = now;
    }
}

void dw_lines_restart(struct dw_line_profile *profile)
{
    uint64_t now = dw_tick();
    for (uint32_t i = 0; i < profile->track_count; i++)
        restart_track(profile->tracks[i], now);
}

/* From the top down, so that each has the time of those above it; then all are open again. */
static void settle_track(struct dw_line_track *track, uint64_t now)
{
    for (uint32_t at = track->depth; at; at--)
        settle(track, &track->stack[at], now);
    restart_track(track, now);
    for (uint32_t at = 1; at <= track->depth; at++)
        if (track->stack[at].outer)
            freeze(&track->stack[track->stack[at].outer], 1);
}

void dw_lines_settle(struct dw_line_profile *profile)
{
    uint64_t now = dw_tick();
    for (uint32_t i = 0; i < profile->track_count; i++)
        settle_track(profile->tracks[i], now);
}

void dw_lines_end_all(struct dw_line_profile *profile)
{
    uint64_t now = dw_tick();
    for (uint32_t i = 0; i < profile->track_count; i++)
        while (profile->tracks[i]->depth)
            pop(profile->tracks[i], now);
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

static void reset_line(struct dw_line_count *line)
{
    line->hits = line->time = line->self = line->inclusive = line->suspended = 0;
    for (struct dw_line_edge *edge = line->edges; edge; edge = edge->next)
        edge->calls = edge->time = 0;
}

void dw_lines_forked(struct dw_line_profile *profile)
{
    dw_lines_settle(profile);
    for (uint32_t i = 0; i < profile->function_count; i++) {
        struct dw_line_code *function = profile->functions[i];
        function->calls = 0;
        for (uint32_t line = 0; !function->is_inner && line < function->line_count; line++)
            reset_line(&function->lines[line]);
    }
}

void dw_lines_release(struct dw_line_profile *profile)
{
    if (profile->enable_count)
        profile->enable_count = 1;
    dw_lines_disable(profile);
    for (uint32_t i = 0; i < profile->track_count; i++) {
        profile->tracks[i]->next_spare = spare_tracks;
        spare_tracks = profile->tracks[i];
    }
    free(profile->tracks);
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
