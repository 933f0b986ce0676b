# SPDX-License-Identifier: MIT
"""What a signal at dwell's pace costs when nothing is done about it.

As a program: empty_handler.py -m MODULE ARGUMENT... | SCRIPT ARGUMENT..., which runs with it.
"""

import ctypes
import fcntl
import os
import platform
import runpy
import signal
import struct
import sys
import threading

RATE = 1000


class Empty:
    """perf_event_open's clock of CPU time, with a signal to this thread for each period. abs() is
    the handler: it does nothing but return."""

    SYSCALL = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    SOFTWARE, TASK_CLOCK, BYTES, ENABLE = 1, 1, 128, 0x2400
    DISABLED, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
    F_SETSIG, F_SETOWN_EX, OWNER_THREAD = 10, 15, 0

    def __init__(self, folder):
        self.libc = ctypes.CDLL(None)
        self.libc.signal(signal.SIGURG, ctypes.cast(self.libc.abs, ctypes.c_void_p))

    def start(self):
        flags = self.DISABLED | self.EXCLUDE_KERNEL | self.EXCLUDE_HYPERVISOR
        period, wake_up_at = 1_000_000_000 // RATE, 1
        attributes = struct.pack(
            "IIQQQQQI", self.SOFTWARE, self.BYTES, self.TASK_CLOCK, period, 0, 0, flags, wake_up_at
        ).ljust(self.BYTES, b"\0")
        thread = threading.get_native_id()
        self.fd = fd = self.libc.syscall(self.SYSCALL, attributes, thread, -1, -1, 0)
        fcntl.fcntl(fd, self.F_SETOWN_EX, struct.pack("ii", self.OWNER_THREAD, thread))
        fcntl.fcntl(fd, self.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_ASYNC)
        fcntl.ioctl(fd, self.ENABLE, 0)

    def stop(self):
        os.close(self.fd)


def main():
    Empty(None).start()
    sys.argv.pop(0)
    if sys.argv[0] == "-m":
        sys.argv.pop(0)
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
