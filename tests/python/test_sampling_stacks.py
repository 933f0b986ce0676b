# SPDX-License-Identifier: MIT
"""Programs with little room for signals, which are sampled all the same and go on."""

import pytest

from ..compiled import compile_library

TIMES = 2

# Stacks have a page below them that nobody may touch. The room that the kernel needs for a signal
# depends on the machine: spin_at_end() leaves that and some for its caller.
SOURCE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static char *map(size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *base = mmap(NULL, size + 8192, PROT_READ | PROT_WRITE, flags, -1, 0);
    mprotect(base, 4096, PROT_NONE);
    return base + 4096;
}

__attribute__((noinline)) void spin_for(long ms)
{
    struct timespec now, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    long end_ns = end.tv_sec * 1000000000 + end.tv_nsec + ms * 1000000;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000000000 + now.tv_nsec < end_ns);
}

static void spin_in_handler(int number) { spin_for(100); }

static int room;

/* What the kernel has put on the stack, up to the end of the registers. */
static void measure(int number, siginfo_t *info, void *context)
{
    char *state = (char *)((ucontext_t *)context)->uc_mcontext.fpregs;
    uint32_t size;
    memcpy(&size, state + 468, sizeof size);
    room = (int)(state + size - (char *)context) + 256;
}

int room_of_signal(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = measure};
    sigaction(SIGUSR2, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR2);
    return room;
}

/* Whether the kernel takes a stack of that size. */
int use_stack(size_t size)
{
    stack_t stack = {.ss_sp = map((size + 4095) & ~4095ul), .ss_size = size};
    struct sigaction action = {.sa_flags = SA_ONSTACK, .sa_handler = spin_in_handler};
    sigaction(SIGUSR1, &action, NULL);
    return !sigaltstack(&stack, NULL);
}

void raise_here(void) { pthread_kill(pthread_self(), SIGUSR1); }

static __thread char *lowest;

__attribute__((noinline)) static long go_down(long depth)
{
    volatile char some[64];
    some[0] = (char)depth;
    if ((char *)some - lowest > 256)
        return go_down(depth + 1) + some[0];
    spin_for(200);
    return some[0];
}

static void *spin_at_end_in_thread(void *base)
{
    lowest = (char *)base + getauxval(AT_MINSIGSTKSZ) + 512;
    go_down(0);
    return NULL;
}

void spin_at_end(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    size_t size = 128 << 10;
    char *base = map(size);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, base, size);
    pthread_create(&thread, &attributes, spin_at_end_in_thread, base);
    pthread_join(thread, NULL);
}
"""

PROGRAM = """
import ctypes, sys, threading
import dwell
library = ctypes.CDLL(sys.argv[1])
size, where, before_ms = int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
def use_stack():
    for rate in (1000, 5000):
        dwell.start("x.dwell", rate=rate)
        assert library.use_stack(size)
        library.spin_for(before_ms)
        if size > 512 + library.room_of_signal():  # else the kernel ends it by itself
            library.raise_here()
        library.spin_for(50)
        dwell.stop()
def go_to_end():
    for rate in (1000, 5000):
        dwell.start("x.dwell", rate=rate)
        library.spin_at_end()
        dwell.stop()
if where == "thread":
    thread = threading.Thread(target=use_stack)
    thread.start()
    thread.join()
else:
    use_stack() if size else go_to_end()
"""


@pytest.fixture
def library(tmp_path):
    return str(compile_library(tmp_path, "stacks", SOURCE))


@pytest.mark.parametrize("where", ["main", "thread"])
@pytest.mark.parametrize("size", [2048, 3072, 4096, 8192])
@pytest.mark.parametrize("before_ms", [100, 0], ids=["later", "at once"])
def test_small_stack_for_signals(python_program, library, size, where, before_ms):
    """With a handler of the program on it, some time after it was registered and right then."""
    for _ in range(TIMES):
        done = python_program(PROGRAM, library, str(size), where, str(before_ms))
        assert done.returncode == 0, (done.returncode, done.stderr)
        is_told = f"has a stack for signals of {size} bytes, too small" in done.stderr
        assert is_told or size > 4096 or done.stderr == "", done.stderr


def test_small_stack_is_seen_before_any_sample(python_program, library):
    program = """
import ctypes, sys
import dwell
library = ctypes.CDLL(sys.argv[1])
dwell.start("x.dwell", rate=1)
assert library.use_stack(2048)
dwell.stop()
"""
    done = python_program(program, library)
    assert done.returncode == 0
    assert "has a stack for signals of 2048 bytes, too small" in done.stderr


def test_end_of_a_deep_stack(python_program, library):
    for _ in range(TIMES):
        done = python_program(PROGRAM, library, "0", "main", "100")
        assert done.returncode == 0, (done.returncode, done.stderr)
