# SPDX-License-Identifier: MIT
"""Memory of programs that have another allocator than the C library's: one that is preloaded, one
of Python, or one that is linked into a library under names of its own."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from ..compiled import compile_library
from ..conftest import Program

MODES = pytest.mark.parametrize("mode", ["sampled", "exact"])


def rows_of(run_dwell: Program, by: str, measure: str) -> list[dict]:
    done = run_dwell("report", "x.dwell", "--by", by, "--measure", measure, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def parts_of(run_dwell: Program) -> dict[str, int]:
    rows = rows_of(run_dwell, "function", "resident_bytes")
    return {row["function"]: row["resident_bytes"]["self"] for row in rows}


def function_has(run_dwell: Program, function: str, measure: str) -> int:
    rows = rows_of(run_dwell, "function", measure)
    return sum(row[measure]["total"] for row in rows if row["name"] == function)


def library_named(name: str) -> str:
    cached = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    found = [line.split("=> ")[1] for line in cached.splitlines() if line.split()[:1] == [name]]
    if not found:
        pytest.skip(f"{name} is not installed")
    return found[0]


KEEPS = """
kept = []
def leak():
    for _ in range(3000):
        kept.append(bytearray(20_000))
def churn():
    for _ in range(20_000):
        bytearray(5000)
leak()
churn()
print(len(kept), sum(map(len, kept)))
"""
KEPT = 3000 * 20_001
PRELOADED = {
    "libjemalloc.so.2": "jemalloc",
    "libtcmalloc_minimal.so.4": "tcmalloc",
    "libmimalloc.so.2": "mimalloc",
    "libmimalloc.so.3": "mimalloc",
}


@MODES
@pytest.mark.parametrize("library", PRELOADED)
def test_an_allocator_that_is_preloaded_is_seen_and_named(library, mode, run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(KEEPS)
    environment = os.environ | {"LD_PRELOAD": library_named(library)}
    done = run_dwell(
        "run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py", env=environment
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3000 60000000\n", "")
    live = function_has(run_dwell, "leak", "live_bytes")
    assert live == pytest.approx(KEPT, rel=0.02 if mode == "exact" else 0.5)
    assert function_has(run_dwell, "churn", "live_bytes") == 0
    parts = parts_of(run_dwell)
    assert "<free, kept by malloc>" not in parts
    # An estimate may be above what the allocator has, and leave nothing to name.
    if mode == "exact":
        assert any(PRELOADED[library] in name for name in parts), parts
        assert parts.get("<not explained>", 0) < 0.1 * sum(parts.values())


@MODES
@pytest.mark.parametrize("allocator", ["malloc", "debug", "malloc_debug", "mimalloc"])
def test_each_allocator_of_python_is_seen(allocator, mode, run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(KEEPS)
    environment = os.environ | {"PYTHONMALLOC": allocator}
    done = run_dwell(
        "run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py", env=environment
    )
    if "unknown allocator" in done.stderr or "PYTHONMALLOC" in done.stderr:
        pytest.skip("this Python does not have it")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3000 60000000\n", "")
    live = function_has(run_dwell, "leak", "live_bytes")
    assert live == pytest.approx(KEPT, rel=0.02 if mode == "exact" else 0.5)
    parts = parts_of(run_dwell)
    if mode == "exact":
        assert parts["<Python, live>"] > KEPT
        assert parts.get("<not explained>", 0) < 0.1 * sum(parts.values())


# The least that has Arrow's names: pools with virtual functions, whose allocators nobody else sees.
POOLS = """
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
static char *next, *end;
extern "C" __attribute__((visibility("hidden"), noinline)) void *mi_map(size_t size)
{
    void *made = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? nullptr : made;
}
static void *cut(size_t size)
{
    size = (size + 63) / 64 * 64;
    if (end - next < (long)size) {
        next = (char *)mi_map(100 << 20);
        end = next + (100 << 20);
    }
    next += size;
    return next - size;
}
namespace arrow {
class Status {
  public:
    void *state;
    Status() : state(nullptr) {}
    Status(const Status &other) : state(other.state) {}
    ~Status() {}
};
class MemoryPool {
  public:
    virtual ~MemoryPool() {}
    virtual Status Allocate(int64_t, int64_t, uint8_t **) = 0;
    virtual Status Reallocate(int64_t, int64_t, int64_t, uint8_t **) = 0;
    virtual void Free(uint8_t *, int64_t, int64_t) = 0;
};
namespace {
struct MimallocAllocator {
    static uint8_t zero[1];
};
uint8_t MimallocAllocator::zero[1];
}
template <class A> class BaseMemoryPoolImpl : public MemoryPool {
    Status Allocate(int64_t size, int64_t, uint8_t **out) override
    {
        *out = size ? (uint8_t *)cut((size_t)size) : A::zero;
        if (size)
            memset(*out, 1, (size_t)size);
        return Status();
    }
    Status Reallocate(int64_t before, int64_t size, int64_t alignment, uint8_t **out) override
    {
        uint8_t *former = *out;
        Allocate(size, alignment, out);
        memcpy(*out, former, (size_t)(before < size ? before : size));
        return Status();
    }
    void Free(uint8_t *, int64_t, int64_t) override {}
};
class MimallocMemoryPool : public BaseMemoryPoolImpl<MimallocAllocator> {};
}
static arrow::MemoryPool *volatile pool = new arrow::MimallocMemoryPool;
extern "C" void *take(int64_t size)
{
    uint8_t *block = nullptr;
    arrow::Status status = pool->Allocate(size, 64, &block);
    return status.state ? nullptr : block;
}
extern "C" void *grow(uint8_t *block, int64_t before, int64_t size)
{
    pool->Reallocate(before, size, 64, &block);
    return block;
}
extern "C" void give(uint8_t *block, int64_t size) { pool->Free(block, size, 64); }
"""
USES_POOLS = """
import ctypes
library = ctypes.CDLL("./libarrow.so.1")
library.take.restype = library.grow.restype = ctypes.c_void_p
library.take.argtypes = [ctypes.c_int64]
library.grow.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
library.give.argtypes = [ctypes.c_void_p, ctypes.c_int64]
library.malloc  # the symbols of the library are asked for
def keep():
    return [library.take(1_000_000) for _ in range(20)]
