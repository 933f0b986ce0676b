/* SPDX-License-Identifier: MIT
 * The hot path of the calls probe: one look at the last child, one read of the
 * clock, and a push or a pop. Every call path has its own node, so recursion is a
 * chain of nodes and no time is counted twice. */
#include "probe/call/calls.h"

#include "base/clock.h"
#include "base/grow.h"
#include "cpython/call_events.h"
#include "probe/call/call_signed.h"

#include <string.h>

static struct dw_call_profile *active;
static uint64_t serial; /* counts enablings: a track's stack is valid for one of them */
static struct dw_clock_pair first_clock;
static __thread struct dw_call_track *here __attribute__((tls_model("initial-exec")));
static __thread uint64_t here_serial __attribute__((tls_model("initial-exec")));
static __thread bool muted;
static __thread struct dw_call_track *here_unmuted;

/* The first threads are told apart for good; after that one that starts goes on with the
 * track of one that ended, so that a program which starts threads for ever does not grow. */
#define TRACKS_APART 256

static struct dw_call_track *find_track(void)
{
    unsigned long ident = PyThread_get_thread_ident();
    uint64_t id = PyThread_get_thread_native_id();
    bool many = active->track_count >= TRACKS_APART;
    for (uint32_t i = 0; i < active->track_count; i++) {
        struct dw_call_track *track = active->tracks[i];
        if (track->thread_id == id || (many && track->thread == ident))
            return track;
    }
    return NULL;
}

static struct dw_call_track *track_slow(void)
{
    if (!active || active->waits_for_main || muted)
        return NULL;
    if (active->only_thread && active->only_thread != PyThread_get_thread_ident())
        return NULL;
    here = find_track();
    if (!here) {
        here = dw_call_track_new(active);
        dw_calls_enter_thread(active);
    }
    if (here) {
        here_serial = here->serial = serial;
        here->depth = 0;
    }
    return here;
}

/* The thread's track. The track of a profile that is gone is never read, not even its serial, which
 * the thread keeps itself. */
static inline struct dw_call_track *track_here(void)
{
    if (__builtin_expect(here && here_serial == serial, 1))
        return here;
    return track_slow();
}

bool dw_calls_mute(bool mute)
{
    bool before = muted;
    if (mute && !before) {
        here_unmuted = here;
        here = NULL;
    } else if (before && !mute) {
        here = here_unmuted;
    }
    muted = mute;
    return before;
}

/* The clock's own calls are not profiled; those of other threads meanwhile are. */
static uint64_t python_clock(struct dw_call_profile *profile)
{
    PyObject *type, *value, *traceback;
    uint64_t ticks = 0;
    PyErr_Fetch(&type, &value, &traceback);
    bool was_muted = dw_calls_mute(true);
    PyObject *now = PyObject_CallNoArgs(profile->timer);
    double number = now ? PyFloat_AsDouble(now) : -1;
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(profile->timer);
    else
        ticks = (uint64_t)(number * (profile->unit != 0 ? 1 : 1e9) + 0.5);
    Py_XDECREF(now);
    dw_calls_mute(was_muted);
    PyErr_Restore(type, value, traceback);
    return ticks;
}

static inline uint64_t clock_now(void)
{
    if (__builtin_expect(active->timer != NULL, 0))
        return python_clock(active);
    return dw_tick();
}

static void push(struct dw_call_track *track, struct dw_call_node *node)
{
    if (__builtin_expect(track->depth + 1 >= track->capacity, 0) &&
        dw_grow((void **)&track->stack, &track->capacity, sizeof *track->stack))
        return;
    struct dw_call_entry *entry = &track->stack[++track->depth];
    entry->node = node;
    entry->children = 0;
    entry->start = clock_now();
}

static void pop(struct dw_call_track *track, uint64_t now)
{
    struct dw_call_entry *entry = &track->stack[track->depth--];
    uint64_t ticks = now > entry->start ? now - entry->start : 0;
    entry->node->total += ticks;
    entry->node->self += ticks > entry->children ? ticks - entry->children : 0;
    entry[-1].children += ticks;
    if (__builtin_expect(track->profile->log && now >= track->profile->flush_at, 0))
        dw_calls_flush(track->profile, false);
}

static inline bool is_child(const struct dw_call_node *child, const void *key, dw_labels_id labels)
{
    return child && child->key == key && child->labels == labels;
}

