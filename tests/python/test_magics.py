# SPDX-License-Identifier: MIT
"""%load_ext dwell: the magics in a shell of this process, in a kernel and in a terminal."""

import os
import pstats
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import dwell

from ..conftest import PATIENCE_S
from ..notebook import outputs_of

pytest.importorskip("IPython")

LOAD = "%load_ext dwell"

HEADER = "Line #      Hits         Time  Per Hit   % Time  Line Contents"

DEFINITIONS = """
def double(n):
    total = 0
    for i in range(n):
        total += 2
    return total

def unused():
    return 1

class Counter:
    def step(self):
        return double(3)
"""


class Ran(NamedTuple):
    """What running a cell gave."""

    text: str
    value: Any
    error: BaseException | None


Run = Callable[[str], Ran]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.display_page = True  # instead of a pager
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "dwell")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell, capsys) -> Run:
    def run(cell: str) -> Ran:
        capsys.readouterr()
        result = shell.run_cell(cell, store_history=True)
        text = "".join(capsys.readouterr())
        return Ran(text, result.result, result.error_before_exec or result.error_in_exec)

    run(DEFINITIONS)
    return run


def hits(report: str, function: str) -> dict[str, int]:
    """Hits by the text of a line, from the table of one function."""
    _, _, rest = report.partition(f"Function: {function} at line ")
    assert rest, report
    table = rest.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    column = table[0].index("Line Contents")
    rows = [(row[:column].split(), row[column:].strip()) for row in table[2:]]
    return {text: int(cells[1]) for cells, text in rows if len(cells) > 1}


def functions(report: str) -> list[str]:
    return re.findall("^Function: (.*) at line", report, re.MULTILINE)


MEMIT = re.compile(r"^peak memory: (\d+\.\d\d) MiB, increment: (-?\d+\.\d\d) MiB$", re.MULTILINE)


def test_memit_prints_what_memory_profiler_does(run):
    run("from tests.fresh_memory import mapped")
    ran = run("%memit -i 100 kept = mapped(200 << 20)")
    assert ran.error is None
    assert float(MEMIT.search(ran.text)[2]) > 190
    assert run("len(kept) >> 20").value == 200


def test_memit_of_a_cell_with_a_setup(run):
    ran = run("%%memit -r 2 -q -o size = 3\nprint('made', len(bytearray(size)))")
    assert ran.text.count("made 3") == 2
    assert len(ran.value.mem_usage) == 2
    assert MEMIT.match(str(ran.value))
    assert isinstance(run("%memit 1 / 0").error, ZeroDivisionError)


def test_mprun_shows_what_lines_do_to_memory(run):
    run("from tests.fresh_memory import mapped")
    run("def grow():\n    kept = mapped(64 << 20)\n    del kept")
    ran = run("%mprun -f grow grow()")
    assert ran.error is None
    assert "Mem usage    Increment  Occurrences   Line Contents" in ran.text
    taken, given = (
        re.search(rf"(-?[\d.]+) MiB +1   .*{text}", ran.text) for text in ("kept =", "del")
    )
    assert float(taken[1]) > 32 and float(given[1]) < -32


def test_importing_dwell_does_not_import_ipython():
    program = "import sys, dwell; sys.exit('IPython' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_lprun_prints_the_lines_of_functions_from_cells(run):
    ran = run("%lprun -f double -f Counter.step Counter().step(), double(2)")
    assert ran.error is None
    assert ran.value is None
    assert ran.text.startswith("Timer unit: 1e-06 s\n\nTotal time: ")
    assert HEADER in ran.text
    assert functions(ran.text) == ["double", "Counter.step"]
    assert hits(ran.text, "double") == {
        "total = 0": 2,
        "for i in range(n):": 7,
        "total += 2": 5,
        "return total": 2,
    }
    assert hits(ran.text, "Counter.step") == {"return double(3)": 1}


def test_lprun_takes_an_expression_in_quotes(run):
    ran = run("""%lprun -f "getattr(Counter, 'step')" Counter().step()""")
    assert functions(ran.text) == ["Counter.step"]


def test_lprun_leaves_quotes_and_braces_of_the_statement_alone(run):
    run("n = 2")
    ran = run("""%lprun -zr -f double kept = f"{n}" + '{n}' + "a  'b'" + str(double(n))""")
    assert ran.error is None, ran.text
    assert run("kept").value == "2{n}a  'b'4"


