# SPDX-License-Identifier: MIT
"""Signatures: functions told apart by the types and shapes of their arguments, untouched."""

import collections
import gc
import itertools
import os
import pstats
import threading
import weakref

import pytest

from dwell.profiler import Profile

from .signature_names import counts_of, names, one

np = pytest.importorskip("numpy")

DOT = """from dwell import profiler
import numpy as np

def dot(a, b):
  sum=0
  for i in range(len(a)):
      sum += a[i]*b[i]
  return sum

a = np.arange(16, dtype=np.float32)
b = np.arange(16, dtype=np.float32)

p = profiler.Profile({options})
p.enable()
dot(a, b)
p.disable()
p.print_stats()
"""
LEN = "{built-in method builtins.len}"
DISABLE = "{method 'disable' of 'dwell.CallTracer' objects}"


@pytest.mark.parametrize(
    ("options", "function"),
    [
        ("signatures=False", "dot"),
        (
            "",
            "dot(a:ndarray(dtype=float32, shape=(16,)), b:ndarray(dtype=float32, shape=(16,)))",
        ),
    ],
)
def test_the_two_tables_of_the_document(python_program, options, function):
    done = python_program(DOT.format(options=options))
    lines = [line.split(None, 5) for line in done.stdout.splitlines() if line.strip()]
    assert done.stdout.split()[:3] == ["3", "function", "calls"], done.stderr
    rows = {line[5]: line[0] for line in lines if len(line) == 6 and line[0][0].isdigit()}
    assert {LEN: "1", DISABLE: "1", f"program.py:4({function})": "1"}.items() <= rows.items()


def test_pstats_finds_the_labels():
    profile = Profile()
    profile.runcall(one, np.zeros(3))
    stats = pstats.Stats(profile).strip_dirs().stats
    key = "signature_names.py", one.__code__.co_firstlineno
    assert (*key, "one(x:ndarray(dtype=float64, shape=(3,)))") in stats


class C:
    def __init__(self, x=1):
        self.x = x

    def m(self, y):
        pass

    @classmethod
    def make(cls):
        return cls()


class D(C):
    pass


def test_methods_and_constructors_are_named_by_the_class_of_self():
    assert names(C, 1) == "C(x:int)"
    assert names(D, 1) == "D(x:int)"
    assert names(C.m, C(), None) == "C.m(y:NoneType)"
    assert names(D().m, 2.0) == "D.m(y:float)"
    assert names(D.make) == {"make(cls:type)", "D(x:int)"}


def test_kinds_of_arguments():
    def none():
        pass

    def all_kinds(a, /, b, c=1, *args, d, e=None, **kwargs):
        pass

    def only_rest(*args, **kwargs):
        pass

    assert names(none) == "none()"
    assert (
        names(all_kinds, 1, "b", 2.5, 4, 5, 6, d=b"", z=1, y=2)
        == "all_kinds(a:int, b:str, c:float, *args[3], d:bytes, e:NoneType, **kwargs[2])"
    )
    assert (
        names(all_kinds, 1, b=(), d=())
        == "all_kinds(a:int, b:tuple, c:int, *args[0], d:tuple, e:NoneType, **kwargs[0])"
    )
    assert names(only_rest, 1, x=1) == "only_rest(*args[1], **kwargs[1])"
    assert names(lambda x: x, 1) == "<lambda>(x:int)"


def test_arguments_of_closures_are_in_cells():
    def outer(a, b, *args, self_=None):
        return lambda: (a, args, self_)

    assert names(outer, np.zeros(2), 1) == (
        "outer(a:ndarray(dtype=float64, shape=(2,)), b:int, *args[0], self_:NoneType)"
    )
    cell = (lambda x: lambda: x)(1).__closure__[0]
    assert names(one, cell) == "one(x:cell)"
    assert names(outer, cell, cell) == "outer(a:cell, b:cell, *args[0], self_:NoneType)"


def test_a_comprehension_has_no_arguments():
    def sums(n):
        return sum(i for i in range(n))

    assert names(sums, 3) == {"sums(n:int)", "<genexpr>()"}


