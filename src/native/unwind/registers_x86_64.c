/* SPDX-License-Identifier: MIT
 * General registers in the order of DWARF's numbers, which is neither the kernel's order nor that
 * of instructions. */
#include "native/unwind/registers.h"

void dw_registers_of_context(const ucontext_t *context, struct dw_registers *registers)
{
    static const uint8_t index_by_number[DW_REGISTER_COUNT] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *values = context->uc_mcontext.gregs;
    registers->pc = (uint64_t)values[REG_RIP];
    registers->sp = (uint64_t)values[REG_RSP];
    registers->fp = (uint64_t)values[REG_RBP];
    registers->rbx = (uint64_t)values[REG_RBX];
    for (int i = 0; i < DW_REGISTER_COUNT; i++)
        registers->others[i] = (uint64_t)values[index_by_number[i]];
}

void dw_registers_of_user(const struct user_regs_struct *user, struct dw_registers *registers)
{
    *registers = (struct dw_registers){
        .pc = user->rip,
        .sp = user->rsp,
        .fp = user->rbp,
        .rbx = user->rbx,
        .others = {user->rax, user->rdx, user->rcx, user->rbx, user->rsi, user->rdi, user->rbp,
                   user->rsp, user->r8, user->r9, user->r10, user->r11, user->r12, user->r13,
                   user->r14, user->r15},
    };
}
