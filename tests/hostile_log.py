# SPDX-License-Identifier: MIT
"""Logs made to harm who reads them, written by docs/format.md alone: small files that say that they
are huge, or that are dear to read."""

import struct
from collections.abc import Callable, Iterable

from .line_log import varint

PROCESS, STRINGS, FRAMES, PATHS, THREAD, VALUES, EVENTS = 1, 3, 4, 5, 6, 7, 8
SOURCE, END, LINES, MODULES, PLACES, STACKS, SAMPLES, SAMPLING = 9, 10, 11, 13, 14, 15, 16, 17
RAW_MAX = 4 << 20


def _table() -> list[int]:
    """What each pair of bytes makes of a checksum."""
    single = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        single.append(value)
    low = [(crc >> 8, crc & 0xFF) for crc in single]
    return [rest ^ single[byte ^ high] for high in range(256) for rest, byte in low]


CRC_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Two bytes at a time: there are many megabytes, and this is Python."""
    crc = 0xFFFFFFFF
    for (pair,) in struct.iter_unpack("<H", data[: len(data) & ~1]):
        crc = crc >> 16 ^ CRC_TABLE[(crc ^ pair) & 0xFFFF]
    if len(data) & 1:
        crc = crc >> 8 ^ CRC_TABLE[(crc & 0xFF ^ data[-1]) << 8]
    return crc ^ 0xFFFFFFFF


def zstd(blocks: list[tuple[int, int, bytes]], size: int) -> bytes:
    """A frame of blocks: type (0 plain, 1 one byte many times), size, bytes."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA0, size)
    for i, (kind, length, data) in enumerate(blocks):
        head = length << 3 | kind << 1 | (i + 1 == len(blocks))
        out += struct.pack("<I", head)[:3] + data
    return out


def plain(raw: bytes) -> bytes:
    step = 1 << 17
    blocks = [(0, len(raw[i : i + step]), raw[i : i + step]) for i in range(0, len(raw), step)]
    return zstd(blocks or [(0, 0, b"")], len(raw))


def repeated(first: bytes, byte: int, count: int) -> bytes:
    """A few bytes, then one of them very often: hardly takes any room."""
    step = 1 << 17
    sizes = [min(step, count - i) for i in range(0, count, step)]
    blocks = [(0, len(first), first), *((1, size, bytes([byte])) for size in sizes)]
    return zstd(blocks, len(first) + count)


class Log:
    """Chunks of any content with right checksums."""

    def __init__(self) -> None:
        head = b"\x89DWELL\r\n" + struct.pack("<I", 1)
        self.parts = [head + struct.pack("<I", crc32c(head))]
        self.sequences: dict[int, int] = {}

    def stored(self, kind: int, payload: bytes, raw_size: int, stream: int = 0) -> None:
        sequence = self.sequences.get(stream, 0)
        self.sequences[stream] = sequence + 1
        head = struct.pack("<4sHHIII", b"DWCK", kind, stream, sequence, len(payload), raw_size)
        self.parts.append(head + struct.pack("<I", crc32c(head + payload)) + payload)

    def chunk(self, kind: int, raw: bytes, stream: int = 0) -> None:
        """In as many pieces as there must be only where the caller made them."""
        assert len(raw) <= RAW_MAX
        self.stored(kind, plain(raw), len(raw), stream)

    def numbers(self, kind: int, numbers: Iterable[int], stream: int = 0) -> None:
        self.chunk(kind, b"".join(map(varint, numbers)), stream)

    def process(self, uuid: int = 1, id: int = 0, stream: int = 0) -> None:
        clock = varint(1) + varint(1) + varint(1_700_000_000_000_000_000)
        raw = varint(id) + uuid.to_bytes(16, "little") + varint(41) + clock + varint(0)
        self.chunk(PROCESS, raw, stream)

    def thread(self, id: int, tid: int, stream: int = 0) -> None:
        self.numbers(THREAD, (id, 0, tid, 0), stream)

    def function(self, stream: int = 0) -> None:
        """String 1, frame 1, and place 1 on line 7 of it."""
        self.chunk(STRINGS, varint(0) + b"\x00\x01f", stream)
        self.numbers(FRAMES, (1, 4, 1, 1, 3), stream)
        self.numbers(PLACES, (1, 1, 7, 7, 1, 2, 0, 0, 0), stream)

    def deep(self, depth: int) -> None:
        """A stack under a stack under a stack."""
        self.numbers(SAMPLING, (0, 0, 0, 10_000_000, 1, 0, 0, 0, 0))
        for first in range(1, depth + 1, 100_000):
            last = min(first + 100_000, depth + 1)
            self.numbers(STACKS, [first, *(n for i in range(first, last) for n in (i - 1, 1))])

    def bytes(self) -> bytes:
        return b"".join(self.parts)


