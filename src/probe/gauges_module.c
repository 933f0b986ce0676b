/* SPDX-License-Identifier: MIT
 * The gauges themselves need no Python; only their flusher comes back after a fork by its help. */
#include "probe/gauges_module.h"

#include "log/reader.h"
#include "probe/render.h"
#include "probe/sample/sample_slot.h"
#include "record/gauges.h"

PyObject *dw_gauges_py_start(PyObject *module, PyObject *arguments)
{
    PyObject *file, *path = NULL;
    unsigned long long interval_ns;
    int pss;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OKp", &file, &interval_ns, &pss))
        return NULL;
    if (file != Py_None && !PyUnicode_FSConverter(file, &path))
        return NULL;
    struct dw_gauges_options options = {
        .log_file = path ? PyBytes_AS_STRING(path) : NULL, .interval_ns = interval_ns, .pss = pss};
    dw_call_soon = Py_AddPendingCall;
    dw_own_work_begin();
    int error = dw_gauges_start(&options);
    dw_own_work_end();
    PyObject *result = error ? dw_raise_error(error, options.log_file) : Py_NewRef(Py_None);
    Py_XDECREF(path);
    return result;
}

PyObject *dw_gauges_py_stop(PyObject *module, PyObject *unused)
{
    struct dw_buffer bytes = {0};
    (void)module, (void)unused;
    int error = dw_gauges_stop(&bytes);
    PyObject *result =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.size);
    dw_buffer_release(&bytes);
    return result;
}

static PyObject *points_of(const struct dw_series *series)
{
    PyObject *points = PyList_New(series->count);
    for (uint32_t i = 0; points && i < series->count; i++) {
        PyObject *point = Py_BuildValue("dL", (double)series->points[i].time_ns / 1e9,
                                        (long long)series->points[i].value);
        if (point)
            PyList_SET_ITEM(points, i, point);
        else
            Py_CLEAR(points);
    }
    return points;
}

static PyObject *series_of(const struct dw_profile *profile)
{
    PyObject *gauges = PyDict_New();
    for (uint32_t i = 0; gauges && i < profile->series_count; i++) {
        const struct dw_series *series = &profile->series[i];
        PyObject *points = points_of(series);
        if (!points || PyDict_SetItemString(gauges, dw_profile_string(profile, series->name).bytes,
                                            points) < 0)
            Py_CLEAR(gauges);
        Py_XDECREF(points);
    }
    return gauges;
}

PyObject *dw_gauges_py_series(PyObject *module, PyObject *log)
{
    char *bytes;
    Py_ssize_t size;
    struct dw_profile *profile;
    (void)module;
    if (PyBytes_AsStringAndSize(log, &bytes, &size) < 0)
        return NULL;
    int error = dw_profile_new(&profile);
    if (error)
        return dw_raise_error(error, NULL);
    error = dw_log_read((const uint8_t *)bytes, (size_t)size, 0, profile);
    PyObject *gauges = error ? dw_raise_error(error, NULL) : series_of(profile);
    dw_profile_free(profile);
    return gauges;
}