def test_lprun_of_a_module(run, tmp_path):
    (tmp_path / "lprun_subject.py").write_text(
        "def one():\n    return 1\ndef two():\n    return 2\n"
    )
    run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import lprun_subject")
    ran = run("%lprun -m lprun_subject lprun_subject.one()")
    assert functions(ran.text) == ["one", "two"]
    assert hits(ran.text, "one") == {"return 1": 1}
    assert hits(ran.text, "two") == {"return 2": 0}
    run("sys.path.pop(0)")


def test_lprun_without_functions_takes_those_of_the_session_that_run(run):
    run("from statistics import mean")
    ran = run("%lprun Counter().step(), mean([1, 2])")
    assert functions(ran.text) == ["double", "Counter.step"]


@pytest.mark.parametrize("flag", ["-z", "-s"])
def test_lprun_leaves_out_what_did_not_run(run, flag):
    assert functions(run("%lprun -f double -f unused double(1)").text) == ["double", "unused"]
    assert functions(run(f"%lprun {flag} -f double -f unused double(1)").text) == ["double"]


def test_lprun_in_another_unit(run):
    assert run("%lprun -u 1e-3 -f double double(1)").text.startswith("Timer unit: 0.001 s\n")
    ran = run("%lprun -u fast -f double double(1)")
    assert "UsageError" in ran.text
    assert "-u" in ran.text


def test_lprun_returns_the_profiler(run):
    profiler = run("%lprun -r -f double double(4)").value
    assert isinstance(profiler, dwell.LineProfiler)
    ((_, rows),) = profiler.get_stats().timings.items()
    assert [count for _, count, _ in rows] == [1, 5, 4, 1]


def test_lprun_writes_a_recording_and_a_report(run, tmp_path):
    ran = run("%lprun -D lines.dwell -T 'lines of double.txt' -f double double(4)")
    stats = dwell.load_stats(tmp_path / "lines.dwell")
    ((_, _, name),) = stats.timings
    assert name == "double"
    report = (tmp_path / "lines of double.txt").read_text()
    assert hits(report, "double")["total += 2"] == 4
    assert report in ran.text
    assert "lines.dwell" in ran.text
    assert "lines of double.txt" in ran.text


@pytest.mark.parametrize("flag", ["-c", "--callees"])
def test_lprun_splits_lines_by_what_they_call(run, flag):
    arrow = "-> double"
    assert arrow not in run("%lprun -f Counter.step -f double Counter().step()").text
    assert arrow in run(f"%lprun {flag} -f Counter.step Counter().step()").text


def test_lprun_of_a_cell(run):
    ran = run("%%lprun -f double\nfor n in (1, 2):\n    double(n)\nlast = n\n")
    assert ran.error is None, ran.text
    assert hits(ran.text, "double")["total += 2"] == 3
    assert run("last").value == 2


def test_lprun_of_a_cell_without_options_takes_its_own_functions_too(run):
    ran = run("%%lprun\ndef once():\n    return double(2)\nonce()\n")
    assert sorted(functions(ran.text)) == ["double", "once"]
    assert hits(ran.text, "once") == {"return double(2)": 1}


def test_lprun_of_a_cell_takes_only_options_in_its_first_line(run):
    ran = run("%%lprun -f double double(1)\ndouble(2)")
    assert "UsageError: only options can be in the first line, not: double(1)" in ran.text


def test_lprun_says_which_function_or_module_is_not_there(run):
    ran = run("%lprun -f missing double(1)")
    assert "UsageError: -f missing: NameError" in ran.text
    ran = run("%lprun -m no_such_module double(1)")
    assert "UsageError: -m no_such_module: ModuleNotFoundError" in ran.text
    assert "UsageError: option -w not recognized" in run("%lprun -w double(1)").text


def test_an_error_in_the_statement_comes_after_the_report(run):
    ran = run("%lprun -f double double(2) / 0")
    assert isinstance(ran.error, ZeroDivisionError)
    assert hits(ran.text, "double")["total += 2"] == 2
    assert ran.text.index("Timer unit") < ran.text.index("ZeroDivisionError")
    assert "_magics.py" not in ran.text


