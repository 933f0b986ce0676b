# SPDX-License-Identifier: MIT
"""Snapshots of the heap: what they count, what holds what, and that all stays as it was."""

import array
import collections
import datetime
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

import dwell
from dwell import heap


class Thing:
    pass


class Slotted:
    __slots__ = ("__weakref__", "held")


def names(way: heap.Way) -> list[str]:
    return [step.name for step in way.steps]


def run(program: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_local_variable_and_the_attributes_on_the_way_are_named():
    slotted = Slotted()
    slotted.held = Thing()
    slotted.held.attribute = [0, {"key": Thing()}]
    way = heap.why(slotted.held.attribute[1]["key"])
    here = test_a_local_variable_and_the_attributes_on_the_way_are_named.__name__
    assert way.root.startswith(f"{here}() at test_heap.py:")
    assert names(way) == ["slotted", ".held", ".attribute", "[1]", "['key']"]
    assert str(way).splitlines()[-1].split() == ["['key']", f"{__name__}.Thing"]


held_globally = {"list": [Thing()]}


def test_a_global_is_named_by_its_module():
    way = heap.why(held_globally["list"][0])
    assert way.root == f"module {__name__}"
    assert way.expression == f"{__name__}.held_globally['list'][0]"


def test_the_largest_holder_is_told_where_it_is():
    held_globally["large"] = [bytes(100_000) for _ in range(500)]
    largest, second = heap.snapshot().dominators(2)
    assert largest.type == "list" and largest.name == f"{__name__}.held_globally['large']"
    size = sum(map(sys.getsizeof, held_globally["large"]), sys.getsizeof(held_globally["large"]))
    assert largest.retained == size > second.retained
    del held_globally["large"]


def test_what_a_module_written_in_c_holds_is_called_by_the_name_of_a_global():
    way = heap.why(collections.deque)  # the state of _collections holds it without a name
    assert way.root.startswith("module ") and names(way) == [".deque"]


def test_a_variable_of_a_closure_is_named():
    def outer():
        captured = Thing()
        return lambda: captured

    inner = outer()
    way = heap.why(inner())
    assert names(way) == ["inner", ".__closure__", "[0]", ".cell_contents"]
    assert way.steps[2].note == "variable captured"


def test_a_variable_of_another_thread_is_named_with_its_thread():
    found, go = [], threading.Event()
    ready = threading.Event()

    def work():
        mine = Thing()
        found.append(weakref.ref(mine))
        ready.set()
        go.wait()

    thread = threading.Thread(target=work, name="the-worker")
    thread.start()
    ready.wait()
    way = heap.why(found[0]())
    go.set()
    thread.join()
    assert ".work() at test_heap.py:" in way.root and way.root.endswith(" in thread the-worker")
    assert names(way) == ["mine"]


def test_a_variable_of_a_generator_that_runs_or_sleeps_holds():
    def generate():
        mine = Thing()
        yield weakref.ref(mine)
        yield heap.why(mine)
        yield mine

    generator = generate()
    asleep = next(generator)
    assert "generator" in str(heap.why(asleep()))
    assert names(next(generator)) == ["mine"]


def test_no_dictionary_is_made_for_an_instance():
    thing = Thing()
    thing.attribute = Thing()
    heap.why(thing.attribute)
    heap.snapshot().dominators(3)
    assert not [held for held in gc.get_referents(thing) if type(held) is dict]


def test_nothing_is_kept_alive():
    thing = Thing()
    thing.cycle = [thing]
    dead = weakref.ref(thing)
    snapshot = heap.snapshot()
    way = snapshot.path_to_root(thing)
    thing.cycle.clear()
    del thing
    assert dead() is None
    assert "thing" in names(way)
    with pytest.raises(ValueError, match="was not there"):
        snapshot.retained(Slotted())


def test_a_way_says_nothing_of_what_is_gone():
    holder = [Thing()]
    thing = holder[0]
    snapshot = heap.snapshot()
    del holder[0]
    assert snapshot.path_to_root(thing).steps[-1].type == f"{__name__}.Thing"


def test_garbage_is_told_and_not_collected():
    was_on = gc.isenabled()
    gc.disable()
    gc.collect()
    before = heap.snapshot().garbage
    thing = Thing()
    thing.cycle = thing
    thing.payload = [Thing() for _ in range(10)]
    dead = weakref.ref(thing)
    del thing
    snapshot = heap.snapshot()
    assert snapshot.garbage[0] == before[0] + 12
    assert dead() is not None and gc.isenabled() is False
    way = snapshot.path_to_root(dead())
    assert way.root == "" and "garbage" in str(way)
    if was_on:
        gc.enable()


def test_the_collector_is_left_on_or_off():
    heap.snapshot()
    assert gc.isenabled()
    gc.disable()
    heap.snapshot()
    assert not gc.isenabled()
    gc.enable()


def test_a_weak_reference_holds_nothing():
    thing = Thing()
    weak = {"only": weakref.ref(thing), "callback": weakref.WeakValueDictionary(a=thing)}
    alone = heap.snapshot()
    assert names(alone.path_to_root(thing)) == ["thing"]
    assert alone.retained(weak) < alone.retained(weak) + alone.retained(thing)
    assert weak


def test_references_in_c_types_that_tell_nothing_make_a_root():
    class Zone(datetime.tzinfo):
        def utcoffset(self, when):
            return datetime.timedelta(0)

    zone = Zone()
    hidden = datetime.datetime(2000, 1, 1, tzinfo=zone)  # tells the collector nothing
    del zone
    way = heap.why(hidden.tzinfo)
    assert way.root.startswith("C code: ") and way.root.endswith("Zone")


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="no interned string dies there")
def test_an_interned_string_is_held_by_those_that_use_it():
    holder = [sys.intern("an interned text " * len(sys.argv) * 100)]
    snapshot = heap.snapshot()
    assert snapshot.retained(holder) == sys.getsizeof(holder) + sys.getsizeof(holder[0])
    assert names(snapshot.path_to_root(holder[0])) == ["holder", "[0]"]


