# SPDX-License-Identifier: MIT
"""Small real recordings, and profiles of other tools, as the corpora of the fuzzers:
corpus.py DWELL DIRECTORY."""

import gzip
import struct
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import _thread, dwell
def fib(n): return fib(n - 1) + fib(n - 2) if n > 1 else n
def work():
    with dwell.region("outer"):
        for _ in range(2):
            with dwell.region("inner"):
                dwell.count("rows", 2)
                dwell.instant("now")
                sorted(str(fib(9)))
done = _thread.allocate_lock()
done.acquire()
_thread.start_new_thread(lambda: (work(), done.release()), ())
work()
done.acquire()
"""
RUNS = {
    "regions": ["--regions", "--timeline", "--cpu"],
    "samples": ["--rate", "2000", "--timeline"],
    "python": ["--rate", "2000", "--no-native", "--mode", "wall"],
    "calls": ["--calls"],
    "lines": ["--lines", "--callees", "-f", "work", "-f", "fib"],
    "both": ["--lines", "--sample", "--rate", "2000", "-f", "fib"],
    "heap": ["--regions", "--heap"],
}
PERF = """# ========
python3 41/42 1000.000001:    1000000 cpu-clock:u:
\t    55d0c0ffee00 fib+0x12 (/nowhere/python3.13)
\t    7f0000001234 operator()(int, char) const+0x80 (/nowhere/libc.so.6)

my prog 7 43 [001]  100.6:    1000000 cycles:
\tffffffff81000000 [unknown] ([kernel.kallsyms])
\t    55d0c0ffee10 py::work:/tmp/x.py+0x1 (/tmp/perf-41.map)

"""
FOLDED = "# by some tool\nmain;load (x.py:3);parse 10\nmain;work;sys_read_[k] 5\nwork;work 15\n 3\n"
MAPS = (
    b"00400000-00500000 r-xp 00000000 08:01 1234 /nowhere/python3.13\n"
    b"7f0000000000-7f0000010000 r-xp 00001000 08:01 124 /nowhere/lib with spaces.so.1\n"
)
WORDS = (0, 3, 0, 10000, 0, 3, 2, 0x400100, 0x400200, 1, 1, 0x401000, 0, 1, 0)
SOURCE = 9
LARGE = 1 << 10


def without_large_sources(log: bytes) -> bytes:
    """Texts of libraries would be most of every input."""
    kept, at = log[:16], 16
    while at < len(log):
        kind, stored = struct.unpack_from("<4xH6xI", log, at)
        size = 24 + stored
        if kind != SOURCE or stored < LARGE:
            kept += log[at : at + size]
        at += size
    return kept


def record(dwell: str, directory: Path) -> list[Path]:
    (directory / "log").mkdir(parents=True, exist_ok=True)
    program = directory / "program.py"
    program.write_text(PROGRAM)
    files = []
    for name, options in RUNS.items():
        files.append(directory / "log" / f"{name}.dwell")
        command = [dwell, "run", "-q", *options, "-o", files[-1], program]
        subprocess.run(command, check=True)
    files.append(directory / "log" / "time.dwell")
    command = [dwell, "time", "-r", "6", "-n", "9", "-o", files[-1], "sorted([2, 1])", "len([])"]
    subprocess.run(command, capture_output=True, check=True)
    for file in files:
        file.write_bytes(without_large_sources(file.read_bytes()))
    merged = directory / "log" / "merged.dwell"
    subprocess.run([dwell, "merge", files[0], files[1], files[4], "-o", merged], check=True)
    return files


def export(dwell: str, file: Path, lens: str) -> bytes:
    done = subprocess.run([dwell, "export", file, "--to", lens], capture_output=True, check=False)
    return done.stdout


def main() -> None:
    dwell, directory = sys.argv[1], Path(sys.argv[2])
    seeds = {
        "perf_script/seed": PERF.encode(),
        "collapsed/seed": FOLDED.encode(),
        "gperftools/wide": struct.pack(f"<{len(WORDS)}Q", *WORDS) + MAPS,
        "gperftools/narrow": struct.pack(f"<{len(WORDS)}I", *WORDS) + MAPS,
    }
    for file in record(dwell, directory):
        seeds[f"collapsed/{file.stem}"] = export(dwell, file, "collapsed")
        packed = export(dwell, file, "pprof")
        seeds[f"pprof/{file.stem}"] = gzip.decompress(packed) if packed else b""
    for name, content in seeds.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(content)


if __name__ == "__main__":
    main()