/* Functions tend to call the same others in the same order, so the child is mostly the last one
 * again, or the one that followed it the time before. A call under other labels is another one. */
static inline struct dw_call_node *known_child(struct dw_call_track *track, const void *key,
                                               dw_labels_id labels)
{
    struct dw_call_node *parent = track->stack[track->depth].node;
    struct dw_call_node *last = parent->last_child, *child = last;
    if (__builtin_expect(is_child(child, key, labels), 1))
        return child;
    child = last ? last->after : NULL;
    if (!is_child(child, key, labels))
        child = dw_call_child_find(track, parent, key, labels);
    if (child)
        parent->last_child = child;
    if (child && last)
        last->after = child;
    return child;
}

static struct dw_call_node *child_of_code(struct dw_call_track *track, PyCodeObject *code)
{
    dw_labels_id labels = dw_labels_here(&track->watch);
    struct dw_call_node *child = known_child(track, code, labels);
    if (__builtin_expect(child != NULL, 1))
        return child;
    struct dw_call_profile *profile = track->profile;
    uint32_t function = dw_call_function_find(profile, code);
    if (function == DW_MAP_NONE)
        function = dw_call_function_add(profile, code, (PyObject *)code, Py_NewRef(code->co_name));
    struct dw_call_node *parent = track->stack[track->depth].node;
    return parent->last_child = dw_call_child_add(track, parent, code, labels, function);
}

static struct dw_call_node *child_of_method(struct dw_call_track *track, PyMethodDef *method,
                                            PyObject *callable, PyObject *self)
{
    dw_labels_id labels = dw_labels_here(&track->watch);
    struct dw_call_node *child = known_child(track, method, labels);
    if (__builtin_expect(child != NULL, 1))
        return child;
    struct dw_call_profile *profile = track->profile;
    uint32_t function = dw_call_function_find(profile, method);
    if (function == DW_MAP_NONE)
        function = dw_call_function_add(profile, method, NULL, dw_call_c_name(callable, self));
    struct dw_call_node *parent = track->stack[track->depth].node;
    return parent->last_child = dw_call_child_add(track, parent, method, labels, function);
}

/* Whether the frame that runs is the top level of the program: the module __main__. */
static bool is_main(const PyCodeObject *code)
{
    dw_py_frame *frame = dw_py_frame_now();
    if (!frame || PyUnicode_CompareWithASCIIString(code->co_name, "<module>"))
        return false;
    PyObject *name = PyDict_GetItemString(frame->f_globals, "__name__"); /* borrowed */
    return name && PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "__main__");
}

static struct dw_call_track *track_of_start(PyCodeObject *code)
{
    struct dw_call_track *track = track_here();
    if (track || !active || !active->waits_for_main || !is_main(code))
        return track;
    active->waits_for_main = false;
    return track_here();
}

static struct dw_call_node *child_of_function(struct dw_call_track *track, uint32_t function)
{
    struct dw_call_node *parent = track->stack[track->depth].node;
    if (function == DW_MAP_NONE)
        return NULL;
    const void *key = track->profile->functions[function].key;
    dw_labels_id labels = dw_labels_here(&track->watch);
    struct dw_call_node *child = dw_call_child_find(track, parent, key, labels);
    return parent->last_child =
               child ? child : dw_call_child_add(track, parent, key, labels, function);
}

/* A signature not seen before: its types may be new too. Python code may run, so the track is
 * looked for again. */
static uint32_t new_signed_function(struct dw_call_track **track, dw_py_frame *frame,
                                    PyCodeObject *code, struct dw_signature_key *key)
{
    PyObject *type, *value, *traceback;
    uint32_t function = DW_MAP_NONE;
    bool elements = (*track)->profile->signatures.elements;
    PyErr_Fetch(&type, &value, &traceback);
    dw_signature_learn(frame, code);
    dw_signature_read(key, frame, code, elements);
    *track = track_here();
    if (*track)
        function = dw_signed_function_find((*track)->profile, code, key);
    if (*track && function == DW_MAP_NONE)
        function = dw_signed_function_add((*track)->profile, code, key);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return function;
}

/* The child that is called with the arguments in the frame. Describing them may run Python
 * code, in which the profile may end, so the track is looked for again. */
