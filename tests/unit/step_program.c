/* SPDX-License-Identifier: MIT
 * A program for test_unwind_steps.c to walk through, an instruction at a time: the kinds of
 * frames that compilers and the C library make. */
#define _GNU_SOURCE
#include <alloca.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline))
#define HUGE_BYTES (300 * 1024)

static volatile int sink;
static jmp_buf back;

KEPT static int leaf(int x)
{
    return x * 3 + sink;
}

KEPT static int by_tail_call(int x)
{
    return leaf(x + 1);
}

KEPT static int with_many_registers(int a, int b, int c, int d)
{
    int e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d), i = leaf(a + b), j = leaf(c + d);
    return leaf(a * e + b * f) + c * g + d * h + i * j;
}

/* With an early return, whose epilogue stands in the middle of the function. */
KEPT static int with_two_exits(int x)
{
    if (x < 2)
        return leaf(x);
    int below = with_two_exits(x - 1);
    return below + with_many_registers(x, below, 3, 4);
}

KEPT static int with_variable_frame(size_t size)
{
    char *block = alloca(size);
    memset(block, 7, size);
    return leaf(block[size / 2]);
}

KEPT static int with_huge_frame(int x)
{
    char block[HUGE_BYTES];
    block[x] = (char)leaf(x);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block[x] + by_tail_call(x);
}

/* Its frame is found through a copy of the stack pointer. */
KEPT static int with_aligned_frame(size_t size)
{
    _Alignas(64) volatile int block[16] = {1, 2, 3};
    char *more = alloca(size);
    memset(more, 1, size);
    return block[2] + leaf(more[0]) + with_many_registers(block[0], block[1], 5, 6);
}

KEPT static int by_number(const void *a, const void *b)
{
    return leaf(*(const int *)a) - leaf(*(const int *)b);
}

KEPT static int with_callbacks(void)
{
    int numbers[] = {5, 3, 9, 1, 7, 2};
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, by_number);
    return numbers[0];
}

KEPT static void jump_out(int depth)
{
    if (depth > sink)
        jump_out(depth - 1);
    else if (!sink)
        longjmp(back, 1);
    sink++;
}

KEPT static int with_jump(void)
{
    if (setjmp(back))
        return leaf(1);
    jump_out(5);
    return 0;
}

static void on_signal(int number)
{
    sink += leaf(number);
}

/* Floating-point operands are returned in registers of their own. */
KEPT static double with_libm(double x)
{
    return exp(x) + pow(x, 1.7) + sin(x * 100);
}

int main(void)
{
    char text[64];
    struct timespec now;
    int sum = with_two_exits(4) + with_variable_frame(77 + (size_t)sink) + with_huge_frame(12345);
    sum += with_aligned_frame(100) + with_callbacks() + with_jump();
    sum += (int)with_libm(0.5 + sink);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "%d %s %.3f", sum, "some text", 1.25);
    free(realloc(malloc(1000), 300000));
    return puts(text) < 0;
}