def test_too_many_arguments_are_cut():
    arguments = [f"a{i}" for i in range(300)]
    namespace = {}
    exec(compile(f"def many({', '.join(arguments)}, *rest): pass", __file__, "exec"), namespace)
    name = names(namespace["many"], *range(300))
    assert name.startswith("many(a0:int, a1:int, ") and name.endswith(":int, …)")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: np.zeros((4, 2), np.float32), "ndarray(dtype=float32, shape=(4, 2))"),
        (
            lambda: np.zeros((4, 2), np.float32, order="F"),
            "ndarray(dtype=float32, shape=(4, 2), order=F)",
        ),
        (lambda: np.zeros(8)[::2], "ndarray(dtype=float64, shape=(4,), strided)"),
        (
            lambda: np.broadcast_to(np.int8(1), (2, 3)),
            "ndarray(dtype=int8, shape=(2, 3), strided)",
        ),
        (lambda: np.array(1.5), "ndarray(dtype=float64, shape=())"),
        (lambda: np.zeros((0, 3), bool), "ndarray(dtype=bool, shape=(0, 3))"),
        (lambda: np.array([None, one]), "ndarray(dtype=object, shape=(2,))"),
        (lambda: np.array(["abc"]), "ndarray(dtype=<U3, shape=(1,))"),
        (lambda: np.zeros(1, ">f4"), "ndarray(dtype=>f4, shape=(1,))"),
        (lambda: np.zeros(1, "M8[ms]"), "ndarray(dtype=datetime64[ms], shape=(1,))"),
        (lambda: np.zeros(1, [("a", "f4")]), "ndarray(dtype=[('a', '<f4')], shape=(1,))"),
        (lambda: np.zeros(2, np.longlong), "ndarray(dtype=int64, shape=(2,))"),
        (lambda: np.zeros((1,) * 32), f"ndarray(dtype=float64, shape=({', '.join('1' * 32)}))"),
        (lambda: np.float32(1), "float32"),
        (lambda: np.ma.zeros(3), "MaskedArray"),
        (lambda: np.zeros(2).view(type("Mine", (np.ndarray,), {})), "Mine"),
        (lambda: np.dtype("f4"), "Float32DType"),
    ],
)
def test_numpy(make, text):
    assert names(one, make()) == f"one(x:{text})"


def test_equal_dtypes_are_one_signature():
    profile = Profile(builtins=False, max_signatures=3)
    arrays = [np.array(["abc"]) for _ in range(50)] + [
        np.zeros(1, [("a", "f4")]) for _ in range(50)
    ]
    assert len({id(array.dtype) for array in arrays}) > 10
    with profile:
        for array in arrays:
            one(array)
    counts = [count for name, count in counts_of(profile).items() if name.startswith("one")]
    assert counts == [50, 50]


def test_shapes_change_with_the_array():
    array = np.zeros(6)
    profile = Profile(builtins=False)
    with profile:
        one(array)
        array.resize((2, 3), refcheck=False)
        one(array)
    assert counts_of(profile) == {
        "one(x:ndarray(dtype=float64, shape=(6,)))": 1,
        "one(x:ndarray(dtype=float64, shape=(2, 3)))": 1,
    }


def test_elements_of_short_lists_on_request():
    profile = Profile(builtins=False, elements=True)
    with profile:
        for x in ([1, 2, 3], [], [1, "a"], [None] * 1000, ["a"], [C(), C()], (1,)):
            one(x)
    assert set(counts_of(profile)) - {"C(x:int)"} == {
        "one(x:list[int](3))",
        "one(x:list(0))",
        "one(x:list(2))",
        "one(x:list)",
        "one(x:list[str](1))",
        "one(x:list[C](2))",
        "one(x:tuple)",
    }
    assert names(one, [1, 2]) == "one(x:list)"


def numbers(x, n):
    for i in range(n):
        x = str(i) if i % 2 else [i]
        yield x
        del x


def test_a_generator_keeps_the_signature_that_it_began_with():
    profile = Profile(builtins=False)
    with profile:
        first, second = numbers(1, 5), numbers("a", 5)
        for _ in zip(first, second, strict=True):
            pass
        third = numbers(None, 3)
        next(third)
        third.close()
    assert counts_of(profile) == {
        "numbers(x:int, n:int)": 1,
        "numbers(x:str, n:int)": 1,
        "numbers(x:NoneType, n:int)": 1,
    }