static struct dw_call_node *child_of_frame(struct dw_call_track **track, dw_py_frame *frame,
                                           PyCodeObject *code)
{
    struct dw_signature_key key;
    if (!frame || dw_py_frame_code(frame) != code)
        return child_of_function(*track, dw_signed_function_rest((*track)->profile, code));
    dw_signature_read(&key, frame, code, (*track)->profile->signatures.elements);
    *track = track_here();
    if (!*track)
        return NULL;
    struct dw_call_node *child = (*track)->stack[(*track)->depth].node->last_child;
    dw_labels_id labels = dw_labels_here(&(*track)->watch);
    if (__builtin_expect(is_child(child, code, labels) && dw_signature_is(child->signature, &key),
                         1))
        return child;
    uint32_t function = dw_signed_function_find((*track)->profile, code, &key);
    if (function == DW_MAP_NONE)
        function = new_signed_function(track, frame, code, &key);
    return *track ? child_of_function(*track, function) : NULL;
}

/* A generator goes on with the arguments that it began with, whatever their variables are now. */
static struct dw_call_node *child_of_generator(struct dw_call_track **track, dw_py_frame *frame,
                                               PyCodeObject *code)
{
    uint64_t function;
    if (dw_pointer_map_take(&(*track)->profile->sleeping, dw_py_frame_generator(frame), &function))
        return child_of_function(*track, (uint32_t)function);
    return child_of_frame(track, frame, code);
}

void dw_calls_on_start(PyCodeObject *code)
{
    struct dw_call_track *track = track_of_start(code);
    if (!track)
        return;
    struct dw_call_node *node = track->profile->signatures.on
                                    ? child_of_frame(&track, dw_py_frame_now(), code)
                                    : child_of_code(track, code);
    if (!node)
        return;
    node->count++;
    push(track, node);
}

void dw_calls_on_resume(dw_py_frame *frame, PyCodeObject *code)
{
    struct dw_call_track *track = track_here();
    if (!track)
        return;
    struct dw_call_node *node = track->profile->signatures.on
                                    ? child_of_generator(&track, frame, code)
                                    : child_of_code(track, code);
    if (!node)
        return;
    uint64_t since;
    track->profile->functions[node->function].resumes++;
    push(track, node);
    if (dw_pointer_map_take(&track->profile->sleepers, dw_py_frame_generator(frame), &since))
        dw_call_track_suspend(track, node, track->stack[track->depth].start - since);
}

/* Also ends the calls above the last one of `key`, which left without an event. Returns the
 * function that ended. */
static uint32_t end_call(struct dw_call_track *track, const void *key, uint64_t now)
{
    uint32_t depth = track->depth;
    while (depth && track->stack[depth].node->key != key)
        depth--;
    uint32_t function = track->stack[depth].node->function;
    while (depth && track->depth >= depth)
        pop(track, now);
    return function;
}

void dw_calls_on_return(PyCodeObject *code)
{
    struct dw_call_track *track = track_here();
    if (track && track->depth)
        end_call(track, code, clock_now());
}

void dw_calls_on_yield(dw_py_frame *frame, PyCodeObject *code)
{
    struct dw_call_track *track = track_here();
    if (!track || !track->depth)
        return;
    uint64_t now = clock_now(), old;
    PyObject *generator = dw_py_frame_generator(frame);
    uint32_t function = end_call(track, code, now);
    dw_pointer_map_take(&track->profile->sleepers, generator, &old);
    dw_pointer_map_put(&track->profile->sleepers, generator, now);
    if (!track->profile->signatures.on || function == DW_MAP_NONE)
        return;
    dw_pointer_map_take(&track->profile->sleeping, generator, &old);
    dw_pointer_map_put(&track->profile->sleeping, generator, function);
}

void dw_calls_on_c_call(PyMethodDef *method, PyObject *callable, PyObject *self)
{
    struct dw_call_track *track = track_here();
    struct dw_call_node *node = track ? child_of_method(track, method, callable, self) : NULL;
    if (!node)
        return;
    node->count++;
    push(track, node);
}

void dw_calls_on_c_return(PyMethodDef *method)
{
    struct dw_call_track *track = track_here();
    if (track && track->depth)
        end_call(track, method, clock_now());
}

