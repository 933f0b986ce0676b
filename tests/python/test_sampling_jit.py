# SPDX-License-Identifier: MIT
"""Code that is made at run time: the names that JITs announce, and what has none."""

import shutil
import sys

import pytest

from ..compiled import compile_library
from ..made_code import made_names, prepare
from ..sampled import Samples

ANNOUNCED = ["in_list", "in_map", "in_dump"]


@pytest.mark.parametrize("announcer", ANNOUNCED)
def test_all_samples_of_announced_code_have_its_name(tmp_path, python_program, announcer):
    prepare(tmp_path)
    done = python_program(f"""
import dwell, made
from announcers import *
address = made.make()
{announcer}(address, "made_function")
with dwell.sampling("x.dwell", rate=2000):
    spin(address, 0.3)
""")
    assert done.returncode == 0, done.stderr
    found = made_names(tmp_path / "x.dwell")
    assert found.keys() == {"made_function"}
    assert found["made_function"] > 10


@pytest.mark.any_python
@pytest.mark.parametrize("announcer", ANNOUNCED)
def test_code_that_is_announced_while_it_is_sampled_has_its_name(
    tmp_path, python_program, announcer
):
    prepare(tmp_path)
    done = python_program(f"""
import dwell, made
from announcers import *
first, second = made.make(), made.make()
with dwell.sampling("x.dwell", rate=2000):
    {announcer}(first, "made_first")
    spin(first, 0.3)
    {announcer}(second, "made_second")
    spin(second, 0.3)
""")
    assert done.returncode == 0, done.stderr
    found = made_names(tmp_path / "x.dwell")
    assert found.get("made_first", 0) > 10 and found.get("made_second", 0) > 10


@pytest.mark.any_python
@pytest.mark.parametrize("announcer", ANNOUNCED)
def test_memory_that_is_used_again_has_the_name_of_its_time(tmp_path, python_program, announcer):
    prepare(tmp_path)
    done = python_program(f"""
import dwell, made
from announcers import *
address = made.make()
{announcer}(address, "made_first")
with dwell.sampling("x.dwell", rate=2000):
    spin(address, 0.5)
    if {announcer} is in_list:
        made.withdraw()
    {announcer}(address, "made_later")
    spin(address, 0.5)
""")
    assert done.returncode == 0, done.stderr
    found = made_names(tmp_path / "x.dwell")
    assert found.keys() == {"made_first", "made_later"}
    assert min(found.values()) > 10


def test_code_without_a_name_is_called_by_who_calls_it(tmp_path, python_program):
    prepare(tmp_path)
    done = python_program("""
import dwell, made
from announcers import *
address = made.make()
with dwell.sampling("x.dwell", rate=2000):
    spin(address, 0.3)
""")
    assert done.returncode == 0, done.stderr
    found = made_names(tmp_path / "x.dwell")
    assert found.keys() == {"[jit of made]"}
    assert found["[jit of made]"] > 10


@pytest.mark.any_python
def test_libraries_are_not_taken_for_made_code(tmp_path, python_program):
    """Each has come since the sampler looked for new ones, and news of made code make it hurry."""
    prepare(tmp_path)
    source = "double works(long n) { volatile double x = 0;"
    source += " for (long i = 0; i < n; i++) x += i; return x; }"
    works = compile_library(tmp_path, "works", source)
    for number in range(60):
        shutil.copy(works, tmp_path / f"works{number}.so")
    done = python_program("""
import ctypes, dwell, made
from announcers import *
address = made.make()
with dwell.sampling("x.dwell", rate=2000):
    spin(address, 0.2)
    for number in range(60):
        ctypes.CDLL(f"./works{number}.so").works(5_000_000)
        in_map(address, f"made_{number}")
""")
    assert done.returncode == 0, done.stderr
    names = {frame.name for row in Samples.of(tmp_path / "x.dwell").rows for frame in row.stack}
    assert "works" in names
    assert not {name for name in names if name.startswith("[jit") and "made" not in name}


@pytest.mark.any_python
def test_lists_that_make_no_sense_do_no_harm(tmp_path, python_program):
    prepare(tmp_path)
    done = python_program("""
import ctypes, dwell, made
from announcers import *
from made_object import elf_object
address = made.make()
good = elf_object(address, "made_function")
for size in range(0, len(good), 3):
    made.announce(good[:size])
class Head(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("action", ctypes.c_uint32),
                ("relevant", ctypes.c_void_p), ("first", ctypes.c_void_p)]
class Entry(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("previous", ctypes.c_void_p),
                ("object", ctypes.c_void_p), ("size", ctypes.c_uint64)]
try:  # of the interpreter, which comes first if it has one
    head = Head.in_dll(ctypes.CDLL(None), "__jit_debug_descriptor")
except ValueError:
    head = Head.in_dll(ctypes.CDLL(made.__file__), "__jit_debug_descriptor")
with dwell.sampling("x.dwell", rate=2000):
    spin(address, 0.1)
    first = Entry.from_address(head.first)
    first.object, first.size = 4096, 1 << 40     # not there, and too large
    head.relevant = 1
    spin(address, 0.1)
    loop = (Entry * 2)()
    loop[0] = Entry(ctypes.addressof(loop[1]), 0, 8, 1 << 20)
    loop[1] = Entry(ctypes.addressof(loop[0]), 0, ctypes.addressof(loop), 32)
    head.first = ctypes.addressof(loop)
    spin(address, 0.1)
    head.first = 12345
    spin(address, 0.1)
""")
    assert done.returncode == 0, done.stderr
    assert made_names(tmp_path / "x.dwell").keys() == {"[jit of made]"}


@pytest.mark.any_python
def test_a_map_that_is_no_plain_file_of_ours_is_left_alone(tmp_path, python_program):
    prepare(tmp_path)
    done = python_program("""
import dwell, made, os
from announcers import *
address = made.make()
real, link = "map", f"/tmp/perf-{os.getpid()}.map"
with open(real, "w") as file:
    file.write(f"{address:x} 9 made_elsewhere\\n")
os.symlink(os.path.abspath(real), link)
try:
    with dwell.sampling("x.dwell", rate=2000):
        spin(address, 0.1)
        os.unlink(link)
        os.mkfifo(link)
        spin(address, 0.1)
finally:
    os.unlink(link)
""")
    assert done.returncode == 0, done.stderr
    assert made_names(tmp_path / "x.dwell").keys() == {"[jit of made]"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="has no trampolines")
def test_trampolines_of_python_keep_stacks_whole(tmp_path, python_program):
    prepare(tmp_path)
    done = python_program("""
import atexit, os, sys, time
import dwell
atexit.register(os.unlink, f"/tmp/perf-{os.getpid()}.map")
def spin():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        sum(range(1000))
def deep(levels):
    deep(levels - 1) if levels else spin()
sys.activate_stack_trampoline("perf")
deep(1)
with dwell.sampling("x.dwell", rate=2000):
    deep(1)
    deep(50)
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert not made_names(tmp_path / "x.dwell")
    whole = [
        row
        for row in samples.rows
        if [frame.name for frame in row.stack if frame.kind == "python"].count("deep") == 51
    ]
    assert sum(row.count for row in whole) > 10
    # Not one stack is without its outermost frame, once trampolines are known.
    assert all(row.stack[0].kind == "native" for row in whole)
