/* SPDX-License-Identifier: MIT
 * Reads one instruction: how long it is, where it may lead, and what it does to general registers
 * and to words of the stack. What it does to other memory, vectors and flags is left out. */
#ifndef DW_NATIVE_UNWIND_DECODE_X86_64_H
#define DW_NATIVE_UNWIND_DECODE_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As instructions number them. */
enum {
    DW_RAX,
    DW_RCX,
    DW_RDX,
    DW_RBX,
    DW_RSP,
    DW_RBP,
    DW_RSI,
    DW_RDI,
    DW_R8,
    DW_R11 = 11,
    DW_R12,
    DW_R15 = 15,
    DW_REGISTERS,
    DW_NO_REGISTER = DW_REGISTERS, /* as a base: an address that is not base + offset */
};

enum dw_operation {
    DW_OP_OTHER, /* only `writes` matters */
    DW_OP_COPY,  /* reg = base */
    DW_OP_ADD,   /* reg += offset */
    DW_OP_LEA,   /* reg = base + offset */
    DW_OP_LOAD,  /* reg = the word at base + offset */
    DW_OP_STORE, /* the word at base + offset = reg */
    DW_OP_PUSH,  /* reg may be DW_NO_REGISTER: something else */
    DW_OP_POP,
    DW_OP_LEAVE,
    DW_OP_CALL,
    DW_OP_BRANCH,   /* to `target`, or on */
    DW_OP_JUMP,     /* to `target` */
    DW_OP_JUMP_FAR, /* to what a register or memory holds */
    DW_OP_RETURN,
    DW_OP_STOP, /* a trap */
};

struct dw_instruction {
    enum dw_operation operation;
    uint32_t size;
    uint8_t reg, base;
    int32_t offset;
    uint32_t writes; /* a bit for each register that holds anything afterwards */
    int64_t target;  /* from the instruction's start */
};

/* False when the instruction is not known, or longer than `size`. */
bool dw_decode(const uint8_t *code, size_t size, struct dw_instruction *instruction);

#endif
