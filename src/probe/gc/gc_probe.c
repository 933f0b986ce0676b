/* SPDX-License-Identifier: MIT
 * Python calls what is in gc.callbacks before and after a collection, with the GIL, which guards
 * all that is here. What was measured goes to the ledger at once. */
#define _GNU_SOURCE
#include "probe/gc/gc_probe.h"

#include "base/error.h"
#include "cpython/context_labels.h"
#include "cpython/thread_name.h"
#include "probe/gc/gc_events.h"
#include "probe/gc/gc_stack.h"
#include "record/recorder.h"
#include "record/samples.h"

#include <unistd.h>

/* How the ledger knows a thread. */
struct known_thread {
    uint64_t life;
    uint32_t thread;
};

static atomic_bool is_on;
static struct dw_ledger *ledger; /* stays when recording ends: a callback may be at work */
static uint64_t life;            /* one more for each start, and for each fork */
static uint64_t begun_ns, flush_ns;
static pthread_key_t thread_key;
static bool has_key;

static void leave_thread(void *context)
{
    struct known_thread *known = context;
    if (atomic_load(&is_on) && known->life == life)
        dw_ledger_leave_thread(ledger, dw_gc_probe.bit, known->thread);
    free(known);
}

static int enter_thread(struct known_thread *known)
{
    char *name = dw_py_current_thread_name();
    int error = dw_ledger_thread(ledger, dw_gc_probe.bit, (uint64_t)gettid(), &known->thread);
    if (!error && name)
        error = dw_ledger_name_thread(ledger, known->thread, name, strlen(name));
    known->life = error ? 0 : life;
    free(name);
    return error;
}

static int find_thread(uint32_t *thread)
{
    struct known_thread *known = pthread_getspecific(thread_key);
    if (!known) {
        known = calloc(1, sizeof *known);
        if (!known || pthread_setspecific(thread_key, known)) {
            free(known);
            return DW_ERR_MEMORY;
        }
    }
    int error = known->life == life ? 0 : enter_thread(known);
    *thread = known->thread;
    return error;
}

static uint64_t number_of(PyObject *info, const char *name)
{
    PyObject *number = PyDict_Check(info) ? PyDict_GetItemString(info, name) : NULL;
    unsigned long long count = number ? PyLong_AsUnsignedLongLong(number) : 0;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        count = 0;
    }
    return count;
}

/* What the program was doing, and the generation. */
static dw_labels_id find_labels(uint64_t generation)
{
    dw_labels_id labels = dw_region_label(dw_py_labels_own(PyThreadState_Get()), dw_region_here());
    const char digit = (char)('0' + generation % 10);
    struct dw_label_text label = {{"gc_generation", sizeof "gc_generation" - 1}, {&digit, 1}};
    dw_labels_extend(labels, &label, 1, &labels);
    return labels;
}

static void add(uint64_t lasted_ns, PyObject *info)
{
    const uint64_t numbers[] = {lasted_ns, 1, number_of(info, "collected"),
                                number_of(info, "uncollectable"), lasted_ns};
    uint32_t thread;
    dw_path_id path = DW_PATH_ROOT;
    int error = find_thread(&thread);
    if (!error)
        error = dw_gc_stack_path(ledger, life, UINT32_MAX, NULL, NULL, &path);
    if (!error)
        error = dw_ledger_add(ledger, thread, path, 0, find_labels(number_of(info, "generation")),
                              DW_GC_MASK, numbers);
    if (error)
        dw_recorder_drop(1);
}

/* A collection may come while this thread writes to the file for another probe. */
static void flush_when_due(uint64_t now_ns)
{
    if (now_ns < flush_ns || dw_ledger_is_flushing() || pthread_mutex_trylock(&ledger->file))
        return;
    pthread_mutex_unlock(&ledger->file);
    dw_ledger_flush(ledger, dw_ledger_collect, NULL, false);
    flush_ns = dw_clock_ns(CLOCK_MONOTONIC) + DW_FLUSH_NS;
}

static PyObject *on_collection(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    if (!atomic_load(&is_on) || count != 2 || !PyUnicode_Check(arguments[0]))
        Py_RETURN_NONE;
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    if (!PyUnicode_CompareWithASCIIString(arguments[0], "start")) {
        dw_gc_events_begin(ledger, life, (unsigned)number_of(arguments[1], "generation"));
        begun_ns = now_ns;
    } else if (begun_ns) {
        dw_gc_events_end(ledger, number_of(arguments[1], "collected"),
                         number_of(arguments[1], "uncollectable"));
        add(now_ns - begun_ns, arguments[1]);
        begun_ns = 0;
        flush_when_due(now_ns);
    }
    Py_RETURN_NONE;
}

/* 0, or -1 with an exception. */
static int watch(void)
{
    static PyMethodDef method = {"dwell", (PyCFunction)(void (*)(void))on_collection, METH_FASTCALL,
                                 NULL};
    PyObject *module = PyImport_ImportModule("gc");
    PyObject *callbacks = module ? PyObject_GetAttrString(module, "callbacks") : NULL;
    PyObject *callback = callbacks ? PyCFunction_New(&method, NULL) : NULL;
    int failed = !callback || PyList_Append(callbacks, callback);
    Py_XDECREF(callback);
    Py_XDECREF(callbacks);
    Py_XDECREF(module);
    return failed ? -1 : 0;
}

static int start(const char *log_file)
{
    struct dw_ledger_options file = {.path = log_file};
    struct dw_ledger *opened;
    if (atomic_load(&is_on))
        return DW_ERR_ARGUMENT;
    if (!has_key && pthread_key_create(&thread_key, leave_thread))
        return DW_ERR_MEMORY;
    has_key = true;
    dw_probe_add(&dw_gc_probe);
    int error = dw_ledger_open(&file, &opened);
    if (!error && watch()) {
        PyErr_Clear();
        dw_ledger_stop(opened);
        dw_ledger_release(opened);
        error = DW_ERR_MEMORY;
    }
    if (error)
        return error;
    life++;
    flush_ns = dw_clock_ns(CLOCK_MONOTONIC) + DW_FLUSH_NS;
    if (ledger)
        dw_ledger_release(ledger);
    ledger = opened;
    atomic_store(&is_on, true);
    return 0;
}

static void flush(void)
{
    if (atomic_load(&is_on))
        dw_ledger_flush_end(ledger, dw_ledger_collect, NULL);
}

/* The callback stays in the list, and does nothing. */
static void stop(void)
{
    if (!atomic_exchange(&is_on, false))
        return;
    dw_ledger_flush(ledger, dw_ledger_collect, NULL, false);
    dw_ledger_stop(ledger);
}

/* The ledger is empty: ids that were its own mean nothing. */
static void forked(void)
{
    life++;
    begun_ns = 0;
    dw_gc_events_forget();
    flush_ns = dw_clock_ns(CLOCK_MONOTONIC) + DW_FLUSH_NS;
}

struct dw_probe dw_gc_probe = {
    .name = "gc",
    .start = start,
    .flush = flush,
    .stop = stop,
    .forked = forked,
};
