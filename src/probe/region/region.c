/* SPDX-License-Identifier: MIT
 * The Region type. Its __enter__ and __exit__ are the Region itself (with_itself.h). */
#include "probe/region/region.h"

#include "base/pointer_map.h"
#include "cpython/thread_name.h"
#include "cpython/watch.h"
#include "probe/region/region_hook.h"
#include "probe/with_itself.h"

#include <structmember.h>

static PyTypeObject *region_type;
PyObject *dw_region_off;
static PyObject *enter_names[5];
static struct dw_pointer_map sleepers; /* generators asleep, to the topmost of their spans */
static size_t generator_spans;         /* open or asleep */

/* Frames that enter a region for their caller: context managers written in Python. */
static bool enters_for_caller(const PyCodeObject *code)
{
    for (size_t i = 0; i < sizeof enter_names / sizeof *enter_names; i++)
        if (code->co_name == enter_names[i])
            return true;
    return false;
}

static bool is_generator_code(const PyCodeObject *code)
{
    return code->co_flags &
           (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE);
}

/* The frame whose generator holds a region that `frame` enters, or NULL when a
 * plain function does. A generator driven by __enter__ (contextlib's) is only the
 * means: the region belongs to whoever runs the with statement. */
static dw_py_frame *holder_of(dw_py_frame *frame)
{
    while (frame) {
        dw_py_frame *previous = dw_py_frame_previous(frame);
        bool for_caller = enters_for_caller(dw_py_frame_code(frame));
        if (!for_caller && !is_generator_code(dw_py_frame_code(frame)))
            return NULL;
        if (!for_caller && !(previous && enters_for_caller(dw_py_frame_code(previous))))
            return frame;
        frame = previous;
    }
    return NULL;
}

static void on_suspend(PyObject *generator)
{
    struct dw_track *track = dw_track_here;
    if (!track || !track->top || track->top->owner != generator)
        return;
    struct dw_span *segment = dw_track_suspend(track, generator);
    if (!dw_pointer_map_put(&sleepers, generator, (uintptr_t)segment))
        dw_track_resume(track, segment);
}

static void on_resume(PyObject *generator)
{
    struct dw_track *track = dw_track_here;
    uint64_t segment;
    if (!dw_pointer_map_take(&sleepers, generator, &segment))
        return;
    if (!track)
        track = dw_track_get_slow();
    if (track)
        dw_track_resume(track, (struct dw_span *)(uintptr_t)segment);
}

/* Where no hook told us that a generator went to sleep, we see it here. */
static void suspend_those_asleep(struct dw_track *track)
{
    while (track->top && track->top->owner && !dw_py_generator_runs((PyObject *)track->top->owner))
        on_suspend((PyObject *)track->top->owner);
}

/* The span now belongs to the generator, and leaves the stack when that sleeps. */
static void give_to_generator(struct dw_span *span, dw_py_frame *holder)
{
    span->owner = dw_py_frame_generator(holder);
    if (!span->owner)
        return;
    generator_spans++;
    dw_py_watch(dw_py_frame_code(holder));
}

static bool is_open_already(const struct dw_span *span)
{
    for (const struct dw_span *below = span->below; below; below = below->below)
        if (below->node == span->node)
            return true;
    return false;
}

/* Code that neither is a generator's nor enters for its caller: most code, so the last
 * ones are remembered, with a reference so that the address stays theirs. */
#define PLAIN_CODES 64
static PyCodeObject *plain_codes[PLAIN_CODES];

static bool is_plain_slow(PyCodeObject *code, size_t slot)
{
    if (is_generator_code(code) || enters_for_caller(code))
        return false;
    Py_XSETREF(plain_codes[slot], (PyCodeObject *)Py_NewRef(code));
    return true;
}

static inline bool is_plain(PyCodeObject *code)
{
    size_t slot = ((uintptr_t)code >> 6) % PLAIN_CODES;
    return __builtin_expect(plain_codes[slot] == code, 1) || is_plain_slow(code, slot);
}

void dw_region_enter_now(struct dw_region *self)
{
    if (__builtin_expect(self->is_watched, 0))
        dw_region_tell(self->name, "begins");
    struct dw_track *track = dw_track_get();
    if (!track)
        return;
    dw_py_frame *frame = dw_py_frame_now(), *holder = NULL;
    if (frame && __builtin_expect(!is_plain(dw_py_frame_code(frame)), 0)) {
        holder = holder_of(frame);
        if (holder && sleepers.count)
            on_resume(dw_py_frame_generator(holder));
    }
    if (__builtin_expect(track->top && track->top->owner, 0))
        suspend_those_asleep(track);
    struct dw_node *parent = self->is_global ? track->root : dw_track_node(track);
    struct dw_span *span = dw_span_open(track, parent, self->frame, self, self->is_iterator);
    if (span && self->is_global)
        span->repeated = is_open_already(span);
    if (span && holder)
        give_to_generator(span, holder);
}

static void close_span(struct dw_track *track, struct dw_span *span, uint64_t now, bool counted)
{
    if (span->owner && --generator_spans == 0)
        dw_py_watch_idle();
    if (span == track->top)
        dw_span_close(track, span, now, counted);
    else
        dw_track_close_inner(track, span, counted);
}

static struct dw_span *span_of(struct dw_span *top, const struct dw_region *region)
{
    while (top && top->key != region)
        top = top->below;
    return top;
}

/* A generator that dies outside of any try is not thrown into, and somebody else leaves what it
 * held, such as a __del__. The region is found when just one sleeping generator holds it. */