def test_a_generator_that_began_before():
    def forgetful(x, y):
        del x
        yield
        yield y

    generator = forgetful(1, 2)
    next(generator)
    profile = Profile(builtins=False)
    with profile:
        list(generator)
    assert "forgetful(x:<unknown>, y:int)" in counts_of(profile)


def test_coroutines():
    import asyncio

    async def job(x):
        x = None
        await asyncio.sleep(0)
        return x

    async def main():
        await asyncio.gather(*(job(x) for x in (1, 2, "a", 2.0)))

    profile = Profile(builtins=False)
    with profile:
        asyncio.run(main())
    counts = counts_of(profile)
    assert counts["job(x:int)"] == 2
    assert counts["job(x:str)"] == counts["job(x:float)"] == counts["main()"] == 1


def test_arguments_are_not_touched():
    touched = []

    def touch(name):
        def method(*args, **kwargs):
            touched.append(name)
            raise RuntimeError(name)

        return method

    hooks = (
        "__getattribute__ __getattr__ __repr__ __str__ __hash__ __eq__ __len__ __bool__ __iter__"
    )
    body = {name: touch(name) for name in hooks.split()}
    body["__class__"] = property(touch("__class__"))
    body["shape"] = body["dtype"] = property(touch("shape"))
    meta = type("Meta", (type,), {"__getattribute__": touch("meta"), "__eq__": touch("meta eq")})
    Untouchable = type.__new__(meta, "Untouchable", (), dict(body, __module__="pandas"))
    DataFrame = type.__new__(meta, "DataFrame", (), dict(body, __module__="pandas.core.frame"))
    ndarray = type.__new__(meta, "ndarray", (), dict(body, __module__="numpy"))
    for cls, name in ((Untouchable, "Untouchable"), (DataFrame, "DataFrame"), (ndarray, "ndarray")):
        instance = object.__new__(cls)
        assert names(one, instance) == f"one(x:{name})"
    assert touched == []


def test_subclasses_of_arrays_are_not_touched():
    touched = []

    class Touchy(np.ndarray):
        def __array_finalize__(self, other):
            touched.append("finalize")

        @property
        def shape(self):
            touched.append("shape")
            return (1,)

        dtype = ndim = shape

    array = np.ndarray.__new__(Touchy, 3)
    touched.clear()
    assert names(one, array) == "one(x:Touchy)"
    assert touched == []


def test_arguments_are_not_kept_alive():
    class Thing:
        pass

    thing, array = Thing(), np.zeros(5)
    profile = Profile(elements=True)
    profile.enable()
    one(thing)
    one(array)
    one([thing])
    profile.disable()
    watched = weakref.ref(thing), weakref.ref(array)
    del thing, array
    assert [watch() for watch in watched] == [None, None]


def test_classes_that_are_freed():
    profile = Profile(builtins=False, max_signatures=150)
    classes = []
    with profile:
        for i in range(300):
            cls = type(f"T{i}", (), {})
            one(cls())
            classes.append(weakref.ref(cls))
            del cls
            gc.collect(0)
    counts = counts_of(profile)
    assert all(counts[f"one(x:T{i})"] == 1 for i in range(150))
    assert counts["one(…)"] == 150
    gc.collect()
    assert sum(watch() is not None for watch in classes) == 150
    profile.clear()
    gc.collect()
    assert sum(watch() is not None for watch in classes) == 0


def test_classes_of_the_same_name_are_one_row():
    profile = Profile(builtins=False)
    with profile:
        for _ in range(10):
            one(type("Same", (), {})())
    assert counts_of(profile) == {"one(x:Same)": 10}
    assert [entry[1] for entry in profile._entries()].count("one(x:Same)") == 1


def test_functions_of_the_same_name_are_apart():
    def make():
        def one(x):
            pass

        return one

    profile = Profile(builtins=False)
    with profile:
        one(1)
        make()(1)
    profile.create_stats()
    assert sum(key[2] == "one(x:int)" for key in profile.stats) == 2


