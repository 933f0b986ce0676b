/* SPDX-License-Identifier: MIT
 * The hot path of the lines probe. At a line event the line before ends and the next
 * begins, with one read of the clock. */
#include "cpython/line_events.h"
#include "probe/line/line_memory.h"
#include "probe/line/line_track.h"

#define STRAYS_MAX 256 /* unwanted events of a function before they are turned off */

/* The thread's track, valid for the enabling that `here_serial` names. */
static __thread struct dw_line_track *here __attribute__((tls_model("initial-exec")));
static __thread uint64_t here_serial __attribute__((tls_model("initial-exec")));

/* The thread's track of a profile that is on. */
static inline struct dw_line_track *track_of(struct dw_line_profile *profile)
{
    if (__builtin_expect(here_serial == profile->serial, 1))
        return here;
    struct dw_line_track *track = dw_line_track_find(profile);
    here = track;
    here_serial = track ? profile->serial : 0;
    return track;
}

/* A line outside of those that the code lists has no numbers, and counts for none. Lines of the
 * function itself are hit by itself only. */
static inline void step(struct dw_line_track *track, struct dw_line_activation *open, int number,
                        uint64_t now)
{
    const struct dw_line_code *owner = open->function->outermost;
    uint32_t at = (uint32_t)number - owner->first_line;
    dw_line_end(open, now);
    if (__builtin_expect(track->with_memory, 0)) {
        dw_line_end_memory(open, now);
        now = dw_tick(); /* it took longer than most lines */
    }
    dw_line_follow_labels(track, open);
    struct dw_line_count *line =
        at < owner->line_count && open->counts ? &open->counts[at + 1] : NULL;
    dw_line_begin(open, line, now);
    if (line && !(open->function->is_inner && owner->kinds[at] & DW_LINE_OF_FUNCTION))
        line->hits++;
}

static inline void flush_if_due(struct dw_line_profile *profile, uint64_t now)
{
    if (__builtin_expect(profile->log && now >= profile->flush_at, 0))
        dw_lines_flush(profile, false);
}

static void count_call(struct dw_line_count *line, const struct dw_line_callee *callee)
{
    struct dw_line_edge *edge = line ? dw_line_edge_to(line, callee) : NULL;
    if (edge)
        edge->calls++;
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

/* A generator that slept at the same address is gone. */
static void forget_sleeper(struct dw_line_profile *profile)
{
    uint64_t old;
    const PyObject *generator = dw_py_frame_generator(dw_py_frame_now());
    dw_pointer_map_take(&profile->asleep_since, generator, &old);
    dw_pointer_map_take(&profile->asleep_on, generator, &old);
}

/* Of a function as a whole: it is called once more, with that much memory. */
static void count_start(struct dw_line_count *whole, const struct dw_line_activation *open)
{
    whole->hits++;
    if (open->rss > whole->rss)
        whole->rss = open->rss;
}

static void start(struct dw_line_track *track, struct dw_line_code *function)
{
    if (function->code->co_flags & SLEEPERS)
        forget_sleeper(track->profile);
    struct dw_line_count *line = track->depth ? dw_line_top(track)->line : NULL;
    if (!function->is_inner)
        count_call(line, &function->callee);
    struct dw_line_activation *open = dw_line_push(track, function, &function->callee);
    if (!open)
        return;
    if (track->with_memory)
        dw_line_begin_memory(open);
    if (open->counts && !function->is_inner)
        count_start(open->counts, open);
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
    struct dw_line_activation *open = dw_line_find_open(track, function, now);
    if (!open && (open = dw_line_push(track, function, &function->callee)))
        open->start = now;
    if (open)
        step(track, open, number, now);
    flush_if_due(function->profile, now);
}

void dw_lines_on_line(PyCodeObject *code, int number)
{
    struct dw_line_activation *top = here_serial && here->depth ? dw_line_top(here) : NULL;
    struct dw_line_code *function = top ? top->function : NULL;
    if (__builtin_expect(function && function->code == code && !function->is_shared &&
                             function->profile->serial == here_serial,
                         1)) {
        uint64_t now = dw_tick();
        step(here, top, number, now);
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
        if (dw_line_find_open(track, function, now))
            dw_line_pop(track, now);
        flush_if_due(function->profile, now);
    }
}

static void fall_asleep(struct dw_line_track *track, const PyObject *generator, uint64_t now)
{
    struct dw_line_profile *profile = track->profile;
    if (dw_pointer_map_put(&profile->asleep_since, generator, now))
        dw_pointer_map_put(&profile->asleep_on, generator, dw_line_index(dw_line_top(track)));
    dw_line_pop(track, now);
}

void dw_lines_on_yield(dw_py_frame *frame, PyCodeObject *code)
{
    PyObject *generator = dw_py_frame_generator(frame);
    FOR_EACH_FUNCTION(function, track, code)
    {
        uint64_t now = dw_tick();
        if (dw_line_find_open(track, function, now))
            fall_asleep(track, generator, now);
    }
}

/* It goes on in the line that it fell asleep on, which is not a new hit. */
static void wake(struct dw_line_track *track, struct dw_line_code *function,
                 const PyObject *generator)
{
    struct dw_line_activation *open = dw_line_push(track, function, &function->callee);
    uint64_t since, on, now = dw_tick();
    if (!open)
        return;
    open->start = now;
    if (track->with_memory)
        dw_line_begin_memory(open);
    if (!dw_pointer_map_take(&track->profile->asleep_since, generator, &since) ||
        !dw_pointer_map_take(&track->profile->asleep_on, generator, &on))
        return;
    dw_line_begin(open, on && open->counts ? &open->counts[on] : NULL, now);
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
        if (!asks || !track->depth || dw_line_top(track)->function != function)
            continue;
        const struct dw_line_callee *callee = dw_line_callee_of(function->profile, callable);
        if (!callee)
            continue;
        count_call(dw_line_top(track)->line, callee);
        struct dw_line_activation *open = dw_line_push(track, NULL, callee);
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
        if (track->depth > 1 && !dw_line_top(track)->function &&
            dw_line_top(track)[-1].function == function)
            dw_line_pop(track, now);
    }
}
