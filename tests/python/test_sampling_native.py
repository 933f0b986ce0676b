# SPDX-License-Identifier: MIT
"""Native code in samples: functions of libraries, under the lines that call them."""

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from ..compiled import compile_extension, compile_library
from ..measured import assert_above, assert_between, assert_close, repeated, shares
from ..sampled import Samples

EXTENSION = """
#include <Python.h>
static volatile double sink;
__attribute__((noinline)) static void burn(long n) { for (long i = 0; i < n; i++) sink += 1; }
__attribute__((noinline)) void one_part(long n) { burn(n); sink += 1; }
__attribute__((noinline)) void two_parts(long n) { burn(2 * n); sink += 1; }
__attribute__((noinline)) void three_parts(long n) { burn(3 * n); sink += 1; }
static PyObject *light(PyObject *m, PyObject *a)
{ long n = PyLong_AsLong(a); one_part(n); two_parts(n); Py_RETURN_NONE; }
static PyObject *heavy(PyObject *m, PyObject *a)
{ three_parts(PyLong_AsLong(a)); Py_RETURN_NONE; }
static PyObject *call_back(PyObject *m, PyObject *f)
{ PyObject *r = PyObject_CallNoArgs(f); sink += 1; return r; }
static PyMethodDef methods[] = {{"light", light, METH_O, 0}, {"heavy", heavy, METH_O, 0},
                                {"call_back", call_back, METH_O, 0}, {0}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "parts", 0, -1, methods};
PyMODINIT_FUNC PyInit_parts(void) { return PyModule_Create(&def); }
"""


