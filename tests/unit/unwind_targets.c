/* SPDX-License-Identifier: MIT */
#include "unwind_targets.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#ifdef FRAME_POINTERS
#define NAME(name) name##_fp
#else
#define NAME(name) name
#endif
#define KEPT __attribute__((noinline))
#define HUGE_BYTES (200 * 1024)

static volatile int sink;

KEPT static int aligned(dw_then then, size_t size)
{
    _Alignas(64) volatile char block[64];
    char *more = alloca(size);
    memset(more, 1, size);
    block[0] = more[size - 1];
    then();
    return block[0];
}

KEPT static int huge(dw_then then)
{
    volatile char block[HUGE_BYTES];
    block[sink] = 1;
    int result = aligned(then, 100 + (size_t)sink);
    return result + block[sink];
}

KEPT int NAME(dw_chain_outer)(dw_then then)
{
    int result = huge(then);
    sink += result - result;
    return result;
}

#ifndef FRAME_POINTERS
static dw_then pending;

KEPT static int compare(const void *left, const void *right)
{
    dw_then then = pending;
    pending = NULL;
    if (then)
        then();
    return *(const int *)left - *(const int *)right;
}

void dw_chain_sort(dw_then then)
{
    int numbers[] = {3, 1, 2};
    pending = then;
    qsort(numbers, 3, sizeof *numbers, compare);
    sink += numbers[0];
}

void dw_chain_assembler(dw_then then)
{
    dw_chain_undescribed(then);
    sink++;
}

void dw_chain_call(dw_then then)
{
    then();
    sink++;
}

/* void f(then): room for 40 words, some of them looking like addresses, then the call. */
__asm__(".text\n"
        ".globl dw_chain_undescribed\n"
        ".type dw_chain_undescribed, @function\n"
        "dw_chain_undescribed:\n"
        "0:\n"
        "  push %rbx\n"
        "  push %rbp\n"
        "  sub $328, %rsp\n"
        "  lea 8(%rsp), %rbp\n"
        "  mov %rbp, 16(%rsp)\n"
        "  movq $12345, 24(%rsp)\n"
        "  lea 0b(%rip), %rax\n"
        "  mov %rax, 32(%rsp)\n"
        "  call *%rdi\n"
        "  add $328, %rsp\n"
        "  pop %rbp\n"
        "  pop %rbx\n"
        "  ret\n"
        ".size dw_chain_undescribed, . - dw_chain_undescribed\n");

void dw_chain_matrix(dw_then then)
{
    dw_chain_kernel(then);
    sink++;
}

/* void f(then), as kernels of matrix products are: registers are saved by moves, the frame is in
 * rbx, room for buffers is made at whole pages, and the code is long. */
__asm__(".text\n"
        ".globl dw_chain_kernel\n"
        ".type dw_chain_kernel, @function\n"
        "dw_chain_kernel:\n"
        "  sub $0x60, %rsp\n"
        "  mov %rbx, (%rsp)\n"
        "  mov %rbp, 8(%rsp)\n"
        "  mov %r12, 16(%rsp)\n"
        "  mov %r13, 24(%rsp)\n"
        "  mov %rsp, %rbx\n"
        "  sub $0x7080, %rsp\n"
        "  and $-4096, %rsp\n"
        "  mov %rdi, %r12\n"
        "  mov $0xe00, %ecx\n"
        "1:\n"
        "  mov %rsp, (%rsp,%rcx,8)\n"
        "  dec %rcx\n"
        "  jne 1b\n"
        "  xor %ebp, %ebp\n"
        "  cmp %rbp, %rbp\n"
        "  je 2f\n" /* always: not every processor has what follows */
        "  .rept 3000\n"
        "  vaddpd 0x100(%rsp), %ymm3, %ymm5\n"
        "  .endr\n"
        "  vzeroupper\n"
        "2:\n"
        "  call *%r12\n"
        "  mov %rbx, %rsp\n"
        "  mov (%rsp), %rbx\n"
        "  mov 8(%rsp), %rbp\n"
        "  mov 16(%rsp), %r12\n"
        "  mov 24(%rsp), %r13\n"
        "  add $0x60, %rsp\n"
        "  ret\n"
        ".globl dw_chain_kernel_end\n"
        "dw_chain_kernel_end:\n"
        ".size dw_chain_kernel, . - dw_chain_kernel\n");

void dw_chain_dense_matrix(dw_then then)
{
    dw_chain_dense_kernel(then);
    sink++;
}

/* The same where all registers are needed: the frame is in a word above the stack pointer, which is
 * lowered by an amount that is computed. */
__asm__(".text\n"
        ".globl dw_chain_dense_kernel\n"
        ".type dw_chain_dense_kernel, @function\n"
        "dw_chain_dense_kernel:\n"
        "  sub $0x40, %rsp\n"
        "  mov %rbx, (%rsp)\n"
        "  mov %rbp, 8(%rsp)\n"
        "  mov %r12, 16(%rsp)\n"
        "  mov %rsp, %rbp\n"
        "  mov %rdi, %rax\n"
        "  and $0xff, %rax\n"
        "  imul $0xc0, %rax, %rax\n"
        "  add $0x100, %rax\n"
        "  sub %rax, %rsp\n"
        "  and $-4096, %rsp\n"
        "  mov %rbp, 0x78(%rsp)\n"
        "  mov %rdi, (%rsp)\n"
        "  mov $0x1800, %ebp\n"
        "  lea (%rbp,%rbp,2), %rbx\n"
        "  lea 8(%rbp), %r12\n"
        "1:\n"
        "  dec %rbp\n"
        "  jne 1b\n"
        "  call *(%rsp)\n"
        "  mov 0x78(%rsp), %rsp\n"
        "  mov (%rsp), %rbx\n"
        "  mov 8(%rsp), %rbp\n"
        "  mov 16(%rsp), %r12\n"
        "  add $0x40, %rsp\n"
        "  ret\n"
        ".globl dw_chain_dense_kernel_end\n"
        "dw_chain_dense_kernel_end:\n"
        ".size dw_chain_dense_kernel, . - dw_chain_dense_kernel\n");
#endif
