/* SPDX-License-Identifier: MIT
 * Python calls what is in gc.callbacks before and after a collection, with the GIL, which guards
 * all that is here. What was measured goes to the ledger at once. */
#define _GNU_SOURCE
#include "probe/gc/gc_probe.h"

#include "base/grow.h"
#include "cpython/context_labels.h"
#include "cpython/frame.h"
#include "cpython/thread_name.h"
#include "probe/ledger_python.h"
#include "record/recorder.h"
#include "record/samples.h"

#include <unistd.h>

#define DEPTH_MAX 1024 /* of the functions of a stack; those further out are left out */

/* A function, by what makes it one in the log. The texts are kept, so that others do not get their
 * addresses; code objects are not, since they must die when they would. */
struct function {
    PyObject *name, *file;
    int line;
    dw_frame_id frame;
    uint64_t life; /* of the ledger that knows the frame */
};

/* How the ledger knows a thread. */
struct known_thread {
    uint64_t life;
    uint32_t thread;
};

static atomic_bool is_on;
static struct dw_ledger *ledger; /* stays when recording ends: a callback may be at work */
static uint64_t life;            /* one more for each start, and for each fork */
static uint64_t begun_ns, flush_ns;
static struct function *functions;
static uint32_t function_count, function_capacity;
static struct dw_map function_index;
static pthread_key_t thread_key;
static bool has_key;

static uint64_t hash_function(const struct function *function)
{
    return dw_hash_mix((uintptr_t)function->name ^ dw_hash_mix((uintptr_t)function->file) ^
                       (uint64_t)(unsigned)function->line);
}

static uint64_t hash_of(const void *all, uint32_t id)
{
    return hash_function((const struct function *)all + id);
}

static bool equal(const void *all, uint32_t id, const void *key)
{
    const struct function *a = (const struct function *)all + id, *b = key;
    return a->name == b->name && a->file == b->file && a->line == b->line;
}

static int find_function(const PyCodeObject *code, struct function **function)
{
    struct function wanted = {code->co_qualname, code->co_filename, code->co_firstlineno, 0, 0};
    uint64_t hash = hash_function(&wanted);
    uint32_t found = dw_map_find(&function_index, hash, equal, functions, &wanted);
    if (found == DW_MAP_NONE) {
        int error = DW_GROW(functions, function_count, function_capacity);
        if (error)
            return error;
        functions[function_count] = wanted;
        error = dw_map_add(&function_index, hash, function_count, hash_of, functions);
        if (error)
            return error;
        Py_INCREF(wanted.name);
        Py_INCREF(wanted.file);
        found = function_count++;
    }
    *function = &functions[found];
    return 0;
}

static int find_frame(const PyCodeObject *code, dw_frame_id *frame)
{
    struct function *function;
    int error = find_function(code, &function);
    if (!error && function->life != life) {
        error = dw_ledger_function(ledger, function->name, code, &function->frame);
        function->life = error ? 0 : life;
    }
    if (!error)
        *frame = function->frame;
    return error;
}

/* The path of the stack that runs now. */
static int find_path(dw_path_id *path)
{
    static dw_py_frame *stack[DEPTH_MAX];
    uint32_t depth = 0;
    int error = 0;
    for (dw_py_frame *frame = dw_py_frame_now(); frame && depth < DEPTH_MAX;
         frame = dw_py_frame_previous(frame))
        stack[depth++] = frame;
    *path = DW_PATH_ROOT;
    while (depth-- && !error) {
        PyCodeObject *code = dw_py_frame_code(stack[depth]);
        int line = PyCode_Addr2Line(code, dw_py_frame_offset(stack[depth]));
        struct dw_place place = {.line = line > 0 ? (uint32_t)line : 0};
        dw_place_id id;
        error = find_frame(code, &place.frame);
        if (!error)
            error = dw_ledger_place(ledger, &place, &id);
        if (!error)
            error = dw_ledger_path(ledger, *path, id, path);
    }
    return error;
}

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

static uint64_t collected(PyObject *info)
{
    PyObject *number = PyDict_Check(info) ? PyDict_GetItemString(info, "collected") : NULL;
    unsigned long long count = number ? PyLong_AsUnsignedLongLong(number) : 0;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        count = 0;
    }
    return count;
}

static void add(uint64_t lasted_ns, uint64_t objects)
{
    const uint64_t numbers[] = {lasted_ns, 1, objects};
    dw_labels_id labels = dw_region_label(dw_py_labels_own(PyThreadState_Get()), dw_region_here());
    uint32_t thread;
    dw_path_id path;
    int error = find_thread(&thread);
    if (!error)
        error = find_path(&path);
    if (!error)
        error = dw_ledger_add(ledger, thread, path, 0, labels, DW_GC_MASK, numbers);
    if (error)
        dw_recorder_drop(1);
}

/* A collection may come while this thread writes to the file for another probe. */
static void flush_when_due(uint64_t now_ns)
{
    if (now_ns < flush_ns || pthread_mutex_trylock(&ledger->file))
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
        begun_ns = now_ns;
    } else if (begun_ns) {
        add(now_ns - begun_ns, collected(arguments[1]));
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
    flush_ns = dw_clock_ns(CLOCK_MONOTONIC) + DW_FLUSH_NS;
}

struct dw_probe dw_gc_probe = {
    .name = "gc",
    .start = start,
    .flush = flush,
    .stop = stop,
    .forked = forked,
};
