# SPDX-License-Identifier: MIT
"""The labels that a signal handler reads, at any instruction of the thread it interrupts."""

import pytest

from tests.compiled import compile_extension

# Each thread that is watched has a timer of its own that sends it signals. Their handler reads the
# labels and compares them with what the thread has said that they may be.
PESTER = r"""
#define _GNU_SOURCE
#include <Python.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define ANY (-1)
#define INTERVAL_NS 37000

static uint32_t (*read_labels)(void);
static _Atomic unsigned long reads, labelled, wrong, without_gil;
static _Thread_local volatile long expected[2] = {ANY, ANY};
static _Thread_local volatile int released;
static _Thread_local timer_t timer;

static void on_signal(int number)
{
    (void)number;
    long id = (long)read_labels();
    atomic_fetch_add(&reads, 1);
    atomic_fetch_add(&labelled, id != 0);
    atomic_fetch_add(&without_gil, released && id);
    if (expected[0] != ANY && id != expected[0] && id != expected[1])
        atomic_fetch_add(&wrong, 1);
}

static PyObject *start(PyObject *module, PyObject *capsule)
{
    (void)module;
    read_labels = (uint32_t (*)(void))PyCapsule_GetPointer(capsule, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_BuildValue("kkkk", reads, labelled, wrong, without_gil);
}

static PyObject *watch(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
    struct itimerspec often = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
    expected[0] = expected[1] = ANY;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *unwatch(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    timer_delete(timer);
    Py_RETURN_NONE;
}

static PyObject *expect(PyObject *module, PyObject *const *ids, Py_ssize_t unused)
{
    (void)module, (void)unused;
    long first = PyLong_AsLong(ids[0]), second = PyLong_AsLong(ids[1]);
    expected[0] = ANY;
    expected[1] = second;
    expected[0] = first;
    Py_RETURN_NONE;
}

static PyObject *release(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS
    released = 1;
    sched_yield();
    released = 0;
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *now(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(read_labels());
}

static PyObject *done(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLong(reads);
}

static PyMethodDef methods[] = {
    {"start", start, METH_O, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"watch", watch, METH_NOARGS, NULL},
    {"unwatch", unwatch, METH_NOARGS, NULL},
    {"expect", (PyCFunction)(void (*)(void))expect, METH_FASTCALL, NULL},
    {"release", release, METH_NOARGS, NULL},
    {"now", now, METH_NOARGS, NULL},
    {"reads", done, METH_NOARGS, NULL},
    {0},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "pester",
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_pester(void)
{
    return PyModule_Create(&definition);
}
"""

PROGRAM = """
import asyncio, contextvars, gc, itertools, random, sys, threading
import dwell, pester
from dwell import _core

READS = 20_000
dwell.label
pester.start(_core.label_reader())
others = [contextvars.ContextVar(f"v{i}") for i in range(100)]

def set_of(**labels):
    with dwell.label(**labels):
        return pester.now()

def go_on(rounds=itertools.count()):
    next(rounds)
    return pester.reads() < READS

def inherit(label, mine, deeper):  # in a copy of the context
    pester.expect(mine, deeper)
    with label:
        pester.expect(deeper, deeper)
        random.choice(others).set(object())
        pester.release()
        pester.expect(deeper, mine)
    pester.expect(-1, -1)

def without(mine):  # in an empty context
    pester.expect(0, 0)
    random.choice(others).set(1)
    pester.expect(-1, -1)
    with dwell.label(fresh="yes"):
        pass
    pester.expect(0, 0)
    random.choice(others).set(1)
    pester.expect(-1, -1)

def work(n):
    label, inner = dwell.label(n=n), dwell.label(inner="yes")
    mine, deeper = set_of(n=n), set_of(n=n, inner="yes")
    assert mine and deeper and mine != deeper
    pester.watch()
    while go_on():
        pester.expect(0, mine)
        with label:
            pester.expect(mine, mine)
            for variable in random.sample(others, random.choice((1, 3, 40))):
                variable.set(object())
            pester.release()
            copy = contextvars.copy_context()
            pester.expect(-1, -1)
            copy.run(inherit, inner, mine, deeper)
            contextvars.Context().run(without, mine)
            pester.expect(mine, mine)
            del copy
            pester.expect(mine, 0)
        pester.expect(0, 0)
    pester.expect(-1, -1)
    pester.unwatch()

async def task(n):
    label, mine = dwell.label(task_number=n), set_of(task_number=n)
    while go_on():
        pester.expect(0, mine)
        with label:
            pester.expect(mine, mine)
            random.choice(others).set(n)
            pester.expect(-1, -1)
            await asyncio.sleep(0)
            pester.expect(mine, mine)
            [] in [[]]
            pester.expect(mine, 0)
        pester.expect(-1, -1)
        await asyncio.sleep(0)

async def tasks():
    pester.watch()
    await asyncio.gather(*(task(n) for n in range(20)))
    pester.unwatch()

def threads():
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def births():  # threads that begin and end while signals come
    def short(n):
        mine = set_of(n=n)
        pester.watch()
        with dwell.label(n=n):
            pester.expect(mine, mine)
            sum(range(10_000))
            pester.expect(-1, -1)
        pester.unwatch()
    for n in range(500):
        thread = threading.Thread(target=short, args=(n % 10,))
        thread.start()
        thread.join()

def collections():  # contexts in cycles, which the collector clears
    label, mine = dwell.label(n=1), set_of(n=1)
    def cycle():
        here = contextvars.copy_context()
        others[0].set([here])
        return here
    pester.watch()
    while go_on():
        with label:
            pester.expect(mine, mine)
            contextvars.copy_context().run(cycle)
            gc.collect(0)
            pester.expect(-1, -1)
    pester.unwatch()

{"threads": threads, "births": births, "collections": collections,
 "tasks": lambda: asyncio.run(tasks())}[sys.argv[1]]()
reads, labelled, wrong, without_gil = pester.stop()
print(reads >= READS, labelled > 0, wrong, without_gil > 0)
"""


@pytest.mark.parametrize("kind", ["threads", "tasks", "births", "collections"])
def test_a_handler_reads_the_labels_of_its_moment(tmp_path, python_program, kind):
    compile_extension(tmp_path, "pester", PESTER)
    done = python_program(PROGRAM, kind)
    assert done.returncode == 0, done.stderr
    reads, labelled, wrong, without_gil = done.stdout.split()
    assert (labelled, wrong) == ("True", "0"), done.stdout
    assert reads == "True" or kind == "births"
    assert without_gil == "True" or kind != "threads"


def test_the_sampler_and_labels_go_together(python_program):
    done = python_program("""
import dwell
with dwell.sampling(rate=2000):
    total = 0
    for i in range(200_000):
        with dwell.label(n=i % 100):
            total += len(dwell.labels())
print(total)
""")
    assert done.stdout == "200000\n", done.stderr
