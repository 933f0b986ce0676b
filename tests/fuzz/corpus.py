# SPDX-License-Identifier: MIT
"""Small real recordings, and profiles of other tools, as the corpora of the fuzzers:
corpus.py DWELL DIRECTORY."""

import struct
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import threading, dwell
def fib(n): return fib(n - 1) + fib(n - 2) if n > 1 else n
def work():
    with dwell.region("outer"):
        for _ in range(3):
            with dwell.region("inner"):
                dwell.count("rows", 2)
                sorted(str(fib(12)))
thread = threading.Thread(target=work, name="helper")
thread.start()
work()
thread.join()
"""
RUNS = {
    "regions": ["--regions", "--timeline", "--cpu"],
    "samples": ["--rate", "2000", "--timeline"],
    "python": ["--rate", "2000", "--no-native", "--mode", "wall"],
    "calls": ["--calls"],
    "lines": ["--lines", "--sample", "-f", "work", "-f", "fib"],
}
PERF = """python3 41/42 1000.000001:    1000000 cpu-clock:u:
\t    55d0c0ffee00 fib+0x12 (/usr/bin/python3.13)
\t    7f0000001234 __libc_start_main+0x80 (/usr/lib/libc.so.6)

python3 41/43 1000.001001:    1000000 cycles:
\tffffffff81000000 [unknown] ([kernel.kallsyms])
\t    55d0c0ffee10 py::work:/tmp/x.py+0x1 (/tmp/perf-41.map)

"""
MAPS = b"00400000-00500000 r-xp 00000000 08:01 1234 /usr/bin/python3.13\n"


def record(dwell: str, directory: Path) -> list[Path]:
    files = []
    (directory / "log").mkdir(parents=True, exist_ok=True)
    for name, options in RUNS.items():
        file = directory / "log" / f"{name}.dwell"
        source = directory / "program.py"
        source.write_text(PROGRAM)
        subprocess.run([dwell, "run", "-q", *options, "-o", file, source], check=True)
        files.append(file)
    file = directory / "log" / "time.dwell"
    command = [dwell, "time", "--quick", "-o", file, "sorted([2, 1])", "len([])"]
    if not subprocess.run(command, capture_output=True, check=False).returncode:
        files.append(file)
    merged = directory / "log" / "merged.dwell"
    subprocess.run([dwell, "merge", *files[:1], *files[3:4], "-o", merged], check=False)
    return files


def export(dwell: str, file: Path, lens: str, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([dwell, "export", file, "--to", lens], capture_output=True, check=False)
    if not done.returncode:
        to.write_bytes(done.stdout)


def main() -> None:
    import gzip

    dwell, directory = sys.argv[1], Path(sys.argv[2])
    for file in record(dwell, directory):
        export(dwell, file, "collapsed", directory / "collapsed" / file.stem)
        export(dwell, file, "pprof", directory / "pprof" / file.stem)
    for file in (directory / "pprof").iterdir():
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            file.write_bytes(gzip.decompress(data))
    for name, content in {
        "perf_script": PERF.encode(),
        "gperftools": struct.pack("<5Q", 0, 3, 0, 10000, 0)
        + struct.pack("<5Q", 3, 2, 0x400100, 0x400200, 0)[:32]
        + struct.pack("<3Q", 0, 1, 0)
        + MAPS,
    }.items():
        (directory / name).mkdir(exist_ok=True)
        (directory / name / "seed").write_bytes(content)


if __name__ == "__main__":
    main()
