/* SPDX-License-Identifier: MIT
 * A picture is written through the ledger of its file, so that it may go into a recording that
 * runs.
 */
#include "probe/heap/heap_file.h"

#include "base/error.h"
#include "log/reader.h"
#include "probe/heap/heap_names.h"
#include "probe/heap/heap_steps.h"
#include "probe/render.h"
#include "record/ledger.h"

#include <string.h>

struct saving {
    const struct dw_heap_snapshot *snapshot;
    struct dw_string reason;
};

static int write_picture(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    const struct saving *saving = context;
    dw_ledger_define(ledger, sink);
    dw_log_write_heap(&sink->writer, 0, saving->snapshot->taken_ns, saving->reason,
                      &saving->snapshot->heap);
    return 0;
}

static int save(const struct dw_heap_snapshot *snapshot, const char *path, const char *reason)
{
    struct saving saving = {snapshot, {reason, strlen(reason)}};
    struct dw_ledger *ledger;
    int error = dw_ledger_open(
        &(struct dw_ledger_options){.path = path, .is_quiet = true, .is_late = true}, &ledger);
    if (error)
        return error;
    error = dw_ledger_flush(ledger, write_picture, &saving, false);
    int trouble = dw_ledger_stop(ledger);
    dw_ledger_release(ledger);
    return error ? error : trouble;
}

PyObject *dw_heap_save(struct dw_heap_snapshot *snapshot, const char *path, const char *reason)
{
    int error = dw_heap_snapshot_find_ways(snapshot);
    if (error)
        return NULL;
    if (snapshot->heap.addresses)
        error = dw_heap_name_steps(&snapshot->heap, snapshot->parents);
    if (error > 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS if (!error) error = save(snapshot, path, reason);
    Py_END_ALLOW_THREADS return error ? dw_raise_error(error, path) : Py_NewRef(Py_None);
}

static PyObject *entry_of(const struct dw_profile *profile, struct dw_heap_shot *shot)
{
    PyObject *snapshot = dw_heap_snapshot_take(&shot->heap, shot->time_ns);
    PyObject *reason = dw_heap_text(&profile->strings, shot->reason);
    if (snapshot && reason)
        return Py_BuildValue("NKNK", snapshot, (unsigned long long)shot->time_ns, reason,
                             (unsigned long long)profile->processes[shot->process].pid);
    Py_XDECREF(snapshot);
    Py_XDECREF(reason);
    return NULL;
}

static PyObject *list_of(const struct dw_profile *profile)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < profile->heap_count; i++) {
        PyObject *entry = entry_of(profile, &profile->heaps[i]);
        if (!entry || PyList_Append(list, entry))
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

PyObject *dw_heap_py_load(PyObject *module, PyObject *path)
{
    PyObject *bytes, *list = NULL;
    struct dw_profile *profile = NULL;
    (void)module;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    int error = dw_profile_new(&profile);
    Py_BEGIN_ALLOW_THREADS if (!error) error =
        dw_log_read_file(PyBytes_AS_STRING(bytes), DW_READ_NO_SOURCES | DW_READ_NO_VALUES, profile);
    Py_END_ALLOW_THREADS list =
        error ? dw_raise_error(error, PyBytes_AS_STRING(bytes)) : list_of(profile);
    dw_profile_free(profile);
    Py_DECREF(bytes);
    return list;
}