def far_ids() -> bytes:
    """Each of 64 streams has the last id that there can be, in every table."""
    log, last = Log(), (1 << 24) - 1
    for stream in range(64):
        log.process(stream=stream)
        log.chunk(STRINGS, varint(last) + b"\x01a", stream)
        log.numbers(FRAMES, (last, 4, 1, 1, 3), stream)
        log.numbers(PATHS, (last, 0, last), stream)
        log.numbers(PLACES, (last, 1, 7, 7, 1, 2, 0, 0, 0), stream)
        log.numbers(STACKS, (last, 0, last), stream)
        log.thread(last, 41, stream)
        log.numbers(MODULES, (0, last, 0, 0, 0, 0, 0, 0), stream)
    return log.bytes()


def packed_tables() -> bytes:
    """A gigabyte of frames in a hundred kilobytes."""
    log = Log()
    log.process()
    for _ in range(250):
        log.stored(FRAMES, repeated(b"\x01", 1, RAW_MAX - 4), RAW_MAX - 3)
    return log.bytes()


def packed_events() -> bytes:
    """Hundreds of millions of events."""
    log = Log()
    log.process()
    log.function()
    log.numbers(PATHS, (1, 0, 1))
    log.thread(0, 41)
    for sequence in range(100):
        prefix = bytes([0, sequence, 0, 0])
        log.stored(EVENTS, prefix + repeated(b"", 0, RAW_MAX), RAW_MAX)
    return log.bytes()


def deep_stacks() -> bytes:
    """As deep as there are samples."""
    log, depth = Log(), 300_000
    log.process()
    log.function()
    log.deep(depth)
    log.thread(0, 41)
    log.numbers(SAMPLES, [0, *(n for i in range(depth - 60_000, depth, 3) for n in (i, 0, 1, 9))])
    return log.bytes()


def deep_threads() -> bytes:
    """Every thread has all of a deep stack."""
    log, depth = Log(), 20_000
    log.process()
    log.function()
    log.deep(depth)
    for i in range(1500):
        log.thread(i, 41 + i)
        log.numbers(SAMPLES, (i, depth, 0, 1, 9))
    return log.bytes()


def _scramble(value: int) -> int:
    for _ in range(2):
        value ^= value >> 32
        value = value * 0xD6E8FEB86659FD93 % 2**64
    return value ^ value >> 32


def same_hashes() -> bytes:
    """Strings that all have one hash, unless the program chooses it by chance."""
    log = Log()
    log.process()
    for first in range(0, 160_000, 20_000):
        raw = varint(first)
        for i in range(first, first + 20_000):
            second = _scramble(0x9E3779B97F4A7C15 ^ 16 ^ i) ^ 0x1234567890ABCDEF
            raw += b"\x10" + struct.pack("<QQ", i, second)
        log.chunk(STRINGS, raw)
    return log.bytes()


def false_chunks() -> bytes:
    """Headers of large chunks, one after the other, that are none."""
    log = Log()
    log.process()
    head = struct.pack("<4sHHIIII", b"DWCK", PATHS, 0, 1, 4 << 20, 4 << 20, 0)
    return log.bytes() + head * 300_000