def let_go():
    for _ in range(10):
        library.give(library.take(2_000_000), 2_000_000)
def enlarge():
    return library.grow(library.take(1_000_000), 1_000_000, 9_000_000)
def nothing():
    return library.take(0)
print(len(keep()), let_go(), enlarge() > 0, nothing() > 0)
"""


@MODES
def test_pools_of_arrow_are_seen_by_the_lines_that_use_them(mode, run_dwell, tmp_path):
    compile_library(tmp_path, "libarrow", POOLS, "-O1", language="cc", suffix=".so.1")
    (tmp_path / "program.py").write_text(USES_POOLS)
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "20 None True True\n", "")
    exactly = {"rel": 0.001 if mode == "exact" else 0.5}
    assert function_has(run_dwell, "keep", "live_bytes") == pytest.approx(20_000_000, **exactly)
    assert function_has(run_dwell, "enlarge", "live_bytes") == pytest.approx(9_000_000, **exactly)
    assert function_has(run_dwell, "let_go", "live_bytes") < 100_000
    assert function_has(run_dwell, "let_go", "alloc_bytes") > 10_000_000
    by_allocator = rows_of(run_dwell, "allocator", "live_bytes")
    assert {row["allocator"]: row["live_bytes"]["self"] for row in by_allocator}[
        "mimalloc"
    ] == pytest.approx(29_000_000, **exactly)
    parts = parts_of(run_dwell)
    assert parts["<mimalloc of libarrow: live>"] == pytest.approx(29_000_000, **exactly)
    held = parts["<mimalloc of libarrow: live>"] + parts["<mimalloc of libarrow: free, or unseen>"]
    assert held == pytest.approx(50_000_000, rel=0.1)


RUSTY = """
#include <string.h>
#include <sys/mman.h>
__attribute__((visibility("hidden"), noinline)) void *_rjem_je_pages_map(size_t size)
{
    void *made = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != MAP_FAILED)
        memset(made, 1, size / 2);
    return made;
}
void *take(size_t size) { return _rjem_je_pages_map(size); }
"""
USES_RUSTY = """
import ctypes
library = ctypes.CDLL("./librusty.so")
library.take.restype = ctypes.c_void_p
library.take.argtypes = [ctypes.c_size_t]
kept = bytearray(60_000_000)  # so much is always among the samples
def load():
    return library.take(80_000_000)