def test_interned_strings_may_go_while_objects_are_walked():
    program = """
from dwell import heap
types = [type(f"T{number}", (), {"a": number})() for number in range(6000)]
for _ in range(3):
    heap.snapshot()
print("done")
"""
    assert run(program, PYTHONMALLOC="debug") == "done\n"  # what is freed is overwritten


def test_an_instance_holds_its_dictionary():
    things = [Thing() for _ in range(10)]
    for number, thing in enumerate(things):
        thing.payload = bytes(1000 + number)
        assert vars(thing)  # makes a dictionary
    snapshot = heap.snapshot()
    assert snapshot.retained(things[3]) == sum(
        map(sys.getsizeof, (things[3], vars(things[3]), things[3].payload))
    )
    assert snapshot.retained(things) > 9 * snapshot.retained(things[0])  # `thing` has the last
    way = snapshot.path_to_root(vars(things[3]))
    assert names(way) == ["things", "[3]", ".__dict__"]


def test_buffers_count_and_are_found_once():
    numbers = array.array("d", bytes(80000))
    holders = [numbers, numbers, (numbers,)]
    snapshot = heap.snapshot()
    assert snapshot.retained(numbers) == sys.getsizeof(numbers) > 80000
    assert snapshot.retained(holders) == sys.getsizeof(holders) + sys.getsizeof(holders[2])


def test_what_is_held_twice_is_retained_by_neither_holder():
    shared = [Thing() for _ in range(100)]
    first, second = Thing(), Thing()
    first.held, second.held = {"x": shared}, [shared]
    del shared
    pair = [first, second]
    own = {id(pair): sys.getsizeof(pair)}
    del first, second
    snapshot = heap.snapshot()
    whole = snapshot.retained(pair)
    shared_size = snapshot.retained(pair[0].held["x"])
    assert whole == own[id(pair)] + shared_size + sum(map(snapshot.retained, pair))
    assert snapshot.retained(pair[0]) < shared_size


@pytest.mark.parametrize("what", [None, True, 1, "", (), int, type, print, sys, gc])
def test_what_never_dies_can_be_asked_for(what):
    snapshot = heap.snapshot()
    assert snapshot.path_to_root(what).root
    assert snapshot.retained(what) >= 0


def test_a_list_of_a_million_links_is_no_trouble():
    class Link:
        __slots__ = ("after", "value")

    head = None
    for index in range(1_000_000):
        link = Link()
        link.after, link.value = head, index + 1_000_000
        head = link
    snapshot = heap.snapshot()
    row = snapshot.types().named(f"{Link.__module__}.{Link.__qualname__}")
    each = sys.getsizeof(head)
    assert (row.count, row.size) == (1_000_000, each * 1_000_000)
    numbers = snapshot.retained(head) - row.size
    assert numbers == 1_000_000 * sys.getsizeof(1_000_000)
    assert row.retained == snapshot.retained(head) + (sys.getsizeof(link) - each)
    while head:  # Python frees a long chain by recursion, guarded
        head = head.after