@repeated
def test_functions_of_an_extension_under_the_lines_that_call_them(tmp_path, python_program):
    compile_extension(tmp_path, "parts", EXTENSION)
    done = python_program("""
import dwell, parts
def work():
    parts.light(400_000)
    parts.heavy(400_000)
with dwell.sampling("x.dwell", rate=2000):
    for _ in range(250):
        work()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    truth = {"one_part": 100 / 6, "two_parts": 100 / 3, "three_parts": 50}
    assert_close(samples.shares(list(truth)), truth, within=2)
    lines = {"one_part": 4, "two_parts": 4, "three_parts": 5}
    for row in samples.rows:
        for above, frame in itertools.pairwise(row.stack):
            if frame.name in lines:
                assert above.name == ("heavy" if frame.name == "three_parts" else "light")
        python = [frame for frame in row.stack if frame.name == "work"]
        natives = {frame.name for frame in row.stack} & set(lines)
        assert all(python[-1].line == lines[name] for name in natives)
    native_ns = samples.where(lambda row: row.state == "native")
    assert_between(0.95, native_ns / samples.weight_ns, 1.01)


def test_python_called_by_native_code_stands_inside_of_it(tmp_path, python_program):
    compile_extension(tmp_path, "parts", EXTENSION)
    done = python_program("""
import dwell, parts
def inner():
    return sum(range(200_000))
def outer():
    return parts.call_back(lambda: parts.call_back(inner))
with dwell.sampling("x.dwell", rate=2000):
    for _ in range(200):
        outer()
""")
    assert done.returncode == 0, done.stderr
    between = "outer.<locals>.<lambda>"
    wanted = ["<module>", "outer", "call_back", between, "call_back", "inner"]
    samples = Samples.of(tmp_path / "x.dwell")
    seen = 0
    for row in samples.rows:
        names = [frame.name for frame in row.stack if frame.name in wanted]
        if "inner" in names:
            assert names == wanted
            seen += row.weight_ns
    assert_above(0.9 * samples.weight_ns, seen)


def test_libraries_that_come_and_go(tmp_path, python_program):
    for name in ("first", "second"):
        source = f"double {name}_work(long n) {{ volatile double x = 0;"
        source += " for (long i = 0; i < n; i++) x += i; return x; }\n"
        compile_library(tmp_path, name, source)
    done = python_program("""
import _ctypes, ctypes
import dwell
with dwell.sampling("x.dwell", rate=10_000):
    for i in range(300):
        name = ("first", "second")[i % 2]
        library = ctypes.CDLL(f"./{name}.so")
        getattr(library, f"{name}_work")(300_000)
        _ctypes.dlclose(library._handle)
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    for name in ("first_work", "second_work"):
        assert_above(5, samples.inside(name))


@repeated
def test_code_of_a_library_that_is_just_being_loaded(tmp_path, python_program):
    """It works as it is loaded, the last one right before the recording ends."""
    for name in ("first", "second"):
        compile_library(
            tmp_path,
            name,
            "static volatile double sum;"
            "__attribute__((constructor)) void NAME_begins(void)"
            "{ for (long i = 0; i < 5000000; i++) sum += i; }".replace("NAME", name),
        )
    done = python_program("""
import ctypes
import dwell
with dwell.sampling("x.dwell", rate=5000):
    ctypes.CDLL("./first.so")
    ctypes.CDLL("./second.so")
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.inside("[anonymous]") == 0
    assert_between(20, min(map(samples.inside, ("first_begins", "second_begins"))), 100)


MATRICES = """
import json, sys, time
import numpy
import dwell
matrix = numpy.random.default_rng(1).random((240, 240))
def multiplies():
    return matrix @ matrix
def counts():
    total = 0
    for i in range(int(sys.argv[1])):
        total += i * i
took = {"multiplies": 0, "counts": 0}
for _ in range(20):
    multiplies(), counts()
dwell.start("x.dwell", rate=2000)
end = time.thread_time() + float(sys.argv[2])
while time.thread_time() < end:
    for part in (multiplies, counts):
        start = time.thread_time_ns()
        part()
        took[part.__name__] += time.thread_time_ns() - start
dwell.stop()
print(json.dumps(took))
"""


def is_in_blas(row) -> bool:
    return any("blas" in frame.file for frame in row.stack)


HAS_AVX2 = "avx2" in Path("/proc/cpuinfo").read_text()
# Its kernels are written in assembler, without unwind information. They keep at most 256 rows on
# their stack. On newer processors OpenBLAS hands them more of larger matrices, and crashes.
HASWELL = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"}
KERNEL = "dgemm_kernel_HASWELL"


@pytest.mark.any_python
@pytest.mark.skipif(not HAS_AVX2, reason="the kernels need AVX2")
def test_callers_of_code_without_unwind_information(tmp_path, python_program):
    """Rules are made when the first samples come along, so that all but those are whole."""
    pytest.importorskip("numpy")
    done = python_program(MATRICES, "10", "2", env=HASWELL)
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")

    def is_in_kernel(row) -> bool:
        return row.stack[-1].name == KERNEL

    def is_whole(row) -> bool:
        names = [frame.name for frame in row.stack]
        return is_in_kernel(row) and "matmul" in "".join(names[names.index("multiplies") + 1 :])

    if not samples.where(is_in_kernel):
        pytest.skip("another BLAS")
    assert_above(0.9 * samples.where(is_in_kernel), samples.where(is_whole))
    lost = samples.info["cut"] + samples.info["guessed"]
    assert_between(-1, lost, 0.1 * samples.info["taken"])


@pytest.mark.accuracy
@repeated
def test_matrix_products(tmp_path, python_program):
    pytest.importorskip("numpy")
    done = python_program(MATRICES, "20000", "2", env=HASWELL if HAS_AVX2 else None)
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    found = {
        "multiplies": samples.where(is_in_blas),
        "counts": samples.inside("counts") / 100 * samples.weight_ns,
    }
    assert_close(shares(found), shares(took), within=2)
    for row in filter(is_in_blas, samples.rows):
        functions = [frame.name for frame in row.stack if frame.kind == "python"]
        assert functions == ["<module>", "multiplies"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="BLAS has one thread")
@repeated
def test_threads_of_blas(tmp_path, python_program):
    pytest.importorskip("numpy")
    done = python_program(MATRICES, "10", "0.5", env={**os.environ, "OPENBLAS_NUM_THREADS": "2"})
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    by_thread: dict[int, int] = {}
    for row in filter(is_in_blas, samples.rows):
        by_thread[row.thread] = by_thread.get(row.thread, 0) + row.weight_ns
    assert len(by_thread) == 2
    assert_between(0.1, min(by_thread.values()) / max(by_thread.values()), 1.01)


CPLUSPLUS = """
#include <Python.h>
#include <time.h>
#include <numeric>
#include <vector>
namespace work {
static long clock_ns()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
template <typename T> inline __attribute__((always_inline)) T mix(T a, T b)
{
    return a / (b + T(1)) * T(31) / (b + T(2)); /* it waits after the first, where samples are */
}
template <typename T> struct table {
    std::vector<T> values = std::vector<T>(4096, T(3));
    __attribute__((noinline)) T blend(int rounds)
    {
        T sum = T(1);
        for (int i = 0; i < rounds; i++)
            for (T value : values)
                sum = mix(sum, value);
        return sum;
    }
};
__attribute__((noinline)) double folds(const std::vector<double> &values, int rounds)
{
    double sum = 0;
    for (int i = 0; i < rounds; i++)
        sum = std::accumulate(values.begin(), values.end(), sum,
                              [](double a, double b) { return a / (b + 1.5); });
    return sum;
}
static table<float> floats;
static table<double> doubles;
static volatile double sink;
static long took[3];
template <typename F> __attribute__((noinline)) void timed(int part, F function)
{
    long start = clock_ns();
    sink = double(function());
    took[part] += clock_ns() - start;
}
}
static PyObject *blends(PyObject *, PyObject *)
{
    work::timed(0, [] { return work::floats.blend(40); });
    work::timed(1, [] { return work::doubles.blend(20); });
    Py_RETURN_NONE;
}
static PyObject *folds(PyObject *, PyObject *)
{
    work::timed(2, [] { return work::folds(work::doubles.values, 40); });
    Py_RETURN_NONE;
}
static PyObject *took(PyObject *, PyObject *)
{
    return Py_BuildValue("lll", work::took[0], work::took[1], work::took[2]);
}
static PyMethodDef methods[] = {{"blends", blends, METH_NOARGS, 0},
                                {"folds", folds, METH_NOARGS, 0},
                                {"took", took, METH_NOARGS, 0}, {0}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "blender", 0, -1, methods};
PyMODINIT_FUNC PyInit_blender(void) { return PyModule_Create(&definition); }
"""


@pytest.mark.any_python
@pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")
@repeated
def test_templates_and_inlined_functions(tmp_path, python_program, run_dwell):
    compile_extension(tmp_path, "blender", CPLUSPLUS, "-O2", "-g", language="cc")
    done = python_program("""
import time
import blender, dwell
dwell.start("x.dwell", rate=2000)
end = time.thread_time() + 2
while time.thread_time() < end:
    blender.blends()
    blender.folds()
dwell.stop()
print(*blender.took())
""")
    assert done.returncode == 0, done.stderr
    names = ("work::table<float>::blend(int)", "work::table<double>::blend(int)", "work::folds(")
    took = dict(zip(names, map(int, done.stdout.split()), strict=True))
    export = run_dwell("export", "x.dwell", "--to", "collapsed", "--names", "full", "--lines")
    assert export.returncode == 0, export.stderr
    inside = dict.fromkeys(names, 0)
    calls: set[tuple[str, str]] = set()
    for stack, weight in (line.rsplit(" ", 1) for line in export.stdout.splitlines()):
        frames = [re.sub(r" \([\w.]+:\d+\)$", "", frame) for frame in stack.split(";")]
        calls.update(itertools.pairwise(frames))
        for name in names:
            inside[name] += any(frame.startswith(name) for frame in frames) and int(weight)
    assert_close(shares(inside), shares(took), within=2)
    for kind in ("float", "double"):
        mix = f"{kind} work::mix<{kind}>({kind}, {kind})"
        assert (f"work::table<{kind}>::blend(int)", mix) in calls
    folded = [inner for outer, inner in calls if outer.startswith("work::folds(")]
    assert any("std::accumulate<" in inner for inner in folded), folded
