/* SPDX-License-Identifier: MIT
 * The last words as functions of dwell._core, and the functions of Python that have a part in them:
 * built-in functions in the place of others, which a program cannot tell from those. */
#include "base/error.h"
#include "probe/last_words.h"
#include "probe/render.h"
#include "record/probes.h"

#include <signal.h>
#include <unistd.h>

struct replaced {
    PyObject *plain; /* what it was */
    PyMethodDef definition;
};

static struct replaced signal_signal, os_kill;

/* -1 for what is not a number. */
static long number_of(PyObject *object)
{
    long number = PyLong_Check(object) ? PyLong_AsLong(object) : -1;
    PyErr_Clear();
    return number;
}

/* Sets a signal to its default and watches it. One that comes meanwhile waits. */
static PyObject *set_default(PyObject *const *arguments, size_t count)
{
    sigset_t one, before;
    long number = number_of(arguments[0]);
    sigemptyset(&one);
    sigaddset(&one, (int)number);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    PyObject *old = PyObject_Vectorcall(signal_signal.plain, arguments, count, NULL);
    if (old)
        dw_last_words_watch(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return old;
}

/* signal.signal(number, handler) */
static PyObject *set_handler(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count == 2 && number_of(arguments[1]) == (long)(intptr_t)SIG_DFL)
        return set_default(arguments, (size_t)count);
    return PyObject_Vectorcall(signal_signal.plain, arguments, (size_t)count, NULL);
}

/* os.kill(pid, number): the thread has the GIL until it is over, so what needs it comes before. */
static PyObject *send_signal(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    long pid = count == 2 ? number_of(arguments[0]) : -1;
    if ((pid == getpid() || pid == 0) && dw_last_words_are_due(number_of(arguments[1]))) {
        dw_probes_flush(true);
        dw_probes_last();
    }
    return PyObject_Vectorcall(os_kill.plain, arguments, (size_t)count, NULL);
}

/* A function like a built-in one, or NULL. */
static PyObject *like(PyObject *plain, PyObject *(*call)(PyObject *, PyObject *const *, Py_ssize_t),
                      struct replaced *replaced)
{
    const PyCFunctionObject *function = (const PyCFunctionObject *)plain;
    replaced->plain = Py_NewRef(plain);
    replaced->definition = *function->m_ml;
    replaced->definition.ml_meth = (PyCFunction)(void (*)(void))call;
    replaced->definition.ml_flags = METH_FASTCALL;
    return PyCFunction_NewEx(&replaced->definition, function->m_self, function->m_module);
}

/* Puts a function in the place of a built-in one. What somebody has replaced already is left
 * alone. */
static int replace(const char *module_name, const char *name, struct replaced *replaced,
                   PyObject *(*call)(PyObject *, PyObject *const *, Py_ssize_t))
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *plain = module ? PyObject_GetAttrString(module, name) : NULL;
    int failed = plain ? 0 : -1;
    if (plain && PyCFunction_CheckExact(plain)) {
        PyObject *ours = like(plain, call, replaced);
        failed = ours ? PyObject_SetAttrString(module, name, ours) : -1;
        Py_XDECREF(ours);
    }
    Py_XDECREF(plain);
    Py_XDECREF(module);
    return failed;
}

/* os has the function of posix, which is where pickle looks for it. */
static int replace_kill(void)
{
    PyObject *home = NULL, *kill = NULL, *os = PyImport_ImportModule("os");
    int failed = !os || replace("posix", "kill", &os_kill, send_signal) ||
                 !(home = PyImport_ImportModule("posix")) ||
                 !(kill = PyObject_GetAttrString(home, "kill")) ||
                 PyObject_SetAttrString(os, "kill", kill);
    Py_XDECREF(kill);
    Py_XDECREF(home);
    Py_XDECREF(os);
    return failed;
}

/* last_words_start(needs_gil) */
PyObject *dw_last_words_py_start(PyObject *module, PyObject *needs_gil)
{
    (void)module;
    int error = dw_last_words_start(needs_gil == Py_True);
    if (error)
        return dw_raise_error(error, NULL);
    if (replace("_signal", "signal", &signal_signal, set_handler) ||
        (needs_gil == Py_True && replace_kill()))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *dw_last_words_py_stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS dw_last_words_stop();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}