@pytest.mark.parametrize("end", ["KeyboardInterrupt()", "SystemExit(3)"])
@pytest.mark.parametrize("magic", ["%%lprun -f double", "%%lprun_all", "%%dwell"])
def test_a_statement_that_is_ended_has_its_report(run, magic, end):
    ran = run(f"{magic}\ndouble(2)\nraise {end}\n")
    assert ran.error is None
    assert f"*** The profiled code ended with {end}." in ran.text
    assert "double" in ran.text


def test_the_profiler_is_a_builtin_while_the_code_runs(run):
    ran = run("%%lprun -f unused\n@profile\ndef marked():\n    return 1\nmarked()\n")
    assert hits(ran.text, "marked") == {"return 1": 1}
    assert isinstance(run("profile").error, NameError)


CELL = """%%lprun_all
import math

def root(n):
    return math.sqrt(n)

class Holder:
    def get(self):
        return root(4)

for i in range(3):
    Holder().get()
found = i
"""


def test_lprun_all_times_the_cell_and_its_functions(run):
    ran = run(CELL)
    assert functions(ran.text) == ["<module>", "root", "Holder.get"]
    assert hits(ran.text, "<module>") == {
        "import math": 1,
        "def root(n):": 1,
        "class Holder:": 1,
        "for i in range(3):": 4,
        "Holder().get()": 3,
        "found = i": 1,
    }
    assert hits(ran.text, "root") == {"return math.sqrt(n)": 3}
    assert hits(ran.text, "Holder.get") == {"return root(4)": 3}
    assert run("found, root(9)").value == (2, 3.0)


def test_lprun_all_of_the_cell_alone(run):
    ran = run(CELL.replace("all", "all -p", 1))
    assert functions(ran.text) == ["<module>"]


def test_lprun_all_keeps_the_time_in_a_variable(run):
    run("%%lprun_all\nimport time\ntime.sleep(0.01)\n")
    assert isinstance(run("_total_time_taken").error, NameError)
    run("%%lprun_all -t\nimport time\ntime.sleep(0.01)\n")
    assert run("_total_time_taken").value >= 0.01


def test_functions_of_a_profiled_cell_can_be_profiled_again(run):
    run(CELL)
    assert hits(run("%lprun -f root root(1)").text, "root") == {"return math.sqrt(n)": 1}


def test_a_cell_may_hold_magics(run):
    ran = run("%%lprun_all -p\n%pwd\nx = !echo hello\n")
    assert ran.error is None
    assert run("list(x)").value == ["hello"]


def test_dwell_prints_the_calls(run):
    ran = run("%dwell Counter().step()")
    assert re.search(r"^ +1 .*\(double\)$", ran.text, re.MULTILINE)
    assert "Ordered by: internal time" in ran.text
    assert "Profile.disable" not in ran.text
    assert "_magics.py" not in ran.text


def test_dwell_of_a_cell(run):
    ran = run("%%dwell\nfor n in range(3):\n    double(n)\n")
    assert re.search(r"^ +3 .*\(double\)$", ran.text, re.MULTILINE)


def test_dwell_tells_functions_apart_by_arguments_when_asked(run):
    ran = run("%dwell --signatures double(2), double(True)")
    assert "(double(n:int))" in ran.text
    assert "(double(n:bool))" in ran.text


OTHER_THREAD = """
import threading
def elsewhere():
    return double(1)
def here():
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
"""


def test_dwell_counts_the_calls_of_its_own_thread(run):
    run(OTHER_THREAD)
    own = run("%dwell here()").text
    assert "(here)" in own
    assert "(elsewhere)" not in own
    assert "(double)" not in own
    everything = run("%dwell --all-threads here()").text
    assert "(here)" in everything
    assert "(elsewhere)" in everything


def test_dwell_sorts_and_limits(run):
    assert "Ordered by: cumulative time" in run("%dwell -s cumulative double(2)").text
    assert "due to restriction <1>" in run("%dwell -l 1 double(2)").text
    ran = run("%dwell -l step -l 1 Counter().step()")
    assert "(step)" in ran.text
    assert "(double)" not in ran.text


def test_dwell_writes_and_returns(run, tmp_path):
    ran = run("%dwell -q -r -D calls.pstats -T calls.txt Counter().step()")
    assert isinstance(ran.value, dwell.Profile)
    assert "ncalls" not in ran.text
    assert "ncalls" in (tmp_path / "calls.txt").read_text()
    read = pstats.Stats(str(tmp_path / "calls.pstats"))
    assert any(name == "double" for _, _, name in read.stats)  # type: ignore[attr-defined]


