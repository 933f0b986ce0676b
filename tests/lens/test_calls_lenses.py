# SPDX-License-Identifier: MIT
"""Calls through the lenses that other tools read: pstats, gprof2dot and Graphviz agree with us."""

import csv
import io
import itertools
import json
import os
import pstats
import re
import shutil
import subprocess
import sys
import threading

import gprof2dot
import pytest

from dwell.calls import Profile

STRANGE = 'say "hi" &lt; & \\n <b> ünï😀'


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursion():
    fib(7)
    fib(3)


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def mutual_recursion():
    is_even(9)
    is_odd(4)


def builtins():
    sorted([3, 1, 2], key=lambda x: -x)
    ",".join(map(str, range(3)))
    for _ in range(4):
        len("abc")
    max(1, 2)


def count_to(n):
    for i in range(n):
        yield len(str(i))


def passed_on(generator):
    return next(generator)


def generators():
    generator = count_to(4)
    next(generator)
    passed_on(generator)
    list(generator)


def threads():
    workers = [threading.Thread(target=fib, args=(n,)) for n in (4, 5, 6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def renamed(name, file):
    def function(n):
        return n and function(n - 1)

    function.__code__ = function.__code__.replace(co_name=name, co_filename=file)
    return function


def strange_names():
    renamed(STRANGE, '/tmp/an "odd" & place;/ü.py')(2)
    renamed("", "")(1)
    renamed("<module>", "/lib/json/__init__.py")(1)
    renamed("<module>", "/lib/ast/__init__.py")(1)
    renamed("<module>", "<frozen a.b>")(1)


def unprintable_names():
    renamed("two\nlines", "/a/x.py")(0)
    renamed("two\nlines", "/b/x.py")(3)
    renamed("lone \udc80 surrogate", "\udcff.py")(1)


PROGRAMS = [recursion, mutual_recursion, builtins, generators, threads, strange_names]


def ticking():
    """Every look at the clock takes half a second: sums and shares are exact in any unit."""
    ticks = itertools.count()
    return Profile(timer=lambda: next(ticks), timeunit=0.5)


@pytest.fixture
def record(tmp_path):
    def run(program, *args):
        made = ticking()
        made.runcall(program, *args)
        (tmp_path / "calls.dwell").write_bytes(made._log())
        return made

    return run


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def profile(request, record):
    return record(request.param)


@pytest.fixture(params=[*PROGRAMS, unprintable_names], ids=lambda program: program.__name__)
def any_profile(request, record):
    return record(request.param)


@pytest.fixture
def export(tmp_path, run_dwell):
    def to(lens):
        done = run_dwell("export", "calls.dwell", "--to", lens, "-o", f"calls.{lens}")
        assert (done.returncode, done.stderr) == (0, "")
        return str(tmp_path / f"calls.{lens}")

    return to


@pytest.fixture
def report(run_dwell):
    def of(*args):
        done = run_dwell("report", "calls.dwell", "--by", "function", *args)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return of


def stats_of(profile):
    profile.create_stats()
    return profile.stats


def test_pstats_file_holds_what_the_profile_holds(any_profile, export):
    exported = pstats.Stats(export("pstats")).stats
    expected = stats_of(any_profile)
    assert exported.keys() == expected.keys()
    for key, (primitive, count, own, total, callers) in expected.items():
        assert exported[key][:2] == (primitive, count)
        assert exported[key][2:4] == pytest.approx((own, total), rel=1e-6)
        assert exported[key][4].keys() == callers.keys()
        for caller, numbers in callers.items():
            assert exported[key][4][caller][:2] == numbers[:2]
            assert exported[key][4][caller][2:] == pytest.approx(numbers[2:], rel=1e-6)


def test_pstats_file_of_the_real_clock(tmp_path, export):
    made = Profile()
    made.runcall(recursion)
    (tmp_path / "calls.dwell").write_bytes(made._log())
    exported, expected = pstats.Stats(export("pstats")).stats, stats_of(made)
    nanoseconds_lost = 1e-9 * 100  # at most one for each path
    for key, numbers in expected.items():
        assert exported[key][:2] == numbers[:2]
        assert exported[key][2:4] == pytest.approx(numbers[2:4], rel=1e-6, abs=nanoseconds_lost)


TIES = ("filename", "line", "name")  # what decides where pstats leaves it to chance


def shortened(key, keys):
    """With as much of the path as tells it from others, of which pstats would make one."""
    parts = key[0].split("/")
    others = [other[0].split("/") for other in keys if other != key and other[1:] == key[1:]]
    for count in range(1, len(parts)):
        if parts[-count:] not in [other[-count:] for other in others]:
            return "/".join(parts[-count:]), *key[1:]
    return key


def strip_dirs(stats):
    names = {key: shortened(key, stats.stats) for key in stats.stats}
    stats.stats = {
        names[key]: (*numbers, {names[caller]: edge for caller, edge in callers.items()})
        for key, (*numbers, callers) in stats.stats.items()
    }
    stats.max_name_len = max(len(pstats.func_std_string(name)) for name in stats.stats)


def printed(profile, method, sort, restrictions=(), strip=False):
    """What pstats prints, as we print it: control characters and what is no text are shown."""
    stream = io.StringIO()
    stats = pstats.Stats(profile, stream=stream)
    if strip:
        strip_dirs(stats)
    getattr(stats.sort_stats(*sort, *TIES), method)(*restrictions)
    text = stream.getvalue().replace(", file name, line number, function name\n", "\n")
    text = text.replace("two\nlines", "two\\nlines")
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}" * 3, text)


@pytest.mark.parametrize(
    "sort",
    ["calls", "ncalls", "cumtime", "cumulative", "filename", "line", "module", "name", "nfl"]
    + ["pcalls", "stdname", "time", "tottime", "time,calls", "cumu", "st"],
)
def test_print_stats(any_profile, report, sort):
    expected = printed(any_profile, "print_stats", sort.split(","))
    assert report("--full-paths", "--sort", sort) == expected


@pytest.mark.parametrize(
    ("options", "restrictions"),
    [
        (["--limit", "2"], [2]),
        (["--limit=1000"], [1000]),
        (["--limit", "0.5"], [0.5]),
        (["--limit", ".25"], [0.25]),
        (["--match", "i[bn]"], ["i[bn]"]),
        (["--match", r"\((f|b|i|_)", "--limit", "1"], [r"\((f|b|i|_)", 1]),
        (["--limit", "3", "--match", "n"], [3, "n"]),
        (["--match", "n", "--limit", "3", "--match", "'|e"], ["n", 3, "'|e"]),
    ],
)
@pytest.mark.parametrize("program", [recursion, builtins])
def test_restrictions(record, report, program, options, restrictions):
    made = record(program)
    expected = printed(made, "print_stats", ["cumulative"], restrictions)
    assert report("--full-paths", *options) == expected


@pytest.mark.parametrize("option", ["callers", "callees"])
def test_neighbours(profile, report, option):
    expected = printed(profile, f"print_{option}", ["time"])
    assert report("--full-paths", "--sort", "time", f"--{option}") == expected
    expected = printed(profile, f"print_{option}", ["time"], [2])
    assert report("--full-paths", "--sort", "time", f"--{option}", "--limit", "2") == expected


def test_directories_are_left_out(any_profile, report):
    expected = printed(any_profile, "print_stats", ["cumulative"], strip=True)
    assert report() == expected
    assert report("--strip-dirs") == expected


def twins():
    renamed("f", "/a/x.py")(0)
    renamed("f", "/b/x.py")(0)


@pytest.mark.parametrize("option", ["callers", "callees"])
def test_without_directories_twins_are_told_apart(record, report, option):
    expected = printed(record(twins), f"print_{option}", ["cumulative"], strip=True)
    assert report(f"--{option}") == expected
    assert "a/x.py" in expected and "b/x.py" in expected


def test_nothing_matches(record, report):
    record(recursion)
    assert report("--match", "nosuch").splitlines()[-2:] == [
        "   List reduced from 3 to 0 due to restriction <'nosuch'>",
        "",
    ]


def key_of(row):
    """As pstats has it."""
    line = int(row["lineno"])
    return (row["file"] if row["file"] or line else "~", line, row["name"])


def test_rows_as_data(any_profile, report):
    expected = {
        key: values
        for key, values in stats_of(any_profile).items()
        if not re.search("[\ud800-\udfff]", "".join((key[0], key[2])))
    }
    table = list(csv.DictReader(io.StringIO(report("--format", "csv"))))
    document = json.loads(report("--format", "json"))
    rows, functions = ({key_of(row): row for row in found} for found in (table, document["rows"]))
    edges = json.loads(report("--full-paths", "--format", "json", "--callers"))["rows"]
    for key, (primitive, count, own, total, callers) in expected.items():
        row, function = rows[key], functions[key]
        assert (int(row["primitive_calls"]), int(row["calls"])) == (primitive, count)
        assert (float(row["call_total_self"]), float(row["call_total"])) == (own * 1e9, total * 1e9)
        assert (function["primitive_calls"], function["calls"]["total"]) == (primitive, count)
        assert function["call_total"] == {"total": total * 1e9, "self": own * 1e9}
        found = [
            edge
            for edge in edges
            if (edge["callee_file"], edge["callee_lineno"], edge["callee"]) == key
        ]
        assert len(found) == len(callers)
        for edge in found:
            numbers = callers[(edge["caller_file"], edge["caller_lineno"], edge["caller"])]
            assert (edge["calls"], edge["primitive_calls"]) == numbers[:2]
    assert document["rows_left_out"] == 0
    text = report("--format", "csv", "--callees", "--full-paths")
    assert len(list(csv.DictReader(io.StringIO(text)))) == len(edges)


def node_name(key):
    """As gprof2dot names what it reads from pstats, but for builtins and packages."""
    file, line, name = key
    if file == "~":
        return name
    module = file if file[:1] == "<" else os.path.splitext(os.path.basename(file))[0]
    if module == "__init__":
        module = os.path.basename(os.path.dirname(file)) + "/__init__"
    return f"{module}:{line}:{name}"


def nodes_and_edges(parsed, name_of):
    nodes = {name_of(function): function.called for function in parsed.functions.values()}
    edges = {
        (name_of(function), name_of(parsed.functions[call.callee_id])): call[gprof2dot.CALLS]
        for function in parsed.functions.values()
        for call in function.calls.values()
    }
    return nodes, edges


def test_gprof2dot_reads_callgrind_and_pstats(profile, export):
    expected = stats_of(profile)
    with open(export("callgrind"), encoding="utf-8") as file:
        nodes, edges = nodes_and_edges(gprof2dot.CallgrindParser(file).parse(), lambda f: f.name)
    assert nodes.keys() == {node_name(key) for key in expected}
    assert edges == {
        (node_name(caller), node_name(key)): numbers[0]
        for key, values in expected.items()
        for caller, numbers in values[4].items()
    }
    parser = gprof2dot.PstatsParser(export("pstats"))
    parsed = parser.parse()
    key_of = {number: key for key, number in parser.function_ids.items()}
    nodes, edges = nodes_and_edges(parsed, lambda f: key_of[f.id])
    assert nodes == {key: values[1] for key, values in expected.items()}
    assert edges == {
        (caller, key): numbers[1]  # gprof2dot takes the primitive ones
        for key, values in expected.items()
        for caller, numbers in values[4].items()
    }


def test_callgrind_costs_add_up(any_profile, export):
    with open(export("callgrind"), encoding="utf-8") as file:
        text = file.read()
    total = round(sum(values[2] for values in stats_of(any_profile).values()) * 1e9)
    own = re.findall(r"^fn=.*\n\d+ (\d+)$", text, re.MULTILINE)
    assert sum(map(int, own)) == total
    assert f"\nsummary: {total}\n" in text
    assert text.endswith(f"\ntotals: {total}\n")
    assert text.startswith("# callgrind format\nversion: 1\ncreator: dwell ")


def test_dot_has_the_numbers_of_gprof2dot(profile, export):
    expected = stats_of(profile)
    total = sum(values[2] for values in expected.values())
    with open(export("dot"), encoding="utf-8") as file:
        text = file.read()
    labels = re.findall(r'^\t\d+ \[color.*? label="((?:[^"\\]|\\.)*)"', text, re.MULTILINE)
    drawn = {}
    for label in labels:
        name, share, own, calls = label.rsplit("\\n", 3)
        name = name.replace("&amp;", "&").replace('\\"', '"').replace("\\\\", "\\")
        drawn[name] = (share, own, calls)
    for key, (_, count, own, cumulative, _) in expected.items():
        if cumulative / total >= 0.005:
            shares = f"{100 * cumulative / total:.2f}%", f"({100 * own / total:.2f}%)"
            assert drawn.pop(node_name(key)) == (*shares, f"{count}×")
    assert not drawn


def test_dot_colours_and_widths_are_those_of_gprof2dot(record, export):
    record(builtins)
    parsed = gprof2dot.PstatsParser(export("pstats")).parse()
    parsed.prune(0.005, 0.001, None, False)
    stream = io.StringIO()
    gprof2dot.DotWriter(stream).graph(parsed, gprof2dot.TEMPERATURE_COLORMAP)
    looks = r'arrowsize="[\d.]+"|color="#\w+"|penwidth="[\d.]+"|[\d.]+%\\n'
    with open(export("dot"), encoding="utf-8") as file:
        assert sorted(re.findall(looks, file.read())) == sorted(
            re.findall(looks, stream.getvalue())
        )


@pytest.mark.skipif(not shutil.which("dot"), reason="needs Graphviz")
def test_graphviz_draws_it(any_profile, export):
    drawn = subprocess.run(["dot", "-Tsvg", export("dot")], capture_output=True, check=True)
    assert drawn.stderr == b""
    with open(export("svg-graph"), "rb") as file:
        before, svg, graph = file.read().partition(b"<svg")
    assert drawn.stdout.startswith(before + svg)
    assert drawn.stdout.partition(b" viewBox=")[2] == graph.partition(b" viewBox=")[2] != b""
    if any(key[2].startswith(STRANGE) for key in stats_of(any_profile)):
        escaped = STRANGE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert escaped.replace('"', "&quot;") in drawn.stdout.decode()


def test_svg_graph_without_graphviz(tmp_path, record, run_dwell):
    record(recursion)
    for output in ([], ["-o", "graph.svg"]):
        done = run_dwell(
            "export", "calls.dwell", "--to", "svg-graph", *output, env={"PATH": "/nonexistent"}
        )
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr == (
            "dwell: drawing the graph needs Graphviz's 'dot'; install the package graphviz, "
            "or use --to dot\n"
        )
    assert os.listdir(tmp_path) == ["calls.dwell"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sort", "n"], "cannot sort by 'n'; there are: calls, ncalls, "),
        (["--sort", "time,"], "cannot sort by 'time,'; did you mean 'time'?"),
        (["--limit", "1.5"], "--limit needs a number of rows or a part of them such as 0.1"),
        (["--limit", "-1"], "--limit needs a number of rows or a part of them such as 0.1"),
        (["--match", "("], "--match '(': "),
        (["--full-paths", "--strip-dirs"], "--full-paths and --strip-dirs exclude each other"),
    ],
)
def test_options_that_mean_nothing(record, run_dwell, options, says):
    record(recursion)
    done = run_dwell("report", "calls.dwell", "--by", "function", *options)
    assert done.returncode == 2
    assert done.stderr.startswith(f"dwell: {says}")
    assert done.stderr.count("\n") == 1