def test_sizes_are_those_of_getsizeof():
    program = """
import collections, decimal, fractions, gc, json, re, sys, asyncio, enum
from dwell import _core
class Big(int): pass
class Grown(dict): pass
kept = [Big(10 ** 40), Grown(a=1), collections.deque(range(100)), collections.OrderedDict(a=1),
        bytearray(100), 10 ** 100, "\\u1234" * 100, b"x" * 50, {1}, frozenset({2}), slice(1), 2j,
        (lambda: 0).__code__, iter([]), object(), Big, range(9), re.compile("a"), enum.Enum]
snapshot = _core.HeapSnapshot()
wrong = []
def compare(snapshot):  # what a global variable has would be imported, if it is a lazy import
    numbers, seen = list(range(1, snapshot.totals()[0])), 0
    for number, obj in zip(numbers, snapshot.alive(numbers)):
        if obj is None or obj is kept or type(obj) is _core.HeapSnapshot: continue
        seen += 1
        told = sys.getsizeof(obj)
        if sys.version_info[:2] == (3, 12) and issubclass(type(obj), type):
            told -= 16 * (not obj.__flags__ & 1 << 9)  # it adds a head to types that have none
        if snapshot.node(number)[3] != told and obj is not globals() and obj is not sys.modules:
            wrong.append((type(obj), snapshot.node(number)[3], sys.getsizeof(obj)))
    return seen
seen = compare(snapshot)
for obj in kept:
    number = snapshot.find(id(obj))
    if snapshot.node(number)[3] != sys.getsizeof(obj):
        wrong.append((type(obj), snapshot.node(number)[3], sys.getsizeof(obj)))
print(len(set(map(snapshot.find, map(id, kept)))) == len(kept), seen > 500, wrong)
"""
    assert run(program) == "True True []\n"


def test_every_object_is_counted_once_and_none_is_missed():
    program = """
import gc, json, collections
from dwell import _core, heap
objects = gc.get_objects()
snapshot = _core.HeapSnapshot()
count = snapshot.totals()[0]
addresses = [snapshot.node(number)[0] for number in range(1, count + 1)]
addresses = [address for address in addresses if address]
missed = set(map(id, objects)) - set(addresses)
print(len(addresses) == len(set(addresses)), len(missed))
print(sum(row.count for row in heap.snapshot().types()) >= count)
"""
    assert run(program) == "True 0\nTrue\n"


def test_reference_counts_are_as_before():
    program = """
import gc, sys, json, decimal
from dwell import heap
def count(objects):
    return [sys.getrefcount(o) for o in objects]
sample = gc.get_objects()[::3] + ["a string of its own", 12345678, (1, 2), int]
heap.snapshot().types()
first = second = None
first = count(sample)
snapshot = heap.snapshot()
second = count(sample)
del snapshot
third = count(sample)  # not in the call of print, which holds print
print(len(sample) > 1000, first == third)
print(*(o.__name__ for o, a, b in zip(sample, first, second) if a != b))
"""
    # A snapshot that lives is an instance of these classes.
    same, differ = run(program).splitlines()
    assert same == "True True"
    assert set(differ.split()) <= {"HeapSnapshot", "Snapshot", "Taken"}


def test_no_code_of_the_program_runs():
    class Loud(Thing):
        def __sizeof__(self):
            raise AssertionError("ran")

        def __getattribute__(self, name):
            raise AssertionError("ran")

        def __eq__(self, other):
            raise AssertionError("ran")

        __hash__ = None
        __repr__ = __len__ = __sizeof__

    loud = Loud()
    Thing.__setattr__(loud, "inside", [loud, Thing()])
    held = [loud]
    snapshot = heap.snapshot()
    assert snapshot.retained(loud) > 0
    assert names(snapshot.path_to_root(loud))[-1] == "loud"
    snapshot.types(), snapshot.dominators(5)
    held.clear()


def test_frozen_objects_are_found():
    program = """
import gc
from dwell import heap
class Thing: pass
kept = [Thing() for _ in range(10)]
gc.freeze()
snapshot = heap.snapshot()
print(snapshot.types().named("__main__.Thing").count, heap.why(kept[3]).expression)
"""
    assert run(program) == "10 __main__.kept[3]\n"


def test_threads_that_run_beside_do_no_harm():
    program = """
import sys, threading
from dwell import heap
sys.setswitchinterval(1e-6)
stop = False
def churn():
    held = []
    while not stop:
        held.append({"a": [len(held)], "b": (lambda x=held: x)})
        if len(held) > 500: held = []
def spawn():
    while not stop:
        t = threading.Thread(target=lambda: [object() for _ in range(99)]); t.start(); t.join()
threads = [threading.Thread(target=f) for f in (churn, churn, spawn)]
for t in threads: t.start()
for _ in range(15):
    snapshot = heap.snapshot()
    snapshot.types(); snapshot.dominators(3); heap.why(threads[0])
stop = True
for t in threads: t.join()
print("done")
"""
    assert run(program) == "done\n"