static struct dw_span *wake_holder(struct dw_track *track, const struct dw_region *region)
{
    const void *generator, *holder = NULL;
    uint64_t segment;
    for (size_t at = 0; dw_pointer_map_next(&sleepers, &at, &generator, &segment);) {
        if (!span_of((struct dw_span *)(uintptr_t)segment, region))
            continue;
        if (holder)
            return NULL;
        holder = generator;
    }
    if (!holder || !dw_pointer_map_take(&sleepers, holder, &segment))
        return NULL;
    dw_track_resume(track, (struct dw_span *)(uintptr_t)segment);
    return span_of(track->top, region);
}

static void close_region(struct dw_region *self, bool counted)
{
    uint64_t now = dw_tick();
    struct dw_track *track = dw_track_get();
    if (!track)
        return;
    if (__builtin_expect(sleepers.count != 0, 0)) {
        dw_py_frame *frame = dw_py_frame_now();
        PyObject *generator = frame ? dw_py_frame_generator(frame) : NULL;
        if (generator)
            on_resume(generator);
    }
    struct dw_span *span = span_of(track->top, self);
    if (!span && sleepers.count)
        span = wake_holder(track, self);
    if (span)
        close_span(track, span, now, counted);
}

void dw_region_exit_now(struct dw_region *self, bool counted)
{
    close_region(self, counted);
    if (__builtin_expect(self->is_watched, 0))
        dw_region_tell(self->name, "ends");
}

static bool ends_iteration(PyObject *exception_type)
{
    return exception_type == PyExc_StopIteration || exception_type == PyExc_StopAsyncIteration;
}

/* No arguments: __enter__. Three: __exit__. */
static PyObject *region_vectorcall(PyObject *object, PyObject *const *arguments, size_t flags,
                                   PyObject *keywords)
{
    struct dw_region *self = (struct dw_region *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count == 0 && !keywords) {
        dw_region_enter_now(self);
        return Py_NewRef(object);
    }
    if (count == 3 && !keywords) {
        dw_region_exit_now(self, !(self->is_iterator && ends_iteration(arguments[0])));
        Py_RETURN_NONE;
    }
    PyErr_SetString(PyExc_TypeError,
                    "a region is for 'with'; to measure a function, use @dwell.func()");
    return NULL;
}

PyObject *dw_region_new(PyObject *name, dw_frame_id frame, bool is_global, bool is_iterator)
{
    struct dw_region *region = PyObject_New(struct dw_region, region_type);
    if (!region)
        return NULL;
    region->vectorcall = region_vectorcall;
    region->name = Py_NewRef(name);
    region->frame = frame;
    region->is_global = is_global;
    region->is_iterator = is_iterator;
    region->is_watched = dw_region_is_watched(name);
    return (PyObject *)region;
}

static PyObject *region_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"name", "as_global", "is_iterator", NULL};
    PyObject *name;
    int is_global = 0, is_iterator = 0;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|pp", names, &name, &is_global,
                                     &is_iterator))
        return NULL;
    return dw_region_named(name, is_global, is_iterator);
}

static void region_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(((struct dw_region *)object)->name);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *region_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<dwell region %R>", ((struct dw_region *)object)->name);
}

static PyMemberDef region_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct dw_region, vectorcall), READONLY, NULL},
    {"name", T_OBJECT, offsetof(struct dw_region, name), READONLY, NULL},
    {0},
};

static PyType_Slot region_slots[] = {
    {Py_tp_new, region_new},         {Py_tp_dealloc, region_dealloc}, {Py_tp_repr, region_repr},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, region_members}, {0, NULL},
};

static PyType_Spec region_spec = {
    .name = "dwell._core.Region",
    .basicsize = sizeof(struct dw_region),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = region_slots,
};

/* What `with` finds on the region that measures nothing. A built-in function is not
 * bound when it is looked up on a type, and the interpreter calls it fastest. */
static PyObject *nothing(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)arguments, (void)count;
    Py_RETURN_NONE;
}

static PyMethodDef nothing_method = {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL,
                                     NULL};

static PyType_Slot off_slots[] = {{0, NULL}};

static PyType_Spec off_spec = {
    .name = "dwell._core._OffRegion",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = off_slots,
};

static int make_region_type(void)
{
    region_type = (PyTypeObject *)PyType_FromSpec(&region_spec);
    return region_type ? dw_with_itself(region_type) : -1;
}

static int make_off_region(void)
{
    PyObject *method = PyCFunction_New(&nothing_method, NULL);
    dw_region_off = method ? dw_only_instance(&off_spec) : NULL;
    int error = dw_region_off ? dw_with_methods(Py_TYPE(dw_region_off), method) : -1;
    Py_XDECREF(method);
    return error;
}

static void name_track(struct dw_track *track)
{
    char *name = Py_IsInitialized() && PyGILState_Check() ? dw_py_current_thread_name() : NULL;
    if (name)
        dw_track_set_name(track, name, strlen(name));
    free(name);
}

int dw_region_init(PyObject *module)
{
    static const char *const names[] = {"__enter__", "__aenter__", "enter_context",
                                        "enter_async_context", "_enter_for_caller"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(enter_names[i] = PyUnicode_InternFromString(names[i])))
            return -1;
    dw_region_name_init();
    dw_py_watch_init(on_suspend, on_resume);
    dw_track_created = name_track;
    if (make_region_type() || make_off_region())
        return -1;
    return PyModule_AddObjectRef(module, "Region", (PyObject *)region_type);
}
