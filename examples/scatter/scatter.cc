// SPDX-License-Identifier: MIT
// An extension in C++ with templates, a lambda and inlined functions: what a sampler has to
// tell apart under one line of Python.
#include <Python.h>

#include <functional>
#include <vector>

namespace native {

static const unsigned long SIZE = 4096;
static std::vector<unsigned long> to(SIZE), from(SIZE, 7);

template <class T> static inline T mix(T a, T b)
{
    return a * T(31) + (b ^ (a >> 3));
}

__attribute__((noinline)) unsigned long gather(long count)
{
    unsigned long sum = 0;
    for (long i = 0; i < count; i++)
        sum = mix(sum, from[(sum + (unsigned long)i) % SIZE]);
    return sum;
}

__attribute__((noinline)) void scatter(long count)
{
    std::function<void(unsigned long &)> add = [](unsigned long &slot) { slot = mix(slot, 5ul); };
    for (long i = 0; i < count; i++)
        add(to[(unsigned long)(i * 17) % SIZE]);
}

} // namespace native

static PyObject *run_gather(PyObject *, PyObject *count)
{
    return PyLong_FromUnsignedLong(native::gather(PyLong_AsLong(count)));
}

static PyObject *run_scatter(PyObject *, PyObject *count)
{
    native::scatter(PyLong_AsLong(count));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"gather", run_gather, METH_O, nullptr},
    {"scatter", run_scatter, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "scatter", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_scatter()
{
    return PyModule_Create(&definition);
}
