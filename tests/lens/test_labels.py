# SPDX-License-Identifier: MIT
"""Labels of samples in exports: a log is written by its format, with numbers that are known."""

import json
import struct
from pathlib import Path

import pytest

from ..line_log import blob, crc32c, stored, varint
from .protobuf import fields_of
from .test_pprof import Decoded

pytestmark = pytest.mark.any_python

PROCESS, CLOCK, STRINGS, FRAMES, THREAD, END, PLACES, SAMPLING = 1, 2, 3, 4, 6, 10, 14, 17
MEASURES, LABELS, TREE, ROWS, TIMED_ROWS = 19, 20, 21, 22, 23
FUNCTION, NATIVE_STATE, NANOSECONDS = 4, 2, 1
START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
TEXTS = ["", "<main>", "serve", "answer", "app.py", "endpoint", "/a", "/b;c", "user", "zoë"]
# Set 0 has nothing; a state of 0 says none.
SETS = [(0, {}), (0, {"endpoint": "/a"}), (NATIVE_STATE, {"endpoint": "/a"})]
SETS += [(0, {"endpoint": "/b;c", "user": "zoë"})]
# Paths: 1 is serve, 2 is serve > answer. Each sample is as long as it weighs.
SAMPLES = [(1, 0, 2 * MS), (2, 1, 3 * MS), (2, 2, 4 * MS), (2, 3, 5 * MS), (1, 3, 6 * MS)]


def numbers(*values: int) -> bytes:
    return b"".join(map(varint, values))


def label_set(state: int, pairs: dict[str, str]) -> bytes:
    ids = [TEXTS.index(text) for pair in pairs.items() for text in pair]
    return numbers(state, len(pairs), *ids)


def chunks() -> list[tuple[int, bytes]]:
    clock = numbers(1, 1, START_NS)
    later = numbers(1 + 100 * MS, 1 + 100 * MS, START_NS + 100 * MS)
    process = varint(0) + bytes(range(16)) + varint(41) + clock + varint(0)
    serve, answer, app = (TEXTS.index(text) for text in ("serve", "answer", "app.py"))
    rows = [numbers(path, labels << 1, 0b11, 1, weight) for path, labels, weight in SAMPLES]
    timed = [numbers(weight, path, labels, weight) for path, labels, weight in SAMPLES]
    places = [numbers(frame, line, 0, 0, 0, 0, 0, 0) for frame, line in ((0, 0), (1, 3), (2, 7))]
    return [
        (PROCESS, process),
        (STRINGS, varint(0) + b"".join(map(blob, TEXTS))),
        (FRAMES, numbers(0, 0, 1, 0, 0, FUNCTION, serve, app, 1, FUNCTION, answer, app, 5)),
        (PLACES, varint(0) + b"".join(places)),
        (TREE, numbers(0, 0, 0, 0, 1, 1, 2)),
        (THREAD, numbers(0, 0, 41) + blob("MainThread")),
        (MEASURES, varint(0) + blob("samples") + numbers(0, 0)),
        (MEASURES, varint(1) + blob("cpu") + numbers(NANOSECONDS, 0)),
        (LABELS, varint(0) + b"".join(label_set(*each) for each in SETS)),
        (ROWS, varint(0) + b"".join(rows)),
        (TIMED_ROWS, numbers(0, 1) + b"".join(timed)),
        (SAMPLING, numbers(0, 0, 0, MS, len(SAMPLES), 0, 0, 0, 0)),
        (CLOCK, varint(0) + later),
        (END, numbers(0, 0)),
    ]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    head = b"\x89DWELL\r\n" + struct.pack("<I", 1)
    data = head + struct.pack("<I", crc32c(head))
    for sequence, (kind, raw) in enumerate(chunks()):
        payload = stored(raw)
        chunk = struct.pack("<4sIIII", b"DWCK", kind, sequence, len(payload), len(raw))
        data += chunk + struct.pack("<I", crc32c(chunk + payload)) + payload
    path = tmp_path / "labelled.dwell"
    path.write_bytes(data)
    return path