int dw_calls_enable(struct dw_call_profile *profile, bool builtins, bool beside_others)
{
    if (active == profile)
        return 0;
    if (active) {
        PyErr_SetString(PyExc_ValueError, "Another profiling tool is already active");
        return -1;
    }
    if (!first_clock.tick)
        first_clock = dw_clock_pair_now();
    profile->builtins = builtins;
    dw_pointer_map_release(&profile->sleepers); /* an address may be used again */
    dw_pointer_map_release(&profile->sleeping);
    if (!profile->began.tick)
        profile->began = dw_clock_pair_now();
    profile->ended = (struct dw_clock_pair){0};
    active = profile;
    serial++;
    if (dw_call_events_enable(builtins, beside_others)) {
        active = NULL;
        return -1;
    }
    return 0;
}

bool dw_calls_are_on(void)
{
    return active != NULL;
}

uint64_t dw_calls_now(const struct dw_call_profile *profile)
{
    return profile == active ? clock_now() : 0;
}

uint32_t dw_calls_open_depth(const struct dw_call_track *track)
{
    return track->serial == serial ? track->depth : 0;
}

/* Calls that are still open end now, in every thread. */
static void end_open_calls(struct dw_call_profile *profile)
{
    uint64_t now = clock_now();
    for (uint32_t i = 0; i < profile->track_count; i++) {
        struct dw_call_track *track = profile->tracks[i];
        while (track->serial == serial && track->depth)
            pop(track, now);
    }
}

void dw_calls_disable(struct dw_call_profile *profile)
{
    if (active != profile)
        return;
    end_open_calls(profile);
    profile->ended = dw_clock_pair_now();
    active = NULL;
    serial++;
    dw_call_events_disable();
}

static void restart_track(struct dw_call_track *track)
{
    for (uint32_t i = 0; i < track->node_count; i++) {
        struct dw_call_node *node = dw_call_track_node(track, i);
        node->count = node->total = node->self = 0;
    }
    if (track->suspended)
        memset(track->suspended, 0, track->suspended_capacity * sizeof *track->suspended);
}

void dw_calls_forked(struct dw_call_profile *profile)
{
    for (uint32_t i = 0; i < profile->track_count; i++) {
        struct dw_call_track *track = profile->tracks[i];
        restart_track(track);
        track->thread_id = track == here ? PyThread_get_thread_native_id() : 0;
        track->depth = track == here ? track->depth : 0;
    }
    for (uint32_t depth = here ? dw_calls_open_depth(here) : 0; depth; depth--) {
        here->stack[depth].start = clock_now();
        here->stack[depth].children = 0;
        here->stack[depth].node->count++;
    }
    for (uint32_t i = 0; i < profile->function_count; i++)
        profile->functions[i].resumes = 0;
}

static void forget_track(struct dw_call_track *track)
{
    if (here == track)
        here = NULL;
    if (here_unmuted == track)
        here_unmuted = NULL;
    dw_call_track_free(track);
}

void dw_calls_clear(struct dw_call_profile *profile)
{
    serial++;
    for (uint32_t i = 0; i < profile->track_count; i++)
        forget_track(profile->tracks[i]);
    for (uint32_t i = 0; i < profile->function_count; i++) {
        Py_XDECREF(profile->functions[i].code);
        Py_DECREF(profile->functions[i].name);
    }
    free(profile->tracks);
    free(profile->functions);
    dw_map_release(&profile->function_index);
    dw_map_release(&profile->signed_names);
    dw_pointer_map_release(&profile->sleepers);
    dw_pointer_map_release(&profile->sleeping);
    struct dw_signatures signatures = profile->signatures;
    *profile = (struct dw_call_profile){
        .builtins = profile->builtins,
        .only_thread = profile->only_thread,
        .began = active == profile ? dw_clock_pair_now() : (struct dw_clock_pair){0},
        .timer = profile->timer,
        .unit = profile->unit,
        .signatures = {.on = signatures.on,
                       .elements = signatures.elements,
                       .limit = signatures.limit},
    };
    dw_signatures_release(&signatures); /* last: it may run code of the user */
}

double dw_calls_tick_ns(const struct dw_call_profile *profile)
{
    if (profile->timer)
        return profile->unit != 0 ? profile->unit * 1e9 : 1;
    struct dw_clock_pair now = dw_clock_pair_now();
    struct dw_clock_rate rate = dw_clock_rate_between(&first_clock, &now);
    return (double)rate.ns_per_tick / (double)((uint64_t)1 << 56);
}
