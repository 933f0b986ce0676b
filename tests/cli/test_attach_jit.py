# SPDX-License-Identifier: MIT
"""Code that another process made at run time has its names from outside too."""

import contextlib
import os
import subprocess
import sys

import pytest

from ..made_code import made_names, prepare
from ..sampled import Samples
from .attached import go
from .conftest import MAY_READ, Attach, Start

pytestmark = MAY_READ

ANNOUNCED = ["in_list", "in_map", "in_dump"]


@contextlib.contextmanager
def map_of(pid: int):
    """Removes what a program that is killed leaves."""
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"/tmp/perf-{pid}.map")


PROGRAM = """
import made
from announcers import *
address = made.make()
ANNOUNCER(address, "made_function")
print("ready", flush=True)
while True:
    made.spin(address)
"""


@pytest.mark.any_python
@pytest.mark.parametrize("announcer", ANNOUNCED)
def test_all_samples_of_announced_code_have_its_name(
    start: Start, attach: Attach, tmp_path, announcer
):
    prepare(tmp_path)
    process = start(PROGRAM.replace("ANNOUNCER", announcer), sleeps=False, cwd=tmp_path)
    with map_of(process.pid):
        attached = attach(process, "--native", "--rate", "200", "--duration", "1").wait()
    assert attached.status == 0, attached.stderr
    found = made_names(attached.path)
    assert found.keys() == {"made_function"}


def test_code_without_a_name_is_called_by_who_calls_it(start: Start, attach: Attach, tmp_path):
    prepare(tmp_path)
    process = start(PROGRAM.replace("ANNOUNCER", "nowhere"), sleeps=False, cwd=tmp_path)
    attached = attach(process, "--native", "--rate", "200", "--duration", "1").wait()
    assert attached.status == 0, attached.stderr
    assert made_names(attached.path).keys() == {"[jit of made]"}


REUSED = """
import made
from announcers import *
address = made.make()
ANNOUNCER(address, "made_first")
print("ready", flush=True)
def until_told():
    import os, select
    while not select.select([0], [], [], 0)[0]:
        made.spin(address)
    os.read(0, 100)
until_told()
if ANNOUNCER is in_list:
    made.withdraw()
ANNOUNCER(address, "made_later")
while True:
    made.spin(address)
"""


@pytest.mark.any_python
@pytest.mark.parametrize("announcer", ANNOUNCED)
def test_memory_that_is_used_again_has_the_name_of_its_time(
    start: Start, attach: Attach, tmp_path, announcer
):
    prepare(tmp_path)
    program = REUSED.replace("ANNOUNCER", announcer)
    process = start(program, sleeps=False, cwd=tmp_path, stdin=subprocess.PIPE)
    with map_of(process.pid):
        attached = attach(process, "--native", "--rate", "200", "--duration", "3")
        attached.wait_for_samples()
        go(process)
        attached.wait()
    assert attached.status == 0, attached.stderr
    assert made_names(attached.path).keys() == {"made_first", "made_later"}


TRAMPOLINES = """
import sys
def spin():
    print("ready", flush=True)
    while True:
        sum(range(1000))
def deep(levels):
    deep(levels - 1) if levels else spin()
sys.activate_stack_trampoline("perf")
deep(50)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="has no trampolines")
def test_trampolines_of_python_are_not_shown(start: Start, attach: Attach):
    process = start(TRAMPOLINES, sleeps=False)
    with map_of(process.pid):
        attached = attach(process, "--native", "--rate", "100", "--duration", "2").wait()
    assert attached.status == 0, attached.stderr
    assert not made_names(attached.path)
    whole = [
        row
        for row in Samples.of(attached.path).rows
        if [frame.name for frame in row.stack if frame.kind == "python"].count("deep") == 51
    ]
    assert any(row.stack[0].kind == "native" for row in whole)