def test_other_threads_run_while_dominators_are_worked_out():
    snapshots = [heap.snapshot()]
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(snapshots[0].types())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(result == results[0] for result in results)


def test_what_grew_is_the_difference():
    before = heap.snapshot()
    things = [Thing() for _ in range(321)]
    after = heap.snapshot()
    row = after.diff(before).named("Thing")
    assert (row.count, row.size) == (321, sum(map(sys.getsizeof, things)))
    assert after.diff(after) == []
    assert f"+321 {row.size:+10} {row.retained:+10} {__name__}.Thing" in str(after.diff(before))


def test_the_table_is_that_of_guppy_with_retained_sizes():
    types = heap.snapshot().types()
    head, columns, first, *rest = str(types).splitlines()
    assert (
        head == f"Partition of a set of {types.objects} objects. Total size = {types.size} bytes."
    )
    titles = ["Index", "Count", "%", "Size", "%", "Cumulative", "%", "Retained", "Kind"]
    assert columns.split() == titles
    assert first.split()[0] == "0" and first.split()[-1] == types[0].type
    assert types[0].size == max(row.size for row in types)
    assert rest[-1] == f"<{len(types) - types.limit} more rows>"


def test_equal_strings_are_told_with_what_they_waste():
    copies = ["".join(["dwell's own text " * 100, str(1234567)]) for _ in range(50)]
    packed = [bytes([1, 2, 3] * 9000) for _ in range(3)]
    text, *_ = duplicates = heap.snapshot(hashes=True).duplicates(limit=100)
    row = next(row for row in duplicates if row.copies == 50 and "copies[" in row.name)
    assert (row.type, row.size, row.wasted) == (
        "str",
        len(copies[0]) + sys.getsizeof(""),
        row.size * 49,
    )
    assert any(
        row.type == "bytes" and "packed[" in row.name and row.copies == 3 for row in duplicates
    )
    assert [row.wasted for row in duplicates] == sorted(
        (row.wasted for row in duplicates), reverse=True
    )
    assert packed and str(duplicates).splitlines()[1].split()[0] == str(text.wasted)
    with pytest.raises(ValueError, match="hashes=True"):
        heap.snapshot().duplicates()


def test_equal_arrays_are_told_with_what_they_waste():
    numpy = pytest.importorskip("numpy")
    tables = [numpy.arange(20_000) for _ in range(4)]
    others = [tables[0].astype(float), tables[0].reshape(200, 100).copy(), tables[0] + 1]
    views = [tables[0][:], tables[1].reshape(100, 200)]
    rooms = [bytearray(b"room" * 3000) for _ in range(3)]
    found = heap.snapshot(hashes=True).duplicates(limit=1000)
    (row,) = (row for row in found if row.type == "numpy.ndarray" and row.size > 160_000)
    assert (row.copies, row.wasted) == (4, 3 * row.size) and "tables[" in row.name
    assert any(row.type == "bytearray" and row.copies == 3 for row in found)
    assert others and views and rooms


def test_numpy_arrays_hold_their_base_and_objects():
    numpy = pytest.importorskip("numpy")
    whole = numpy.zeros(100_000)
    view = whole[10:20].reshape(5, 2)
    del whole
    objects = numpy.array([Thing(), None, "text"] * 2, dtype=object)
    snapshot = heap.snapshot()
    assert snapshot.retained(view) >= 800_000 > sys.getsizeof(view)
    assert names(snapshot.path_to_root(view.base)) == ["view", ".base"]
    assert names(snapshot.path_to_root(objects[0]))[0] == "objects"
    assert snapshot.retained(objects) > sys.getsizeof(objects)


def test_deep_recursion_and_exceptions_are_walked():
    def deep(levels):
        mine = Thing()
        if levels:
            return deep(levels - 1)
        try:
            raise ValueError("here")
        except ValueError:
            return heap.why(mine), heap.snapshot().types().named("Thing").count

    way, count = deep(500)
    assert names(way) == ["mine"] and count >= 501


def test_a_snapshot_states_its_own_size():
    snapshot = heap.snapshot()
    assert sys.getsizeof(snapshot._core) > 20 * snapshot.objects
    assert repr(snapshot).startswith(f"<Snapshot of {snapshot.objects} objects, ")
    assert snapshot.references > snapshot.objects / 2


def test_the_module_is_loaded_when_asked_for():
    code = "import dwell, sys; print('dwell.heap' in sys.modules, dwell.heap.why is not None)"
    assert run(code) == "False True\n"
    assert "heap" in dir(dwell)
    assert os.path.basename(heap.__file__) == "__init__.py"
