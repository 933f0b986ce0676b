/* SPDX-License-Identifier: MIT
 * dwell.LineTracer: what dwell.LineProfiler is made of. */
#include "probe/line/line_tracer.h"

#include "base/error.h"
#include "probe/line/line_log.h"
#include "probe/line/line_probe.h"
#include "probe/line/line_rows.h"
#include "probe/render.h"

struct line_tracer {
    PyObject_HEAD struct dw_line_profile profile;
};

static struct dw_line_profile *profile_of(PyObject *self)
{
    return &((struct line_tracer *)self)->profile;
}

static int tracer_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"callees", "memory", NULL};
    int callees = 0, memory = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|pp", names, &callees, &memory))
        return -1;
    profile_of(self)->with_callees = callees;
    profile_of(self)->with_memory = memory;
    return 0;
}

static PyObject *tracer_add(PyObject *self, PyObject *code)
{
    if (!PyCode_Check(code))
        return PyErr_Format(PyExc_TypeError, "_add() needs a code object, not %.100s",
                            Py_TYPE(code)->tp_name);
    int added = dw_line_code_add(profile_of(self), (PyCodeObject *)code);
    return added < 0 ? NULL : PyLong_FromLong(added);
}

static PyObject *tracer_enable(PyObject *self, PyObject *unused)
{
    (void)unused;
    return dw_lines_enable(profile_of(self)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *tracer_disable(PyObject *self, PyObject *unused)
{
    (void)unused;
    dw_lines_disable(profile_of(self));
    Py_RETURN_NONE;
}

/* log(sources): all that was measured so far, as the bytes of a log. */
static PyObject *tracer_log(PyObject *self, PyObject *sources)
{
    return dw_line_log_bytes(dw_lines_collect, profile_of(self), sources);
}

/* record(file): from now on the profile goes to a log too, while the program runs. */
static PyObject *tracer_record(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    int error = dw_line_log_start(profile_of(self), PyBytes_AS_STRING(path));
    if (error)
        dw_raise_error(error, PyBytes_AS_STRING(path));
    Py_DECREF(path);
    return error ? NULL : Py_NewRef(Py_None);
}

static PyObject *tracer_enable_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(profile_of(self)->enable_count);
}

static void tracer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    dw_line_log_stop(profile_of(self));
    dw_lines_release(profile_of(self));
    PyErr_Restore(error, value, traceback);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_add", tracer_add, METH_O, NULL},
    {"enable_by_count", tracer_enable, METH_NOARGS,
     PyDoc_STR("Collects lines until disable_by_count() was called as often.")},
    {"disable_by_count", tracer_disable, METH_NOARGS,
     PyDoc_STR("Stops collecting lines, unless somebody else enabled it too.")},
    {"_log", tracer_log, METH_O, NULL},
    {"_record", tracer_record, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef getters[] = {
    {"enable_count", tracer_enable_count, NULL, PyDoc_STR("How often it is enabled now."), NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_init, tracer_init},
    {Py_tp_dealloc, tracer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "dwell.LineTracer",
    .basicsize = sizeof(struct line_tracer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int dw_line_tracer_init(PyObject *module)
{
    if (dw_line_codes_init())
        return -1;
    PyObject *type = PyType_FromSpec(&spec);
    int error = type ? PyModule_AddObjectRef(module, "LineTracer", type) : -1;
    Py_XDECREF(type);
    return error;
}
