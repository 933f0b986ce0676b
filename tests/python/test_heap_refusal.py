# SPDX-License-Identifier: MIT
"""A heap that is not as dwell knows it is refused in a sentence, before anything is read wrong."""

import subprocess
import sys

import pytest


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Where _Py_DebugOffsets has the offset of interpreter_frame.previous.
AT = {(3, 13): 232, (3, 14): 256, (3, 15): 320}


@pytest.mark.skipif(sys.version_info < (3, 13), reason="it does not state its offsets")
def test_a_python_that_states_other_offsets_is_refused():
    program = f"""
import ctypes
from dwell import heap
runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
field = ctypes.c_uint64.from_address(runtime + {AT.get(sys.version_info[:2], 0)})
field.value += 8
for _ in range(2):
    try:
        heap.snapshot()
    except RuntimeError as error:
        print(error)
"""
    line = "this release of Python keeps its objects in a way that this dwell does not know"
    assert [text.partition(":")[0] for text in run(program).splitlines()] == [line, line]


def test_a_python_that_is_known_is_left_as_it_was():
    program = """
import gc
from dwell import heap
gc.collect()
before = len(gc.get_objects())
heap.snapshot()
gc.collect()
print(len(gc.get_objects()) - before < 5)
"""
    assert run(program) == "True\n"


def test_another_interpreter_is_refused_and_left_alone():
    program = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
from dwell import heap

class OnlyHere: pass
kept = OnlyHere()
try:
    other = interpreters.create("legacy")
except TypeError:
    other = interpreters.create(isolated=False)
interpreters.run_string(other, '''
class OnlyThere: pass
kept = [OnlyThere() for _ in range(10)]
try:
    from dwell import heap
    heap.snapshot()
except (RuntimeError, ImportError) as error:
    print(type(error).__name__, flush=True)
''')
types = heap.snapshot().types()
print(types.named("__main__.OnlyHere").count, types.named("__main__.OnlyThere").count)
"""
    refused, counted = run(program).splitlines()
    assert refused in ("RuntimeError", "ImportError") and counted == "1 0"
