# SPDX-License-Identifier: MIT
"""The perfetto lens tells what the chrome lens tells, packet by packet."""

import json

import pytest

from .test_pprof import fields_of

REGIONS = """
import dwell, threading

def work(name):
    for i in range(3):
        with dwell.region(name):
            with dwell.region("inner"):
                dwell.count("items", i - 1)
    dwell.instant("done")

helper = threading.Thread(target=work, args=("two\\nlines",), name="helper")
helper.start()
helper.join()
work("é☃")
"""

SAMPLES = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

fib(27)
"""


def signed(value):
    return value - 2**64 if value >= 2**63 else value


def printable(name):
    return name.replace("\n", "\\n")


def read_trace(data):
    """(thread, kind, name or value, nanoseconds) of each event; thread names by track."""
    tracks, names, events = {}, {}, []
    for index, packet in enumerate(map(fields_of, fields_of(data)[1])):
        assert packet[10] == [1]
        assert packet[13] == [1 if index == 0 else 2]
        for track in map(fields_of, packet.get(60, [])):
            assert track[1][0] not in tracks
            if 4 in track:
                tracks[track[1][0]] = fields_of(track[4][0])[5][0].decode()
            elif 8 in track:
                tracks[track[1][0]] = (tracks[track[5][0]], track[2][0].decode())
            else:
                tracks[track[1][0]] = fields_of(track[3][0])[6][0].decode()
        for interned in map(fields_of, packet.get(12, [])):
            for name in map(fields_of, interned[2]):
                assert name[1][0] not in names
                names[name[1][0]] = name[2][0].decode()
        for event in map(fields_of, packet.get(11, [])):
            kind, track = "BEiC"[event[9][0] - 1], tracks[event[11][0]]
            what = names[event[10][0]] if kind in "Bi" else None
            if kind == "C":
                track, counter = track
                what = (counter, signed(event.get(30, [0])[0]))
            events.append((track, kind, what, packet.get(8, [0])[0]))
    return events


def read_chrome(text):
    threads, events = {}, []
    for event in json.loads(text)["traceEvents"]:
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                threads[event["tid"]] = event["args"]["name"]
            continue
        what = printable(event["name"]) if event["ph"] in "BiC" else None
        if event["ph"] == "C":
            what = (what, event["args"][event["name"]])
        time_ns = round(event["ts"] * 1000)
        events.append((threads[event["tid"]], event["ph"], what, time_ns))
    return events


@pytest.mark.parametrize(("options", "program"), [(["--regions"], REGIONS), ([], SAMPLES)])
def test_perfetto_tells_what_chrome_tells(options, program, run_dwell, tmp_path):
    done = run_dwell("run", "-q", "--timeline", *options, "-o", "x.dwell", "-c", program)
    assert done.returncode == 0, done.stderr
    assert run_dwell("export", "x.dwell", "--to", "perfetto", "-o", "x.pftrace").returncode == 0
    events = read_trace((tmp_path / "x.pftrace").read_bytes())
    assert events == read_chrome(run_dwell("export", "x.dwell", "--to", "chrome").stdout)
    expected = ("inner", "two\\nlines", "é☃") if options else ("fib",)
    assert set(expected) <= {what for _, kind, what, _ in events if kind == "B"}


def test_a_recording_without_times_is_refused(run_dwell, tmp_path):
    (tmp_path / "x.folded").write_text("a;b 1\n")
    done = run_dwell("export", "x.folded", "--to", "perfetto", "-o", "x.pftrace")
    assert done.returncode == 1
    assert not (tmp_path / "x.pftrace").exists()


def decoded(path):
    """The packets by Perfetto's own description of them."""
    schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    size = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == size == path.stat().st_size
    return schema.TrackEvent, trace.packet


def check_nesting(kinds, packets):
    """Names that are open on each track, begin to end; returns those seen, by thread."""
    tracks, names, seen, open_names, last_ns = {}, {}, {}, {}, {}
    for index, packet in enumerate(packets):
        assert packet.trusted_packet_sequence_id == 1
        assert packet.sequence_flags == (1 if index == 0 else 2)
        for interned in packet.interned_data.event_names:
            assert interned.iid and interned.iid not in names
            names[interned.iid] = interned.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks
            assert not track.parent_uuid or track.parent_uuid in tracks
            tracks[track.uuid] = track
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        thread = tracks[event.track_uuid].thread.thread_name
        stack = open_names.setdefault(event.track_uuid, [])
        assert packet.timestamp >= last_ns.get(event.track_uuid, 0)
        last_ns[event.track_uuid] = packet.timestamp
        if event.type == kinds.TYPE_SLICE_BEGIN:
            stack.append(names[event.name_iid])
            seen.setdefault(thread, set()).add(tuple(stack))
        elif event.type == kinds.TYPE_SLICE_END:
            stack.pop()
    assert not any(open_names.values())
    return tracks, seen


def test_perfettos_own_schema_reads_regions(run_dwell, tmp_path):
    run_dwell("run", "-q", "--timeline", "--regions", "-o", "x.dwell", "-c", REGIONS)
    run_dwell("export", "x.dwell", "--to", "perfetto", "-o", "x.pftrace")
    tracks, seen = check_nesting(*decoded(tmp_path / "x.pftrace"))
    assert {("é☃",), ("é☃", "inner")} == seen["MainThread"]
    assert {("two\\nlines",), ("two\\nlines", "inner")} == seen["helper"]
    assert "items" in {track.name for track in tracks.values() if track.HasField("counter")}


def test_perfettos_own_schema_reads_samples(run_dwell, tmp_path):
    run_dwell("run", "-q", "--timeline", "-o", "x.dwell", "-c", SAMPLES)
    run_dwell("export", "x.dwell", "--to", "perfetto", "-o", "x.pftrace")
    tracks, seen = check_nesting(*decoded(tmp_path / "x.pftrace"))
    assert any(stack[-2:] == ("fib", "fib") for stack in seen["MainThread"])
    [process] = [track.process for track in tracks.values() if track.HasField("process")]
    assert "1000 Hz asked" in process.process_labels[0]
