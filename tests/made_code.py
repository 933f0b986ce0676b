# SPDX-License-Identifier: MIT
"""A program that makes code at run time and announces it as JITs do."""

import inspect
import struct
from collections import Counter
from pathlib import Path

from .compiled import compile_extension
from .sampled import Samples

# The code counts down from its argument. It is announced in objects that stay as long as they are
# listed.
EXTENSION = """
#define _GNU_SOURCE
#include <Python.h>
#include <stdint.h>
#include <sys/mman.h>

struct entry { struct entry *next, *previous; const char *object; uint64_t size; };
struct { uint32_t version, action; struct entry *relevant, *first; } __jit_debug_descriptor = {1};
__attribute__((noinline)) void __jit_debug_register_code(void)
{ __asm__ volatile("" ::: "memory"); }

static const unsigned char code[] = {0x48, 0x89, 0xf8,              /* mov %rdi,%rax */
                                     0x48, 0xff, 0xc8, 0x75, 0xfb,  /* dec %rax; jnz .-3 */
                                     0xc3};
static PyObject *make(PyObject *m, PyObject *unused)
{
    int rights = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *page = mmap(0, 4096, rights, flags, -1, 0);
    memcpy(page, code, sizeof code);
    return PyLong_FromVoidPtr(page);
}
__attribute__((noinline)) void call_made(void (*made)(long), long n)
{ made(n); __asm__ volatile("" ::: "memory"); }
static PyObject *spin(PyObject *m, PyObject *address)
{ call_made(PyLong_AsVoidPtr(address), 1000000); Py_RETURN_NONE; }

static PyObject *announce(PyObject *m, PyObject *object)
{
    struct entry *entry = calloc(1, sizeof *entry);
    char *copy = malloc(PyBytes_GET_SIZE(object));
    memcpy(copy, PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object));
    *entry = (struct entry){__jit_debug_descriptor.first, 0, copy, PyBytes_GET_SIZE(object)};
    __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = entry;
    __jit_debug_descriptor.action = 1;
    __jit_debug_register_code();
    Py_RETURN_NONE;
}
static PyObject *withdraw(PyObject *m, PyObject *unused)
{
    struct entry *entry = __jit_debug_descriptor.first;
    __jit_debug_descriptor.first = entry->next;
    __jit_debug_descriptor.relevant = entry;
    __jit_debug_descriptor.action = 2;
    __jit_debug_register_code();
    free((void *)entry->object);
    free(entry);
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"make", make, METH_NOARGS, 0}, {"spin", spin, METH_O, 0},
                                {"announce", announce, METH_O, 0},
                                {"withdraw", withdraw, METH_NOARGS, 0}, {0}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "made", 0, -1, methods};
PyMODINIT_FUNC PyInit_made(void) { return PyModule_Create(&def); }
"""
CODE_BYTES = 9

# What the program imports.
ANNOUNCERS = f"""
import atexit, mmap, os, struct, time
import made
from made_object import elf_object

def in_list(address, name):
    made.announce(elf_object(address, name))

def in_map(address, name):
    path = f"/tmp/perf-{{os.getpid()}}.map"
    if not os.path.exists(path):
        atexit.register(os.unlink, path)
    with open(path, "a") as file:
        file.write(f"{{address:x}} {CODE_BYTES:x} {{name}}\\n")

def in_dump(address, name):
    path = f"{{os.getcwd()}}/jit-{{os.getpid()}}.dump"
    is_new = not os.path.exists(path)
    record = struct.pack("=IIQQQQ", os.getpid(), 0, address, address, {CODE_BYTES}, 0)
    record += name.encode() + bytes(1 + {CODE_BYTES})
    with open(path, "ab") as file:
        if is_new:
            file.write(struct.pack("=IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, os.getpid(), 0, 0))
        file.write(struct.pack("=IIQ", 0, 16 + len(record), 0) + record)
    if is_new:
        with open(path, "rb") as file:
            in_dump.mark = mmap.mmap(
                file.fileno(), 40, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)

def nowhere(address, name):
    pass

def spin(address, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        made.spin(address)
"""


def elf_object(address: int, name: str) -> bytes:
    """An object as LLVM announces it: not linked, with the section's place in its header."""
    names = b"\0.text\0.symtab\0.strtab\0"
    texts = b"\0" + name.encode() + b"\0"
    symbols = bytes(24) + struct.pack("=IBBHQQ", 1, 0x12, 0, 1, 0, CODE_BYTES)
    at = 64
    sections, content = [struct.pack("=IIQQQQIIQQ", *[0] * 10)], b""
    for name_at, kind, flags, where, data, link in (
        (1, 1, 6, address, bytes(CODE_BYTES), 0),
        (7, 2, 0, 0, symbols, 3),
        (15, 3, 0, 0, texts, 0),
        (15, 3, 0, 0, names, 0),
    ):
        offset = at + len(content)
        sections.append(
            struct.pack(
                "=IIQQQQIIQQ", name_at, kind, flags, where, offset, len(data), link, 0, 1, 24
            )
        )
        content += data
    head = struct.pack(
        "=16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        1,
        62,
        1,
        0,
        0,
        at + len(content),
        0,
        64,
        0,
        0,
        64,
        len(sections),
        4,
    )
    return head + content + b"".join(sections)


def made_names(path: Path) -> Counter[str]:
    """How many samples have code that was made on their stack, by its name."""
    found: Counter[str] = Counter()
    samples = Samples.of(path)
    assert not samples.inside("[anonymous]")
    for row in samples.rows:
        for name in {frame.name for frame in row.stack if frame.file == "[jit]"}:
            found[name] += row.count
    return found


def prepare(directory: Path) -> None:
    """Puts the modules `made` and `announcers` into a directory."""
    compile_extension(directory, "made", EXTENSION)
    (directory / "announcers.py").write_text(ANNOUNCERS)
    source = f"import struct\nCODE_BYTES = {CODE_BYTES}\n{inspect.getsource(elf_object)}"
    (directory / "made_object.py").write_text(source)
