# SPDX-License-Identifier: MIT
"""What `dwell dump` says of a process."""


def thread_of(dumped: dict, name: str) -> dict:
    (found,) = [thread for thread in dumped["threads"] if thread["name"] == name]
    return found


def places(thread: dict) -> list[tuple[str, int]]:
    return [(frame["function"], frame["line"]) for frame in thread["frames"]]


NESTED = """\
import time

def outer():
    middle()

class Holder:
    def method(self):
        print("ready", flush=True)
        time.sleep(1000)

def middle():
    Holder().method()

outer()
"""
