# SPDX-License-Identifier: MIT
"""`dwell diff` of memory: two versions of a program, each allocation counted."""

import json
import xml.etree.ElementTree

import pytest

import dwell.memory

pytestmark = pytest.mark.any_python

MB = 1_000_000
PROGRAM = """
def load():
    return bytearray(8_000_000)

def scratch():
    bytearray(1_000_000)

def main():
    data = load()
    scratch()
    kept.append(data)

main()
"""
LARGER = PROGRAM.replace("8_000_000", "24_000_000")
MORE = PROGRAM.replace("    bytearray(1_000_000)", "    for _ in range(50): bytearray(1_000_000)")
EXTRA = "def extra():\n    kept.append(bytearray(5_000_000))\n\ndef main"
NEW = PROGRAM.replace("    scratch()", "    scratch(); extra()").replace("def main", EXTRA)


@pytest.fixture
def record(tmp_path):
    def record(name, source, mode="exact"):
        log, names = tmp_path / f"{name}.dwell", {"kept": []}
        code = compile(source, str(tmp_path / name / "program.py"), "exec")
        with dwell.memory.track(log, mode=mode):
            exec(code, names)
        return log

    return record


@pytest.fixture
def data(run_dwell):
    def data(old, new, *options):
        done = run_dwell("diff", old, new, "--format", "json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return data


def test_what_got_larger_is_named_with_its_bytes(record, run_dwell, data):
    old, new = record("old", PROGRAM), record("new", LARGER)
    document = data(old, new)
    assert document["change_bytes"] == pytest.approx(16 * MB, rel=0.02)
    (cause,) = document["causes"]
    assert (cause["where"], cause["reason"]) == ("main → load", "3x larger")
    (row,) = [row for row in document["rows"] if row["name"] == "load"]
    assert row["status"] == "larger"
    assert row["old"]["self_bytes"] == pytest.approx(8 * MB, rel=0.01)
    assert "samples" not in row["old"]
    table = run_dwell("diff", old, new).stdout
    assert table.startswith("total +15.3 MiB: +15.3 MiB in main → load (3x larger)\n"), table
    assert "7.63 MiB  22.9 MiB  3.00x" in table
    assert "samples" not in table


def test_what_was_allocated_and_freed_is_in_alloc_bytes_alone(record, data):
    old, new = record("old", PROGRAM), record("new", MORE)
    assert data(old, new)["causes"] == []
    (cause,) = data(old, new, "--measure", "alloc_bytes")["causes"]
    assert (cause["where"], cause["reason"]) == ("main → scratch", "50x larger")


def test_what_is_new_is_said_so_by_path_and_by_line(record, data):
    old, new = record("old", PROGRAM), record("new", NEW)
    (cause,) = data(old, new, "--measure", "live_bytes", "--by", "path")["causes"]
    assert (cause["where"], cause["reason"]) == ("main → extra", "new")
    (cause,) = data(old, new, "--measure", "live_bytes", "--by", "line")["causes"]
    assert cause["where"].startswith("extra line ")
    assert cause["change_bytes"] == pytest.approx(5 * MB, rel=0.01)


@pytest.mark.parametrize(
    ("fail_if", "status"),
    [("larger 5%", 1), ("larger 150%", 1), ("larger 250%", 0), ("larger 10MB", 1),
     ("larger 20 MB", 0)],
)  # fmt: skip
def test_fail_if_larger(record, run_dwell, fail_if, status):
    old, new = record("old", PROGRAM), record("new", LARGER)
    done = run_dwell("diff", old, new, "--fail-if", fail_if)
    assert done.returncode == status, done.stderr
    assert ("% larger" in done.stderr) == (status == 1)
    assert run_dwell("diff", new, old, "--fail-if", fail_if).returncode == 0


def test_fail_if_looks_at_one_function(record, run_dwell):
    old, new = record("old", PROGRAM), record("new", LARGER)
    failed = run_dwell("diff", old, new, "--fail-if", "larger 10MB", "--of", "load")
    assert failed.returncode == 1 and failed.stderr.startswith("dwell: load is ")
    fine = run_dwell("diff", old, new, "--fail-if", "larger 1KB", "--of", "scratch",
                     "--measure", "alloc_bytes")  # fmt: skip
    assert fine.returncode == 0, fine.stderr


def test_differences_of_samples_that_may_be_chance_are_no_verdict(record, run_dwell):
    # Blocks of this size are sampled for certain; what the program does beside them is not.
    old, more, much = (
        record(str(size), f"kept.append(bytearray({size}_000_000))", "sampled")
        for size in (30, 33, 300)
    )
    done = run_dwell("diff", old, more, "--fail-if", "larger 1%")
    assert done.returncode == 0
    assert "may differ as much by chance; --memory=exact counts each" in done.stderr
    assert "within what samples may differ by chance" in done.stdout
    assert run_dwell("diff", old, much, "--fail-if", "larger 1%").returncode == 1


def test_a_flame_graph_of_bytes(record, run_dwell, tmp_path):
    old, new = record("old", PROGRAM), record("new", LARGER)
    done = run_dwell("diff", old, new, "-o", tmp_path / "diff.svg")
    assert done.stdout.startswith("total +15.3 MiB: ")
    text = (tmp_path / "diff.svg").read_text()
    xml.etree.ElementTree.fromstring(text)
    assert "7.63 MiB → 22.9 MiB" in text and "a little larger" in text and "slower" not in text


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--fail-if", "slower 5%"), "is about time, and memory is compared: say 'larger'"),
        (("--fail-if", "larger 5 apples"), "--fail-if needs something like"),
        (("--measure", "peak"), "no memory is measured by 'peak'; did you mean 'peak_bytes'?"),
        (("--by", "region", "--measure", "live_bytes"), "memory is compared by function"),
    ],
)
def test_what_does_not_fit_is_one_sentence(record, run_dwell, options, complaint):
    old = record("old", PROGRAM)
    done = run_dwell("diff", old, old, *options)
    assert done.returncode == 2
    assert complaint in done.stderr and done.stderr.count("\n") == 1


def test_memory_is_asked_of_recordings_that_have_none(run_dwell, record, tmp_path):
    profile = dwell.Profile()
    profile.runctx("sorted([])", {}, {})
    (tmp_path / "calls.dwell").write_bytes(profile._log())
    done = run_dwell("diff", tmp_path / "calls.dwell", record("old", PROGRAM),
                     "--fail-if", "larger 5%")  # fmt: skip
    assert done.returncode == 2 and "do not both hold memory" in done.stderr