def test_dwell_shows_the_calls_before_an_error(run):
    ran = run("%dwell double(2) / 0")
    assert isinstance(ran.error, ZeroDivisionError)
    assert ran.text.index("(double)") < ran.text.index("ZeroDivisionError")


def test_dtime_prints_what_timeit_prints(run):
    run("n = 3")
    ran = run("%dtime -n 20 -r 4 double(n)")
    assert re.match(
        r"[\d.]+ [nµ]?s ± .* per loop \(mean ± std. dev. of 4 runs, 20 loops each\)\n", ran.text
    )
    assert ran.value is None


def test_dtime_returns_the_timing(run):
    assert "of 2 runs" in run("timing = %dtime -o -n 5 -r 2 double(3)").text
    assert run("timing = %dtime -o -q -n 5 -r 2 double(3)").text == ""
    timing = run("timing").value
    assert isinstance(timing, dwell.Timing)
    assert (timing.loops, timing.repeat) == (5, 2)


def test_dtime_runs_the_setup_before_each_run(run):
    run("made, timed = [], []")
    run("%dtime -q -n 5 -r 2 -s 'made.append(1); k = 7' timed.append(k)")
    assert run("set(timed)").value == {7}
    assert run("len(timed) == 5 * len(made)").value is True


def test_dtime_of_a_cell_has_its_setup_in_the_first_line(run):
    run("made, timed = [], []")
    run("%%dtime -q -n 5 -r 2 made.append(1); k = 7\nj = k\ntimed.append(j)\n")
    assert run("set(timed)").value == {7}
    assert run("len(timed) == 5 * len(made)").value is True


def test_dtime_leaks_no_variables(run):
    assert run("%dtime -q -n 1 -r 1 -s 'before = 1' after = before").error is None
    assert isinstance(run("before").error, NameError)
    assert isinstance(run("after").error, NameError)


def test_dtime_puts_the_timing_into_a_variable(run):
    ran = run("%dtime -q -n 2 -r 3 -v kept double(3)")
    assert (ran.error, ran.value) == (None, None)
    assert run("kept.loops, kept.repeat").value == (2, 3)


def test_dtime_has_the_options_of_timeit(run):
    options = "-n2 -r3 -t -p 5 -o"
    assert "(mean ± std. dev. of 3 runs, 2 loops each)" in run(f"%dtime {options} double(3)").text
    run("%dtime -q -n 1 -r 3 -c -v spent double(300)")
    assert run("spent.properties").value == {"clock": "cpu"}


def test_dtime_prints_as_many_digits_as_asked(run):
    for digits in (1, 3, 6):
        shown = run(f"%dtime -n 1 -r 1 -p {digits} -v timing double(3)").text
        average = run("timing").value.average
        assert shown.startswith(dwell.timing.format_time(average, digits) + " ± ")


DOUBLING = """
import ast
class Doubled(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.Constant(node.value * 2) if isinstance(node.value, int) else node
get_ipython().ast_transformers.append(Doubled())
"""


@pytest.mark.parametrize(
    "code",
    [
        "%dtime -q -n 1 -r 1 seen.append(21)",
        "%dtime -q -n 1 -r 1 -s 'x = 21' seen.append(x)",
        "%%dtime -q -n 1 -r 1 x = 21\nseen.append(x)",
        "%dwell -q seen.append(21)",
        "%%lprun_all\nseen.append(21)",
    ],
)
def test_code_is_transformed_as_the_shell_would(run, shell, code):
    run("seen = []")
    run(DOUBLING)
    try:
        ran = run(code)
    finally:
        shell.ast_transformers.clear()
    assert ran.error is None, ran.text
    assert set(run("seen").value) == {42}


def test_dtime_shows_errors(run):
    assert isinstance(run("%dtime -n 1 1 / 0").error, ZeroDivisionError)
    assert "UsageError: -n: " in run("%dtime -n many double(1)").text


