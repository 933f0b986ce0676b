# SPDX-License-Identifier: MIT
"""The programs of the documents that dwell answers, run as they are printed there."""

import re
import sys

import pytest

TUTORIAL = """import numpy as np
import dwell as rp


@rp.func()  # profile function
def f():
    with rp.region('init'):  # measure execution time of the next block
        a = np.arange(1000000)
        b = a.copy()

    with rp.region('loop'):
        for x in rp.iter_proxy([1, 2, 3, 4], 'iter'):
            # measure time to retrieve next element
            a += x

    with rp.region():  # autoname region
        return np.sum(a * b)


if __name__ == '__main__':
    rp.install()
    f()
"""


def columns_of(line):
    return re.split(r"\s{2,}", line.strip())


def test_the_tutorial_of_region_profiler(python_program):
    pytest.importorskip("numpy")
    done = python_program(TUTORIAL)
    header, dashes, *rows = done.stderr.splitlines()
    assert columns_of(header) == ["name", "total", "% of total", "count", "min", "average", "max"]
    assert re.fullmatch(r"(-+  )+-+", dashes)
    assert len(dashes) == len(header) == len(rows[0])
    assert [columns_of(row)[0] for row in rows][:2] == ["<main>", ". f()"]
    names = {columns_of(row)[0]: columns_of(row)[3] for row in rows}
    assert names == {
        "<main>": "1",
        ". f()": "1",
        ". . init": "1",
        ". . f() <program.py:16>": "1",
        ". . loop": "1",
        ". . . iter": "4",
    }
    totals = [columns_of(row)[1] for row in rows]
    assert all(re.fullmatch(r"[\d.]+ (s|ms|us|ns)", total) for total in totals)
    shares = [columns_of(row)[2] for row in rows]
    assert shares[0] == "100.00%"


NETWORK = """
import sys
import dwell as rp
from dwell import reporter_columns as columns


class NeuralNet:
    def call(self):
        with rp.region('NN', asglobal=%s):
            with rp.region('layer 1'):
                pass
            with rp.region('layer 2'):
                pass
            with rp.region('out layer'):
                pass


net = NeuralNet()


@rp.func()
def loss_fn():
    net.call()


@rp.func()
def accuracy_fn():
    net.call()


rp.install(rp.reporters.ConsoleReporter(
    columns=(columns.indented_name, columns.total, columns.percents_of_total), stream=sys.stdout))
with rp.region('train'):
    for _ in rp.iter_proxy([1, 2], 'fetch_next'):
        with rp.region('forward'):
            loss_fn()
            accuracy_fn()
        with rp.region('backward'):
            loss_fn()
with rp.region('test'):
    accuracy_fn()
"""


@pytest.mark.parametrize(("asglobal", "appearances"), [(False, 4), (True, 1)])
def test_global_regions(python_program, asglobal, appearances):
    done = python_program(NETWORK % asglobal)
    header, _, *rows = done.stdout.splitlines()
    assert columns_of(header) == ["name", "total", "% of total"]
    nets = [row for row in rows if columns_of(row)[0].endswith(" NN")]
    assert len(nets) == appearances
    if asglobal:
        assert nets[0].startswith(". NN ")
        below = rows[rows.index(nets[0]) + 1 : rows.index(nets[0]) + 4]
        assert sorted(columns_of(row)[0] for row in below) == [
            ". . layer 1",
            ". . layer 2",
            ". . out layer",
        ]


DOT = """

from dwell.profiler import Profile
import numpy as np

def start():
    return None

def dot(a, b):
  sum=0
  for i in range(len(a)):
      sum += a[i]*b[i]
  return sum

a = np.arange(16, dtype=np.float32)
b = np.arange(16, dtype=np.float32)

p = Profile(%s)
p.enable()
dot(a, b)
p.disable()
p.print_stats()
"""


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("signatures=False", "dot"),
        (
            "",
            "dot(a:ndarray(dtype=float32, shape=(16,)), b:ndarray(dtype=float32, shape=(16,)))",
        ),
    ],
)
def test_the_examples_of_the_signature_profiler(python_program, arguments, name):
    pytest.importorskip("numpy")
    done = python_program(DOT % arguments)
    lines = done.stdout.splitlines()
    assert re.match(r"3 function calls in \d+\.\d+ seconds", lines[0].strip()), done.stderr
    assert "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)" in lines
    rows = sorted(line.split(None, 5)[5] for line in lines if re.match(r" +\d+ +\d+\.", line))
    assert f"program.py:9({name})" in rows
    assert "{built-in method builtins.len}" in rows
    assert "2/1" not in done.stdout


