/* SPDX-License-Identifier: MIT
 * The registers of a thread, as the system tells them. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_REGISTERS_H
#define DW_NATIVE_UNWIND_REGISTERS_H

#include "native/unwind/unwind.h"

#include <sys/user.h>
#include <ucontext.h>

/* Those of the function that calls it, which are kept across calls: what is needed to leave it. */
static inline __attribute__((always_inline)) void dw_registers_here(struct dw_registers *registers);
/* The registers of the code that a signal handler interrupted. */
void dw_registers_of_context(const ucontext_t *context, struct dw_registers *registers);
/* The registers of a thread that was stopped with ptrace. */
void dw_registers_of_user(const struct user_regs_struct *user, struct dw_registers *registers);

static inline __attribute__((always_inline)) void dw_registers_here(struct dw_registers *registers)
{
    *registers = (struct dw_registers){0};
    __asm__ volatile("leaq 0(%%rip), %0\n\t"
                     "movq %%rsp, %1\n\t"
                     "movq %%rbp, %2\n\t"
                     "movq %%rbx, %3"
                     : "=&r"(registers->pc), "=m"(registers->sp), "=m"(registers->fp),
                       "=m"(registers->rbx));
}

#endif