print(load() > 0)
"""


@MODES
@pytest.mark.parametrize("is_stripped", [False, True])
def test_an_allocator_that_cannot_be_seen_is_named(is_stripped, mode, run_dwell, tmp_path):
    compile_library(tmp_path, "librusty", RUSTY, "-O1", *["-s"] * is_stripped)
    (tmp_path / "program.py").write_text(USES_RUSTY)
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    name = "mapped by librusty" if is_stripped else "jemalloc of librusty: its blocks are not seen"
    assert parts_of(run_dwell)[f"<{name}>"] == pytest.approx(40_000_000, rel=0.06)
    report = run_dwell("report", "x.dwell").stdout
    assert name in report.split("allocated")[0]
    assert ("Mapped, by the line that needed it" in report) != is_stripped
    mapped = rows_of(run_dwell, "python,allocator", "reserved_bytes")
    (row,) = (row for row in mapped if row["reserved_bytes"]["self"] >= 80_000_000)
    assert row["python"].endswith("(load)")
    assert row["allocator"] == ("mmap" if is_stripped else "jemalloc")


TRIMS = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(20_000) for _ in range(3000)]
for block in blocks: ctypes.memset(block, 1, 20_000)
for block in blocks[:-1]: libc.free(block)
if sys.argv[1] == "trim":
    libc.malloc_trim(0)
print("done")
"""


@MODES
def test_malloc_trim_moves_what_malloc_keeps(mode, run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(TRIMS)
    kept = {}
    for how in ("keep", "trim"):
        done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py", how)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        parts = parts_of(run_dwell)
        kept[how] = parts.get("<free, kept by malloc>", 0)
        assert parts.get("<live, but never touched>", 0) < 20_000_000, parts
    assert kept["keep"] > 50_000_000
    assert kept["trim"] < kept["keep"] - 50_000_000


ARROW = """
import ctypes
import pyarrow as pa
def build():
    buffer = pa.allocate_buffer(8_000_000)
    ctypes.memset(buffer.address, 1, buffer.size)
    return buffer
kept = [build() for _ in range(4)]
print(pa.default_memory_pool().backend_name, pa.total_allocated_bytes())
"""


@pytest.mark.parametrize("backend", ["mimalloc", "jemalloc", "system"])
def test_arrow_itself_says_the_same(backend, run_dwell: Program, tmp_path: Path):
    pytest.importorskip("pyarrow")
    (tmp_path / "program.py").write_text(ARROW)
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": backend}
    done = run_dwell("run", "-q", "--memory=exact", "-o", "x.dwell", "program.py", env=environment)
    name, bytes_of_arrow = done.stdout.split()
    if name != backend:
        pytest.skip(f"this pyarrow has no {backend}")
    live = function_has(run_dwell, "build", "live_bytes")
    assert live == pytest.approx(int(bytes_of_arrow), rel=0.01)
    if backend != "system":
        parts = parts_of(run_dwell)
        assert parts[f"<{backend} of libarrow: live>"] == pytest.approx(live, rel=0.01)
