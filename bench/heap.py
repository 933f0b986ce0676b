# SPDX-License-Identifier: MIT
"""Pictures of a heap of two million tracked objects, beside objgraph, guppy and pympler.

Each case runs in a process of its own; the cases take turns, and the best of all turns counts.
Prints JSON: seconds of CPU time, and the bytes that dwell takes for an object, in memory and in a
file.
"""

import json
import os
import sys
import tempfile
import time

from turns import best_of_turns, run


class Node:
    def __init__(self, number):
        self.number = number
        self.named = {"key": number}
        self.listed = [number]


def dwell_counts(_data):
    from dwell import heap

    return lambda: heap.most_common_types()


def objgraph_counts(_data):
    import objgraph

    return lambda: objgraph.most_common_types()


def dwell_heap(_data):
    """With dominators and retained sizes, which the others do not have."""
    from dwell import heap

    return lambda: str(heap.snapshot().types())


def guppy_heap(_data):
    from guppy import hpy

    tool = hpy()
    return lambda: str(tool.heap())


def pympler_heap(_data):
    from pympler import muppy, summary

    return lambda: summary.summarize(muppy.get_objects())


def dwell_way(data):
    """The second way of a snapshot, as all but the first are."""
    from dwell import heap

    snapshot = heap.snapshot()
    snapshot.path_to_root(data[8])
    return lambda: snapshot.path_to_root(data[7].named)


def objgraph_way(data):
    import objgraph

    return lambda: objgraph.find_backref_chain(data[7].named, objgraph.is_proper_module)


CASES = (
    *(dwell_counts, objgraph_counts, dwell_heap, guppy_heap, pympler_heap),
    *(dwell_way, objgraph_way),
)


def bytes_each(in_file):
    from dwell import heap

    snapshot = heap.snapshot()
    snapshot.types()
    if not in_file:
        return sys.getsizeof(snapshot._core) / snapshot.objects
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "x.dwell")
        snapshot.save(file)
        return os.path.getsize(file) / snapshot.objects


def measure(name):
    global data  # so that a module leads to it
    data = [Node(number) for number in range(1000, 668_000)]
    if name in ("bytes", "file_bytes"):
        return bytes_each(in_file=name == "file_bytes")
    case = globals()[name](data)
    began = time.process_time()
    case()
    return time.process_time() - began


def main():
    if len(sys.argv) == 2:
        print(json.dumps(measure(sys.argv[1])))
        return
    best = best_of_turns(__file__, [(case.__name__,) for case in CASES])
    print(
        json.dumps(
            {name: value for (name,), value in best.items()}
            | {name: run(__file__, name) for name in ("bytes", "file_bytes")}
        )
    )


main()
