"""Counts the identifiers of Python's own library, with four threads.

dwell run --timeline examples/wordcount.py
"""

import collections
import concurrent.futures
import pathlib
import re
import sysconfig

import dwell

IDENTIFIER = re.compile(r"[^\W\d]\w*")


@dwell.func()
def find_files(limit):
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    return sorted(library.glob("*.py"))[:limit]


@dwell.func()
def count_file(path):
    with dwell.region("read"):
        text = path.read_text(encoding="utf-8", errors="replace")
        dwell.count("bytes", len(text))
    with dwell.region("tokenise"):
        words = IDENTIFIER.findall(text)
    with dwell.region("count"):
        return collections.Counter(words)


@dwell.func()
def merge(counters):
    total = collections.Counter()
    for counter in dwell.iter_proxy(counters, "wait for a worker"):
        with dwell.region("add"):
            total.update(counter)
    return total


def main():
    files = find_files(160)
    with concurrent.futures.ThreadPoolExecutor(4, "worker") as pool:
        total = merge(pool.map(count_file, files))
    dwell.instant("merged")
    with dwell.region():
        common = total.most_common(5)
    for word, count in common:
        print(f"{count:7} {word}")


if __name__ == "__main__":
    main()