def test_every_one_of_many_signatures_is_counted_apart():
    big = np.zeros((40, 40))
    profile = Profile(builtins=False, max_signatures=10_000)
    with profile:
        for _ in range(2):
            for i in range(40):
                for j in range(40):
                    one(big[:i, :j])
    counts = counts_of(profile)
    assert sum(counts.values()) == 3200
    by_shape = collections.Counter()
    for name, count in counts.items():
        by_shape[name[name.index("shape=") :].split(")")[0]] += count
    assert len(by_shape) == 1600 and set(by_shape.values()) == {2}


def test_too_many_signatures_are_counted_together(capsys):
    big = np.zeros(100)
    profile = Profile(builtins=False, max_signatures=3)

    def inner():
        pass

    def outer(x):
        inner()

    with profile:
        for _ in range(2):
            for i in range(10):
                outer(big[:i])
        for i in range(3):
            outer(big[:i])
    counts = counts_of(profile)
    assert counts["outer(…)"] == 14
    assert [count for name, count in counts.items() if "shape" in name] == [3, 3, 3]
    assert counts["inner()"] == 23
    profile.print_stats()
    assert "outer(…)): calls beyond 3 signatures" in capsys.readouterr().out


def test_no_signatures_allowed():
    profile = Profile(builtins=False, max_signatures=0)
    profile.runcall(one, 1)
    assert counts_of(profile) == {"one(…)": 1}


def test_memory_of_very_many_signatures():
    def rss():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    big = np.zeros(300_000, np.int8)
    profile = Profile(builtins=False)
    before = rss()
    with profile:
        for i in range(300_000):
            one(big[:i])
    assert rss() - before < 20_000_000
    counts = counts_of(profile)
    assert counts["one(…)"] == 299_000 and len(counts) == 1001


def test_builtins_are_not_told_apart():
    def lengths(x):
        return len(x)

    profile = Profile()
    with profile:
        lengths([1])
        lengths("a")
    profile.create_stats()
    (count,) = (
        value[1] for key, value in profile.stats.items() if key[2].endswith("builtins.len>")
    )
    assert count == 2


def test_recursion_with_different_signatures():
    def halve(x):
        if len(x) > 1:
            halve(x[len(x) // 2 :])

    profile = Profile(builtins=False)
    profile.runcall(halve, np.zeros(8))
    profile.runcall(halve, np.zeros(8))
    counts = counts_of(profile)
    shapes = [f"halve(x:ndarray(dtype=float64, shape=({n},)))" for n in (8, 4, 2, 1)]
    assert counts == dict.fromkeys(shapes, 2)
    for caller, called in itertools.pairwise(shapes):
        (stats,) = (value for key, value in profile.stats.items() if key[2] == called)
        assert [key[2] for key in stats[4]] == [caller]


def test_threads():
    profile = Profile(builtins=False)

    def work(n):
        array = np.zeros(n)
        for i in range(500):
            one(array)
            one(i)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    with profile:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    counts = counts_of(profile)
    assert counts["one(x:int)"] == 4000
    for n in range(1, 9):
        assert counts[f"one(x:ndarray(dtype=float64, shape=({n},)))"] == 500


def test_a_pending_exception_stays():
    class Guard:
        def __exit__(self, kind, value, traceback):
            one(np.zeros((3, 3, 3)))
            one(np.zeros(2, "M8[us]"))

        def __enter__(self):
            pass

        def __del__(self):
            one(np.zeros((1, 2)))

    def thrower(x):
        try:
            yield
        except ValueError:
            one(x)
            raise KeyError("mine") from None

    profile = Profile(builtins=False)
    with profile:
        with pytest.raises(ZeroDivisionError):
            with Guard():
                1 / 0
        generator = thrower(np.zeros((5, 5)))
        next(generator)
        with pytest.raises(KeyError, match="mine"):
            generator.throw(ValueError("thrown"))
        with pytest.raises(ValueError, match="at once"):
            thrower(np.zeros((6, 6))).throw(ValueError("at once"))
    counts = counts_of(profile)
    assert counts["one(x:ndarray(dtype=datetime64[us], shape=(2,)))"] == 1
    assert counts["one(x:ndarray(dtype=float64, shape=(5, 5)))"] == 1
