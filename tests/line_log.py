# SPDX-License-Identifier: MIT
"""Logs with chosen lines, written by docs/format.md alone: exact numbers for tests of reports."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

METRICS = ("hits", "time", "self", "inclusive", "suspended")
FUNCTION = 4
PROCESS, STRINGS, FRAMES, SOURCE, END, LINES = 1, 3, 4, 9, 10, 11


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def blob(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return varint(len(data)) + data


def stored(raw: bytes) -> bytes:
    """A zstd frame of one raw block."""
    assert len(raw) < 1 << 17
    header = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(raw))
    return header + struct.pack("<I", len(raw) << 3 | 1)[:3] + raw


@dataclass
class LineLog:
    """Rows of functions; a callee, too, is a function of the log."""

    strings: list[str] = field(default_factory=lambda: [""])
    frames: list[tuple[int, int, int]] = field(default_factory=list)  # name, file, line
    rows: list[bytes] = field(default_factory=list)
    sources: list[tuple[str, str]] = field(default_factory=list)

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def function(self, name: str, file: str, line: int) -> int:
        """The frame id; frame 0 is the root."""
        self.frames.append((self.string(name), self.string(file), line))
        return len(self.frames)

    def line(self, function: int, number: int, /, callee: int = 0, **metrics: int) -> None:
        """A row; self and inclusive are the time unless given. Times are nanoseconds."""
        metrics.setdefault("self", metrics.get("time", 0))
        metrics.setdefault("inclusive", metrics.get("time", 0))
        values = [metrics.get(name, 0) for name in METRICS]
        mask = sum(1 << i for i, value in enumerate(values) if value)
        numbers = [function, number, callee, mask, *filter(None, values)]
        self.rows.append(b"".join(map(varint, numbers)))

    def source(self, file: str, text: str) -> None:
        self.sources.append((file, text))

    def _chunks(self) -> list[tuple[int, bytes]]:
        clock = varint(1) + varint(1) + varint(1_700_000_000_000_000_000)
        process = varint(0) + bytes(range(16)) + varint(41) + clock
        process += varint(1) + blob("program") + blob("example.py")
        frames = b"".join(map(varint, (1, *(n for f in self.frames for n in (FUNCTION, *f)))))
        return [
            (PROCESS, process),
            (STRINGS, varint(0) + b"".join(map(blob, self.strings))),
            (FRAMES, frames),
            *((SOURCE, blob(file) + blob(text)) for file, text in self.sources),
            (LINES, varint(0) + b"".join(self.rows)),
            (END, varint(0) + varint(0)),
        ]

    def write(self, path: Path) -> None:
        head = b"\x89DWELL\r\n" + struct.pack("<I", 1)
        data = head + struct.pack("<I", crc32c(head))
        for sequence, (kind, raw) in enumerate(self._chunks()):
            payload = stored(raw)
            chunk = struct.pack("<4sIIII", b"DWCK", kind, sequence, len(payload), len(raw))
            data += chunk + struct.pack("<I", crc32c(chunk + payload)) + payload
        path.write_bytes(data)