def many_processes() -> bytes:
    log = Log()
    for i in range(30_000):
        log.process(uuid=i + 1, id=i)
    for i in range(30_000):
        log.process(uuid=i + 1, id=i, stream=1)
    return log.bytes()


def same_threads() -> bytes:
    """Threads of one number in two streams, which might each be the other's."""
    log = Log()
    for stream in range(2):
        log.process(stream=stream)
        log.function(stream)
        log.numbers(PATHS, (1, 0, 1), stream)
        for i in range(30_000):
            log.thread(i, 41, stream)
            log.numbers(VALUES, (i, 1, 1, *[0] * 11), stream)
    return log.bytes()


def _long_name(log: Log) -> None:
    """String 1 has two megabytes."""
    size = 2 << 20
    log.stored(STRINGS, repeated(b"\x00\x00" + varint(size), 97, size), 2 + 4 + size)


def long_names() -> bytes:
    """Very many functions of one endless name, each below the other."""
    log, count = Log(), 10_000
    log.process()
    _long_name(log)
    log.numbers(FRAMES, [1, *(n for i in range(1, count) for n in (4, 1, 1, i))])
    log.numbers(PLACES, [1, *(n for i in range(1, count) for n in (i, i, i, 1, 2, 0, 0, 0))])
    log.numbers(SAMPLING, (0, 0, 0, 10_000_000, 1, 0, 0, 0, 0))
    for kind in (STACKS, PATHS):
        log.numbers(kind, [1, *(n for i in range(1, count) for n in (i - 1, i))])
    log.thread(0, 41)
    log.numbers(SAMPLES, [0, *(n for i in range(1, count) for n in (i, 0, 1, 9))])
    log.numbers(VALUES, [0, *(n for i in range(1, count) for n in (i, 1, count - i, *[0] * 10))])
    return log.bytes()


def long_named_events() -> bytes:
    """An endless name at each of very many points in time."""
    log = Log()
    log.process()
    _long_name(log)
    log.numbers(FRAMES, (1, 3, 1, 0, 0))
    log.numbers(PATHS, (1, 0, 1))
    log.thread(0, 41)
    event = varint(9 << 3 | 4) + b"\x01"
    log.stored(EVENTS, bytes(4) + plain(event * 200_000), len(event) * 200_000)
    return log.bytes()


def far_functions() -> bytes:
    """Very many functions that begin at the first line of a long source and end at the last."""
    log, count, size = Log(), 20_000, 1 << 20
    log.process()
    log.chunk(STRINGS, varint(0) + b"\x00\x01f")
    log.numbers(FRAMES, [1, *(n for i in range(1, count) for n in (4, 1, 1, i))])
    log.stored(SOURCE, repeated(b"\x01f" + varint(size), 10, size), 2 + 3 + size)
    rows = (n for i in range(1, count) for n in (i, i, 0, 1, 1, i, size - 5, 0, 1, 1))
    log.numbers(LINES, [0, *rows])
    return log.bytes()


def many_properties() -> bytes:
    """Two streams that describe one process in ever so many words."""
    log = Log()
    clock = varint(1) + varint(1) + varint(1_700_000_000_000_000_000)
    for stream in range(2):
        head = varint(0) + bytes(range(16)) + varint(41) + clock + varint(200_000)
        keys = (b"\x04" + struct.pack("<I", i * 2 + stream) + b"\x00" for i in range(200_000))
        log.chunk(PROCESS, head + b"".join(keys), stream)
    return log.bytes()


KINDS: dict[str, Callable[[], bytes]] = {
    make.__name__: make
    for make in (
        far_ids,
        packed_tables,
        packed_events,
        deep_stacks,
        deep_threads,
        same_hashes,
        false_chunks,
        many_processes,
        same_threads,
        many_properties,
        long_names,
        long_named_events,
        far_functions,
    )
}