def test_options_of_functions_ask_for_functions(record, run_dwell):
    record(recursion)
    assert "(fib" in run_dwell("report", "calls.dwell", "--match", "fib").stdout
    done = run_dwell("report", "calls.dwell", "--match", "fib", "--by", "path")
    assert (done.returncode, done.stderr) == (2, "dwell: --match goes with --by function\n")


REGIONS = """
import dwell
for i in range(3):
    with dwell.region("outer"):
        with dwell.region("inner"):
            pass
"""


def test_regions_stand_in_where_no_calls_are(run_dwell, export):
    run_dwell("run", "--regions", "-q", "-o", "calls.dwell", "-c", REGIONS)
    assert run_dwell("report", "calls.dwell", "--by", "function").stdout.startswith("name ")
    done = run_dwell("report", "calls.dwell", "--by", "function", "--callers")
    assert done.returncode == 2
    assert (
        done.stderr
        == "dwell: --callers goes with a recording of calls, and calls.dwell holds none\n"
    )
    by_name = {key[2]: values for key, values in pstats.Stats(export("pstats")).stats.items()}
    assert by_name["outer"][:2] == by_name["inner"][:2] == (3, 3)
    assert [key[2] for key in by_name["inner"][4]] == ["outer"]


def test_deep_recursion(record, export, report):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    try:
        made = record(renamed("down", "deep.py"), 5000)
    finally:
        sys.setrecursionlimit(limit)
    assert "\n   5001/1 " in report()
    assert stats_of(made).keys() == pstats.Stats(export("pstats")).stats.keys()