FIBONACCI = """
import pstats, sys
from pstats import SortKey
import %s as profiler

sys.setrecursionlimit(10_000)

def fib_dm_helper(n, mem):
    if mem[n] is not None:
        return mem[n]
    result = n if n < 2 else fib_dm_helper(n - 1, mem) + fib_dm_helper(n - 2, mem)
    mem[n] = result
    return result

def fib_dm(n):
    mem = [None] * (n + 1)
    return fib_dm_helper(n, mem)

profiler.run('fib_dm(2000)', 'restats')
p = pstats.Stats('restats')
p.strip_dirs().sort_stats(SortKey.CUMULATIVE)
for (file, line, name), (cc, nc, tt, ct, callers) in sorted(p.stats.items()):
    if 'disable' not in name:
        print(file, line, name.split('(')[0] if file != '~' else name, cc, nc,
              sorted((key[2].split('(')[0], value[:2]) for key, value in callers.items()))
"""


def test_the_pstats_lines_give_the_counts_of_cprofile(python_program):
    ours = python_program(FIBONACCI % "dwell")
    theirs = python_program(FIBONACCI % "cProfile")
    assert ours.stdout == theirs.stdout != "", ours.stderr
    assert "fib_dm_helper 1 3999" in ours.stdout, sys.version


LINES = """\
from dwell import LineProfiler
import random

def do_stuff(numbers):
    s = sum(numbers)
    l = [numbers[i]/43 for i in range(len(numbers))]    ## a loop in a single line
    m = ['hello'+str(numbers[i]) for i in range(len(numbers))]

numbers = [random.randint(1,100) for i in range(1000)]
lp = LineProfiler()
lp_wrapper = lp(do_stuff)
lp_wrapper(numbers)
lp.print_stats()
"""


def test_lines(python_program):
    """The line profiler of the second document, with its table to the letter but for the times."""
    done = python_program(LINES)
    assert done.stderr == ""
    number = r" +[\d.]+"
    rows = [
        (4, None, "def do_stuff(numbers):"),
        (5, 1, "    s = sum(numbers)"),
        (
            6,
            1,
            "    l = [numbers[i]/43 for i in range(len(numbers))]    ## a loop in a single line",
        ),
        (7, 1, "    m = ['hello'+str(numbers[i]) for i in range(len(numbers))]"),
    ]
    expected = [
        r"Timer unit: 1e-06 s",
        r"",
        r"Total time: [\d.e-]+ s",
        r"File: .*/program\.py",
        r"Function: do_stuff at line 4",
        r"",
        r"Line #      Hits         Time  Per Hit   % Time  Line Contents",
        r"={62}",
        *(
            rf" {{5}}{line} {{43}}{re.escape(text)}"
            if hits is None
            else rf" {{5}}{line} {{9}}{hits}(?={number}{number}{number} ).{{33}}{re.escape(text)}"
            for line, hits, text in rows
        ),
        r"",
    ]
    lines = done.stdout.split("\n")
    assert len(lines) == len(expected) + 1 and lines[-1] == ""
    for line, pattern in zip(lines, expected, strict=False):
        assert re.fullmatch(pattern, line), (line, pattern)


INSTALL = """
import warnings
import dwell as rp

class Timer:
    pass

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    profiler = rp.install(rp.reporters.SilentReporter(("name", "count")), %s)
print(*[warning.message for warning in told], sep="\\n")

@profiler.func()
def work():
    with profiler.region("inside", asglobal=True):
        return [n for n in profiler.iter_proxy([1, 2], "next")]

work()
with profiler.region():
    pass
profiler.finalize()
print(sorted(profiler._reporter.rows[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "debug_mode=True",
            "debug_mode has no effect: timeline=True with a log_file keeps every entry and exit",
        ),
        ("timer_cls=Timer", "timer_cls has no effect: dwell has its own clock"),
        ("debug_mode=False, timer_cls=None", ""),
    ],
)
def test_the_arguments_and_methods_of_region_profiler(python_program, arguments, told):
    done = python_program(INSTALL % arguments)
    sentence, rows = done.stdout.splitlines()
    assert sentence == told, done.stderr
    assert rows == (
        "[['<main>', '1'], ['<module>() <program.py:19>', '1'], ['inside', '1'], ['next', '2'], "
        "['work()', '1']]"
    )