def exported(run_dwell, log, *words):
    done = run_dwell("export", log, "--to", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pprof_has_all_labels_of_a_sample(run_dwell, log, tmp_path):
    exported(run_dwell, log, "pprof", "-o", "x.pb.gz")
    found = {
        (stack[0][0], values[1]): {
            key: value for key, value in labels.items() if key not in ("thread", "thread id")
        }
        for stack, values, labels in Decoded(tmp_path / "x.pb.gz").samples
    }
    assert found == {
        ("serve", 2 * MS): {"state": "running"},
        ("answer", 3 * MS): {"state": "running", "endpoint": "/a"},
        ("answer", 4 * MS): {"state": "native", "endpoint": "/a"},
        ("answer", 5 * MS): {"state": "running", "endpoint": "/b;c", "user": "zoë"},
        ("serve", 6 * MS): {"state": "running", "endpoint": "/b;c", "user": "zoë"},
    }


def test_collapsed_stacks_begin_with_the_labels_asked_for(run_dwell, log):
    assert exported(run_dwell, log, "collapsed").splitlines() == [
        "<main>;serve 8000",
        "<main>;serve;answer 12000",
    ]
    assert sorted(exported(run_dwell, log, "collapsed", "--labels", "endpoint").splitlines()) == [
        "<main>;serve 2000",
        "endpoint=/a;<main>;serve;answer 7000",
        "endpoint=/b:c;<main>;serve 6000",
        "endpoint=/b:c;<main>;serve;answer 5000",
    ]
    both = exported(run_dwell, log, "collapsed", "--labels", "user,endpoint", "--lines")
    assert sorted(both.splitlines()) == [
        "<main>;serve (app.py:3) 2000",
        "endpoint=/a;<main>;serve (app.py:3);answer (app.py:7) 7000",
        "user=zoë;endpoint=/b:c;<main>;serve (app.py:3) 6000",
        "user=zoë;endpoint=/b:c;<main>;serve (app.py:3);answer (app.py:7) 5000",
    ]


def test_a_label_that_nothing_has_is_refused(run_dwell, log):
    done = run_dwell("export", log, "--to", "svg", "--labels", "endpoint")
    assert done.returncode == 2 and "--to collapsed --labels endpoint" in done.stderr
    done = run_dwell("export", log, "--to", "collapsed", "--labels", "endpoit")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no label 'endpoit'" in done.stderr and "endpoint" in done.stderr


def slices(events):
    """Name, beginning and length in milliseconds, and arguments of what opened and closed."""
    open_, found = [], []
    for begins, name, time_ns, labels in events:
        if begins:
            open_.append((name, time_ns, labels))
        else:
            name, begun, labels = open_.pop()
            found.append((name, begun // MS, (time_ns - begun) // MS, labels))
    assert not open_
    return sorted(found, key=lambda each: (each[1], each[0]))


BOTH = {"endpoint": "/b;c", "user": "zoë"}
# A state that changes ends nothing; labels that change end everything.
TIMELINE = [
    ("serve", 0, 2, {}),
    ("answer", 2, 7, {"endpoint": "/a"}),
    ("serve", 2, 7, {"endpoint": "/a"}),
    ("answer", 9, 5, BOTH),
    ("serve", 9, 11, BOTH),
]


def test_chrome_slices_have_labels_as_arguments(run_dwell, log):
    events = json.loads(exported(run_dwell, log, "chrome"))["traceEvents"]
    shown = [
        (event["ph"] == "B", event["name"], round(event["ts"] * 1000), event.get("args", {}))
        for event in events
        if event["ph"] in "BE"
    ]
    assert slices(shown) == TIMELINE
    # speedscope finds the beginning of an end by name and arguments.
    ends = [event.get("args", {}) for event in events if event["ph"] == "E"]
    assert ends == [{}, {"endpoint": "/a"}, {"endpoint": "/a"}, BOTH, BOTH]


def test_perfetto_slices_have_labels_as_annotations(run_dwell, log, tmp_path):
    exported(run_dwell, log, "perfetto", "-o", "x.pftrace")
    names, shown = {}, []
    for packet in map(fields_of, fields_of((tmp_path / "x.pftrace").read_bytes())[1]):
        for interned in map(fields_of, packet.get(12, [])):
            for name in map(fields_of, interned.get(2, [])):
                names[name[1][0]] = name[2][0].decode()
        for event in map(fields_of, packet.get(11, [])):
            notes = {
                note[10][0].decode(): note[6][0].decode()
                for note in map(fields_of, event.get(4, []))
            }
            begins = event[9][0] == 1
            name = names[event[10][0]] if begins else None
            shown.append((begins, name, packet.get(8, [0])[0], notes))
    assert slices(shown) == TIMELINE


def test_speedscope_takes_labelled_samples_in_order(run_dwell, log):
    [profile] = json.loads(exported(run_dwell, log, "speedscope"))["profiles"]
    assert profile["weights"] == [weight for _, _, weight in SAMPLES]
    assert [len(stack) for stack in profile["samples"]] == [path for path, _, _ in SAMPLES]