DO_STUFF = """
import random

def do_stuff(numbers):
    s = sum(numbers)
    l = [numbers[i]/43 for i in range(len(numbers))]
    m = ['hello'+str(numbers[i]) for i in range(len(numbers))]

numbers = [random.randint(1,100) for i in range(1000)]
"""
UDF = """
class YourUDF:
    def get_task_data(self):
        \"\"\"
        Updates `task_data`
        \"\"\"
        kwargs = {
            'aperture': 1 < 2,
        }
        return kwargs

    def process_frame(self, frame):
        if not frame:
            frame = 1.0
        return sum(range(20_000)) * frame

def run(udf, frames):
    udf.get_task_data()
    for frame in range(frames):
        udf.process_frame(frame)
"""
LPRUN = "%lprun -f YourUDF.get_task_data -f YourUDF.process_frame run(YourUDF(), 16)"


def test_a_kernel_shows_the_lines_of_methods_from_a_cell(tmp_path):
    (), (), (shown,) = outputs_of(tmp_path, LOAD, UDF, LPRUN)
    text = shown["data"]["text/plain"]
    assert text.startswith("Timer unit: 1e-06 s\n\nTotal time: ")
    assert functions(text) == ["YourUDF.get_task_data", "YourUDF.process_frame"]
    assert text.count("\nFile: ") == text.count(HEADER) == 2
    assert "     4                                                   Updates `task_data`" in text
    assert hits(text, "YourUDF.get_task_data")["return kwargs"] == 1
    assert hits(text, "YourUDF.process_frame") == {
        "if not frame:": 16,
        "frame = 1.0": 1,
        "return sum(range(20_000)) * frame": 16,
    }


def test_a_kernel_shows_the_hot_line_in_colour(tmp_path):
    (), (), (shown,) = outputs_of(tmp_path, LOAD, UDF, LPRUN)
    page = shown["data"]["text/html"]
    (hot,) = re.findall(r"<span style=\"([^\"]*)\">[^<]*return sum\(", page)
    (row,) = re.findall(r".*return sum\(.*", shown["data"]["text/plain"])
    share = float(row.split()[4])
    assert share > 50
    assert f"background:rgba(255,96,0,{0.55 * share / 100:.2f})" in hot
    assert "'aperture': 1 &lt; 2" in page


def test_a_kernel_profiles_functions_of_a_notebook_in_every_way(tmp_path):
    _, _, lines, calls, timed = outputs_of(
        tmp_path,
        LOAD,
        DO_STUFF,
        "%lprun -f do_stuff do_stuff(numbers)",
        "%dwell -l do_stuff do_stuff(numbers)",
        "%dtime -n 3 -r 2 do_stuff(numbers)",
    )
    found = hits(lines[0]["data"]["text/plain"], "do_stuff")
    assert found["s = sum(numbers)"] == 1
    assert len(found) == 3
    assert "(do_stuff)" in calls[0]["data"]["text/plain"]
    assert "of 2 runs, 3 loops each)" in timed[0]["text"]


def test_a_terminal_prints_the_report(tmp_path):
    program = [LOAD, UDF, LPRUN]
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=NoColor", "-c", "\n".join(program)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    assert done.stdout.count(HEADER) == 2, done.stdout + done.stderr
    assert hits(done.stdout, "YourUDF.process_frame")["if not frame:"] == 16


def test_samples_are_shown_as_their_table(run):
    ran = run(
        "import dwell\nwith dwell.sampling(rate=5000) as samples:\n    double(3_000_000)\n"
        "samples.result"
    )
    assert ran.error is None
    assert re.search(r"^Out\[\d+\]: \nCPU time: \d+ samples", ran.text), ran.text
    assert "double (" in ran.text


SAMPLED = """
import dwell, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def rest(seconds):
    time.sleep(seconds)
with dwell.sampling({options}) as samples:
    spin(0.05)
    rest(0.05)
print(samples.result.render("collapsed"))
"""


@pytest.mark.parametrize("options", ["", "mode='wall'", "native=False"])
def test_stacks_of_a_kernel_begin_with_the_cell(tmp_path, options):
    ((shown,),) = outputs_of(tmp_path, SAMPLED.format(options=options))
    stacks = [line.rpartition(" ")[0] for line in shown["text"].splitlines()]
    assert any(stack.startswith("<main>;<module>;spin") for stack in stacks), stacks
    for stack in stacks:
        if "spin" in stack or "rest" in stack:
            assert "run_code" not in stack
            assert "launch_instance" not in stack
