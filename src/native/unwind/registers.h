/* SPDX-License-Identifier: MIT
 * The registers of a thread, as the system tells them. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_REGISTERS_H
#define DW_NATIVE_UNWIND_REGISTERS_H

#include "native/unwind/unwind.h"

#include <sys/user.h>
#include <ucontext.h>

/* The registers of the code that a signal handler interrupted. */
void dw_registers_of_context(const ucontext_t *context, struct dw_registers *registers);
/* The registers of a thread that was stopped with ptrace. */
void dw_registers_of_user(const struct user_regs_struct *user, struct dw_registers *registers);

#endif
